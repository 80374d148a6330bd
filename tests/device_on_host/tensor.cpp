// Tensors on the device: what goes over and back, expressions of them, and what they hold.
#include "napkin/cuda/tensor.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "napkin/cuda/cost.hpp"
#include "napkin/cuda/gradient.hpp"
#include "napkin/napkin.hpp"
#include "support/compare.hpp"
#include "support/host_kernels.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::testing::largest_difference;

namespace {

struct batch : nk::dim<"batch", 3> {};
struct seq : nk::dim<"seq", 5> {};
struct key : nk::dim<"key", 4> {};
struct row : nk::dim<"row", 2> {};

template <class A, class B>
bool equal(const A& a, const B& b) {
  for (std::size_t i = 0; i < a.numel(); ++i)
    if (!(a.data()[i] == b.data()[i])) return false;
  return true;
}

}  // namespace

TEST_CASE("tensors go to the device and back, views and all", "[cuda]") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    nk::testing::host_device d;
    d.cuda.random.seed(seed);
    {
      on_cuda::session s(d.cuda, d.blas);
      const on_cuda::in_session here(s);
      const auto x = nk::randn<nk::f32, batch, seq>(nk::seed{3});
      const auto turned = nk::permute<"seq", "batch">(x);
      nk::cuda::tensor<nk::f32, batch, seq> a = nk::to_cuda(x);
      const auto b = nk::to_cuda(turned);
      CHECK(equal(nk::to_host(a), x));
      CHECK(equal(nk::to_host(b), nk::contiguous(turned)));
      const nk::cuda::tensor<nk::f32, batch, seq> zeros;
      CHECK(equal(nk::to_host(zeros), nk::tensor<nk::f32, batch, seq>()));

      // Copies share, clones do not; assigning makes a tensor share another's.
      const nk::cuda::tensor shared = a;
      const auto cloned = nk::clone(a);
      CHECK(shared.data() == a.data());
      CHECK(cloned.data() != a.data());
      CHECK(equal(nk::to_host(cloned), x));
      a = zeros;
      CHECK(a.data() == zeros.data());

      // Into the caller's stream.
      const on_cuda::stream mine(d.cuda);
      const auto c = nk::to_cuda(x, mine.handle());
      CHECK(equal(nk::to_host(c, mine.handle()), x));
    }
    CHECK(d.cuda.misuse.empty());
    CHECK(d.cuda.alive() == 0);
    CHECK(d.blas.alive() == 0);
  }
}

TEST_CASE("an expression of tensors on the device is computed there as it is on the host", "[cuda]") {
  nk::testing::host_device d;
  {
    on_cuda::session s(d.cuda, d.blas);
    const on_cuda::in_session here(s);
    const auto x = nk::randn<nk::f32, batch, seq>(nk::seed{1});
    const auto y = nk::randn<nk::f32, batch, key>(nk::seed{2});
    const auto a = nk::to_cuda(x);
    const auto b = nk::to_cuda(y);
    const auto of = [](const auto& p, const auto& q) {
      return nk::einsum<"batch seq, batch key -> seq key">(p, q) * 2 + 1;
    };
    const nk::cuda::tensor c = of(a, b);
    static_assert(std::is_same_v<decltype(c), const nk::cuda::tensor<nk::f32, seq, key>>);
    static_assert(nk::plan_of<decltype(of(a, b)), nk::cuda>.launches == 2);  // a GEMM, and a kernel
    const nk::tensor expected = of(x, y);
    CHECK(largest_difference(nk::to_host(c), expected) <= 1e-5);
    CHECK(d.blas.ran.size() == 1);

    // A view of the host's is an expression here; so is what no stride says.
    const nk::tensor soft = nk::softmax<"key">(expected);
    CHECK(largest_difference(nk::to_host(nk::softmax<"key">(c)), soft) <= 1e-5);
    const nk::tensor moved = nk::rearrange<"seq key -> (key seq)">(expected);
    CHECK(largest_difference(nk::to_host(nk::rearrange<"seq key -> (key seq)">(c)), moved) <= 1e-5);

    nk::cuda::tensor<nk::f32, batch, seq> again = a;
    again = again * again;  // reads what it replaces
    const nk::tensor squared = x * x;
    CHECK(equal(nk::to_host(again), squared));
    CHECK(equal(nk::to_host(nk::eval(a * a)), squared));
  }
  CHECK(d.cuda.misuse.empty());
  CHECK(d.cuda.alive() == 0);
}

TEST_CASE("a product of which cuBLASLt has no algorithm is done by a kernel of our own", "[cuda]") {
  nk::testing::host_device d;
  d.blas.algorithms.clear();
  on_cuda::session s(d.cuda, d.blas);
  const on_cuda::in_session here(s);
  const auto x = nk::randn<nk::f32, batch, seq>(nk::seed{1});
  const auto y = nk::randn<nk::f32, batch, key>(nk::seed{2});
  const auto of = [](const auto& p, const auto& q) {
    return nk::einsum<"batch seq, batch key -> seq key">(p, q);
  };
  const nk::tensor expected = of(x, y);
  const nk::cuda::tensor c = of(nk::to_cuda(x), nk::to_cuda(y));
  CHECK(largest_difference(nk::to_host(c), expected) <= 1e-5);
  CHECK(d.blas.ran.empty());
  CHECK(d.cuda.misuse.empty());
}

TEST_CASE("what failed and was told is not told again of the next kernel", "[cuda]") {
  nk::testing::host_device d;
  on_cuda::session s(d.cuda, d.blas);
  const on_cuda::in_session here(s);
  const auto x = nk::randn<nk::f32, batch, seq>(nk::seed{1});
  const auto a = nk::to_cuda(x);
  d.cuda.fail_at = d.cuda.calls + 2;  // behind cudaGetDevice
  CHECK_THROWS_WITH((nk::cuda::tensor<nk::f32, batch, key>()), Catch::Contains("cudaMalloc"));
  CHECK(d.cuda.failed == "cudaMalloc");
  const nk::tensor squared = x * x;
  CHECK(equal(nk::to_host(nk::eval(a * a)), squared));
}

TEST_CASE("an index outside its axis is told where the value is computed", "[cuda]") {
  nk::testing::host_device d;
  on_cuda::session s(d.cuda, d.blas);
  const on_cuda::in_session here(s);
  const auto table = nk::to_cuda(nk::randn<nk::f32, key, seq>(nk::seed{1}));
  const auto good = nk::to_cuda(nk::tensor<nk::i32, row>{3, 0}),
             bad = nk::to_cuda(nk::tensor<nk::i32, row>{1, 4});
  const nk::cuda::tensor picked = nk::gather<"key">(table, good);
  CHECK(nk::to_host(picked)(0, 2) == nk::to_host(table)(3, 2));
  CHECK_THROWS_WITH((nk::eval(nk::gather<"key">(table, bad))),
                    "gather: index 4 is outside an axis of size 4");
}

TEST_CASE("gradients of tensors on the device are computed there, and are the host's", "[cuda]") {
  nk::testing::host_device d;
  {
    on_cuda::session s(d.cuda, d.blas);
    const on_cuda::in_session here(s);
    const auto x = nk::randn<nk::f32, batch, seq>(nk::seed{1});
    const auto w = nk::randn<nk::f32, seq, key>(nk::seed{2});
    const auto a = nk::to_cuda(x);
    const auto b = nk::to_cuda(w);
    constexpr auto loss = [](auto p, auto q, auto scale) {
      const auto y = nk::softmax<"key">(nk::einsum<"batch seq, seq key -> batch key">(p, q) * scale);
      return nk::sum(y * y);
    };
    const auto both = nk::value_and_grad<0, 1, 2>(loss);
    const auto [value, of_x, of_w, of_scale] = both(a, b, 0.5);
    static_assert(std::is_same_v<decltype(value), const nk::cuda::tensor<nk::f32>>);
    static_assert(std::is_same_v<decltype(of_w), const nk::cuda::tensor<nk::f32, seq, key>>);
    CHECK(d.blas.ran.size() == 3);  // the product, and one for each of its gradients
    const auto [value_here, of_x_here, of_w_here, of_scale_here] = both(x, w, 0.5);
    CHECK(largest_difference(nk::to_host(value), value_here) <= 1e-6);
    CHECK(largest_difference(nk::to_host(of_x), of_x_here) <= 1e-6);
    CHECK(largest_difference(nk::to_host(of_w), of_w_here) <= 1e-6);
    CHECK(largest_difference(nk::to_host(of_scale), of_scale_here) <= 1e-6);
    CHECK(largest_difference(of_x_here, nk::tensor<nk::f32, batch, seq>()) > 0.01);

    // Of an expression: computed there first.
    constexpr auto squares = [](auto p) { return nk::sum(p * p); };
    const nk::cuda::tensor slope = nk::grad(squares)(nk::permute<"seq", "batch">(a + 1));
    const nk::tensor expected = nk::permute<"seq", "batch">(x * 2 + 2);
    CHECK(largest_difference(nk::to_host(slope), expected) <= 1e-6);
  }
  CHECK(d.cuda.misuse.empty());
  CHECK(d.cuda.alive() == 0);
}

TEST_CASE("each call fails in turn: the failure is told, nothing leaks", "[cuda]") {
  const auto work = [](nk::testing::host_device& d) {
    on_cuda::session s(d.cuda, d.blas);
    const on_cuda::in_session here(s);
    const auto a = nk::to_cuda(nk::randn<nk::f32, batch, seq>(nk::seed{1}));
    const auto b = nk::to_cuda(nk::randn<nk::f32, batch, key>(nk::seed{2}));
    const nk::cuda::tensor c = nk::einsum<"batch seq, batch key -> seq key">(a, b) + 1;
    (void)nk::to_host(c);
  };
  nk::testing::host_device good;
  work(good);
  REQUIRE(good.cuda.calls > 20);
  for (int k = 1; k <= good.cuda.calls; ++k) {
    nk::testing::host_device d;
    d.cuda.fail_at = k;
    std::string told;
    try {
      work(d);
    } catch (const nk::error& e) {
      told = e.what();
    }
    CAPTURE(k, d.cuda.failed, told, d.cuda.misuse, d.cuda.reports);
    CHECK((told.find(d.cuda.failed) != told.npos || d.cuda.reports.size() == 1));
    CHECK(d.cuda.misuse.empty());
    CHECK(d.cuda.alive() == 0);
    CHECK(d.blas.alive() == 0);
  }
}
