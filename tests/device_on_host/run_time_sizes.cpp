// Axes that are sized at run time, on the device: one plan, and one captured graph, whatever the sizes; what
// stands behind the end of an axis is never seen.
#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "napkin/cuda/gradient.hpp"
#include "napkin/cuda/tensor.hpp"
#include "napkin/napkin.hpp"
#include "napkin/train/cuda_trainer.hpp"
#include "support/compare.hpp"
#include "support/host_kernels.hpp"
#include "support/trained_numbers.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::testing::largest_difference;

namespace {

constexpr std::size_t most = 7;
struct batch : nk::dim<"batch", nk::up_to<most>> {};
struct width : nk::dim<"width", 12> {};
struct hidden : nk::dim<"hidden", 16> {};
struct digit : nk::dim<"digit", 5> {};

/// n rows, with NaN behind them.
auto rows(std::size_t n, unsigned seed) {
  const nk::tensor<nk::f32, batch, width> all;
  for (float& x : all) x = std::numeric_limits<float>::quiet_NaN();
  const nk::tensor<nk::f32, batch, width> some(all.shared_storage(), 0, nk::sized{n});
  nk::copy(nk::randn<nk::f32, batch, width>(nk::seed{seed}, nk::sized{n}), some);
  return some;
}

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<width, hidden>, up), (nk::param<hidden>, bias),
                           (nk::param<hidden, digit>, down));
  constexpr auto loss(nk::input<nk::f32, batch, width> x, nk::input<nk::u16, batch> labels) const {
    const auto h = nk::gelu(nk::einsum<"batch width, width hidden -> batch hidden">(x, up) + bias);
    return nk::cross_entropy<"digit">(nk::einsum<"batch hidden, hidden digit -> batch digit">(h, down),
                                      labels);
  }
};
using step = nk::train_step<model, nk::adamw>;
static_assert(step::memory.inputs > nk::train_step<model, nk::sgd>::memory.inputs - 64);

struct numbers {
  std::vector<float> losses, norms, evaluated;
};
/// Batches of every size, the largest and the empty between among them.
template <class Trainer>
numbers train(Trainer& t) {
  numbers n;
  for (std::size_t i = 0; i < 12; ++i) {
    const std::size_t size = 1 + (i * 3) % most;
    const auto x = rows(size, static_cast<unsigned>(i));
    std::vector<std::uint16_t> labels;
    for (std::size_t k = 0; k < size; ++k) labels.push_back(static_cast<std::uint16_t>((k * 2 + i) % 5));
    const nk::step_result r = t.step(0.01, x, labels);
    n.losses.push_back(r.loss);
    n.norms.push_back(static_cast<float>(r.norm));
    n.evaluated.push_back(t.evaluate(x, labels));
  }
  return n;
}

}  // namespace

TEST_CASE("expressions along an axis sized at run time are on the device what they are on the host",
          "[cuda][run time sizes]") {
  nk::testing::host_device d;
  {
    on_cuda::session s(d.cuda, d.blas);
    const on_cuda::in_session here(s);
    const auto w = nk::randn<nk::f32, width, hidden>(nk::seed{3});
    for (const std::size_t n : {std::size_t{1}, std::size_t{4}, most}) {
      const auto x = rows(n, 1), y = rows(n, 2);
      const auto a = nk::to_cuda(x), b = nk::to_cuda(y);
      CHECK(a.sizes()[0] == n);
      CHECK(a.numel() == n * 12);
      CHECK(largest_difference(nk::to_host(a), x) == 0);
      CHECK(largest_difference(nk::to_host(nk::clone(a)), x) == 0);
      const auto same = [&](const auto& f, double most_apart) {
        const nk::tensor host = f(x, y);
        const auto device = nk::to_host(f(a, b));
        REQUIRE(device.sizes() == host.sizes());
        CHECK(largest_difference(device, host) <= most_apart);
      };
      same([](const auto& p, const auto& q) { return nk::exp(p) * q + 1; }, 1e-6);
      same([](const auto& p, const auto& q) { return nk::sum<"batch">(p * q); }, 1e-5);
      same([](const auto& p, const auto& q) { return nk::mean(p - q); }, 1e-6);
      same([](const auto& p, const auto&) { return nk::softmax<"batch">(p); }, 1e-6);
      same([](const auto& p, const auto&) { return nk::argmax<"batch">(p); }, 0);
      same([](const auto& p, const auto& q) { return nk::einsum<"batch width, batch width -> width">(p, q); },
           1e-5);
      const auto loss = [](auto p, auto q) {
        const auto h = nk::tanh(nk::einsum<"batch width, width hidden -> batch hidden">(p, q));
        return nk::mean(h * h);
      };
      const auto host = nk::value_and_grad<0, 1>(loss)(x, w);
      const auto device = nk::value_and_grad<0, 1>(loss)(a, nk::to_cuda(w));
      CHECK(largest_difference(nk::to_host(std::get<0>(device)), std::get<0>(host)) <= 1e-6);
      CHECK(largest_difference(nk::to_host(std::get<1>(device)), std::get<1>(host)) <= 1e-6);
      CHECK(largest_difference(nk::to_host(std::get<2>(device)), std::get<2>(host)) <= 1e-6);
    }
    const nk::cuda::tensor<nk::f32, batch, width> zeros(nk::sized{2});
    CHECK(nk::to_host(zeros).sizes()[0] == 2);
    CHECK_THROWS_WITH(nk::to_host(zeros + nk::to_cuda(rows(3, 1))),
                      "axis 'batch' has 2 elements in one operand and 3 in another");
    CHECK_THROWS_AS((nk::cuda::tensor<nk::f32, batch, width>(nk::sized{most + 1})), nk::input_error);
  }
  CHECK(d.cuda.misuse.empty());
  CHECK(d.cuda.alive() == 0);
}

TEST_CASE("one captured step trains on batches of any size as the CPU does", "[cuda][run time sizes]") {
  nk::trainer<step> cpu(nk::seed{5});
  const numbers expected = train(cpu);
  nk::testing::host_device d;
  {
    on_cuda::session s(d.cuda, d.blas);
    nk::trainer<step, nk::cuda> t(nk::seed{5}, {}, s);
    const std::size_t before = d.cuda.alive();
    const numbers given = train(t);
    CHECK(d.cuda.alive() == before);
    CHECK(largest_difference(given.losses, expected.losses) <= 1e-5);
    CHECK(largest_difference(given.norms, expected.norms) <= 1e-4);
    CHECK(largest_difference(given.evaluated, expected.evaluated) <= 1e-5);
    CHECK(expected.losses.back() == expected.losses.back());
  }
  CHECK(d.cuda.misuse.empty());
}
