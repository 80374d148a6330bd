// What a session is to tensors and trainers: whose stream, which device, how long it lives, and what is over when a
// call returns.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <memory>

#include "lookup_training.hpp"
#include "napkin/cuda/session.hpp"
#include "napkin/cuda/tensor.hpp"
#include "napkin/napkin.hpp"
#include "support/host_kernels.hpp"
#include "support/trained_numbers.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using lookup_test::data;
using lookup_test::data_of;
using lookup_test::train;
using lookup_test::trainer;
using machine = nk::testing::device_with_session;
using nk::testing::everything_of;

namespace {

struct batch : nk::dim<"batch", 3> {};
struct seq : nk::dim<"seq", 5> {};

template <class A, class B>
bool equal(const A& a, const B& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

TEST_CASE("what tensors on the device are made of is over when they are there, and waits for a given stream",
          "[cuda]") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    nk::testing::host_device d;
    d.cuda.random.seed(seed);
    on_cuda::session s(d.cuda, d.blas);
    const on_cuda::in_session here(s);
    const on_cuda::stream mine(d.cuda);
    const auto x = nk::randn<nk::f32, batch, seq>(nk::seed{3});
    const nk::cuda::tensor<nk::f32, batch, seq> a;
    for (int i = 0; i < 500; ++i) d.cuda.launch(mine.handle(), [] {});
    d.cuda.launch(mine.handle(), [&x, to = a.data()] { std::copy(x.begin(), x.end(), to); });
    const nk::tensor doubled = x * 2.0f;
    CHECK(equal(nk::to_host(a * 2.0f, mine.handle()), doubled));
    const auto b = nk::clone(a);
    d.cuda.launch(mine.handle(), [to = b.data()] { to[0] = 7; });
    CHECK(nk::to_host(b, mine.handle())(0, 0) == 7);
    CHECK(equal(nk::to_host(a), x));
    CHECK(d.cuda.misuse.empty());
  }
}

TEST_CASE("tensors are on their session's device, whichever the thread uses", "[cuda]") {
  nk::testing::host_device d;
  d.cuda.device = 1;
  on_cuda::session s(d.cuda, d.blas);
  d.cuda.device = 0;
  const on_cuda::in_session here(s);
  const auto x = nk::randn<nk::f32, batch, seq>(nk::seed{3});
  const auto a = nk::to_cuda(x);
  const nk::cuda::tensor b = a * 2.0f;
  const nk::tensor doubled = x * 2.0f;
  CHECK(equal(nk::to_host(b), doubled));
  CHECK(d.cuda.device_of(a.data()) == 1);
  CHECK(d.cuda.device_of(b.data()) == 1);
  CHECK(d.cuda.device == 0);
  CHECK(d.cuda.misuse.empty());
}

TEST_CASE("work goes into the caller's stream, the default one too", "[cuda]") {
  machine own;
  trainer expected(nk::seed{1}, {}, own.session);
  train(expected, 3);
  for (const bool is_default : {false, true}) {
    nk::testing::host_device d;
    {
      const on_cuda::stream callers(d.cuda);
      on_cuda::session s(d.cuda, d.blas, is_default ? nullptr : callers.handle());
      trainer t(nk::seed{1}, {}, s);
      train(t, 3);
      CHECK(everything_of(t) == everything_of(expected));
    }
    CHECK(d.cuda.misuse.empty());
    CHECK(d.cuda.alive() == 0);
  }
}

TEST_CASE("work goes to the session's device, whichever the thread uses", "[cuda]") {
  const data d = data_of(0);
  machine m;
  {
    m.cuda.device = 1;
    on_cuda::session second(m.cuda, m.blas);
    CHECK(second.device() == 1);
    m.cuda.device = 0;
    trainer t(nk::seed{4}, {}, second);
    std::array<double, trainer::timed_kernels> seconds{};
    CHECK(t.step(0.1, d.tokens, d.wanted).applied);
    CHECK(t.step_timed(seconds, 0.1, d.tokens, d.wanted).applied);
    CHECK(t.gradient_norm() > 0);
    t.apply_gradients(0.1, 1);
    CHECK(t.use_algorithms(t.algorithms()));
    CHECK(m.cuda.device == 0);
  }
  CHECK(m.cuda.misuse.empty());
}

TEST_CASE("a thread's own session lives as long as its trainers", "[cuda]") {
  nk::testing::host_device d;
  {
    auto owned = std::make_shared<on_cuda::session>(d.cuda, d.blas);
    trainer t(nk::seed{4}, {}, *owned);
    owned.reset();
    CHECK(train(t, 2).size() == 2);
  }
  CHECK(d.cuda.misuse.empty());
  CHECK(d.cuda.alive() == 0);
  CHECK(d.blas.alive() == 0);
}
