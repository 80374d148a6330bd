// Products of which a batch has two axes that lie apart: one call by arrays of addresses, or, where cuBLASLt has
// no such algorithm or another is faster, several.
#include <algorithm>
#include <catch2/catch.hpp>

#include "napkin/cuda.hpp"
#include "napkin/napkin.hpp"
#include "napkin/train/cuda_trainer.hpp"
#include "support/compare.hpp"
#include "support/host_device.hpp"
#include "support/host_kernels.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::testing::largest_difference;

namespace {

struct batch : nk::dim<"batch", 3> {};
struct query : nk::dim<"query", 8> {};
struct key : nk::dim<"key", 10> {};
struct heads : nk::dim<"heads", 4> {};
struct many : nk::dim<"many", 66> {};
struct crowd : nk::dim<"crowd", 65> {};
struct hidden : nk::dim<"hidden", 16> {};

template <class Batch, class Heads>
struct sides {
  nk::tensor<nk::f32, Batch, query, Heads, hidden> q{
      nk::randn<nk::f32, Batch, query, Heads, hidden>(nk::seed{1})};
  nk::tensor<nk::f32, Batch, key, Heads, hidden> k{
      nk::randn<nk::f32, Batch, key, Heads, hidden>(nk::seed{2})};
};
constexpr auto scores = [](const auto& q, const auto& k) {
  return nk::einsum<"batch query heads hidden, batch key heads hidden -> batch heads query key">(q, k);
};
constexpr auto scores_of_many = [](const auto& q, const auto& k) {
  return nk::einsum<"crowd query many hidden, crowd key many hidden -> crowd many query key">(q, k);
};

}  // namespace

TEST_CASE("a batch of two axes that lie apart is calls where nothing is timed, beyond 64 our own kernel",
          "[cuda]") {
  const auto compare = [](const auto& scores_of, const auto& on_host, std::size_t calls) {
    const nk::tensor expected = scores_of(on_host.q, on_host.k);
    nk::testing::host_device d;
    {
      on_cuda::session s(d.cuda, d.blas);
      const on_cuda::in_session here(s);
      const nk::cuda::tensor c = scores_of(nk::to_cuda(on_host.q), nk::to_cuda(on_host.k));
      CHECK(largest_difference(nk::to_host(c), expected) <= 1e-5);
    }
    CHECK(d.blas.ran.size() == calls);
    CHECK(d.blas.batches_by_addresses == 0);
    CHECK(d.cuda.misuse.empty());
    CHECK(d.cuda.alive() + d.blas.alive() == 0);
  };
  compare(scores, sides<batch, heads>{}, std::min<std::size_t>(batch::size, heads::size));
  compare(scores_of_many, sides<crowd, many>{}, 0);
}

namespace {

/// Scores that no attention is: their squares are the loss.
struct scored {
  BOOST_HANA_DEFINE_STRUCT(scored, (nk::param<hidden>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, query, heads, hidden> x) const {
    const auto q = x * (weight + 1);
    const auto s =
        nk::einsum<"batch query heads hidden, batch other heads hidden -> batch heads query other">(
            q, nk::rename<"query", "other">(q));
    return nk::mean(s * s);
  }
};
using step = nk::train_step<scored, nk::sgd>;

std::vector<float> losses_of(auto& t) {
  const sides<batch, heads> data;
  std::vector<float> losses;
  for (int i = 0; i < 3; ++i)
    losses.push_back(t.step(1e-4, std::vector<float>(data.q.data(), data.q.data() + data.q.numel())).loss);
  return losses;
}

}  // namespace

namespace {

/// Of more matrices than calls are worth launching for, and of what is given: what a kernel made would lie in
/// another order (passes/order_results.hpp).
struct scored_many {
  BOOST_HANA_DEFINE_STRUCT(scored_many, (nk::param<hidden>, weight));
  constexpr auto loss(nk::input<nk::f32, crowd, query, many, hidden> x) const {
    const auto s = nk::einsum<"crowd query many hidden, crowd other many hidden -> crowd many query other">(
        x, nk::rename<"query", "other">(x));
    return nk::mean(s * s) * nk::mean(weight + 1);
  }
};
using step_of_many = nk::train_step<scored_many, nk::sgd>;

}  // namespace

TEST_CASE("more matrices than 64 calls are calls by addresses, or our own kernel where there are none",
          "[cuda]") {
  const sides<crowd, many> data;
  const std::vector<float> x(data.q.data(), data.q.data() + data.q.numel());
  nk::trainer<step_of_many> cpu(nk::seed{3});
  const float expected = cpu.step(1e-4, x).loss;
  for (const bool has_addresses : {true, false}) {
    nk::testing::host_device d;
    d.blas.has_addresses = has_addresses;
    on_cuda::session s(d.cuda, d.blas);
    nk::trainer<step_of_many, nk::cuda> t(nk::seed{3}, {}, s);
    d.blas.batches_by_addresses = 0;
    CHECK(std::abs(t.step(1e-4, x).loss - expected) <= 1e-5f * expected);
    CHECK((d.blas.batches_by_addresses > 0) == has_addresses);
    CHECK(d.blas.ran.empty() == !has_addresses);
    CHECK(d.cuda.misuse.empty());
  }
}

TEST_CASE("a trainer takes addresses or calls by the clock, and what was recorded again", "[cuda]") {
  nk::trainer<step> cpu(nk::seed{3});
  const std::vector<float> expected = losses_of(cpu);
  std::vector<std::string> texts;
  for (const bool addresses_are_faster : {true, false}) {
    nk::testing::host_device d;
    int before = 0;
    // by now, the matmul that was timed was of one kind or the other
    d.cuda.elapsed = [&] {
      const bool by_addresses =
          d.blas.batches_by_addresses != std::exchange(before, d.blas.batches_by_addresses);
      return by_addresses == addresses_are_faster ? 1.0f : 2.0f;
    };
    on_cuda::session s(d.cuda, d.blas);
    nk::trainer<step, nk::cuda> t(nk::seed{3}, {}, s);
    d.blas.batches_by_addresses = 0;
    const std::vector<float> losses = losses_of(t);
    CHECK(largest_difference(losses, expected) <= 1e-5 * expected[0]);
    CHECK(losses[2] < losses[0]);
    CHECK((d.blas.batches_by_addresses > 0) == addresses_are_faster);
    texts.push_back(t.algorithms());

    nk::testing::host_device other;
    on_cuda::session again(other.cuda, other.blas);
    nk::trainer<step, nk::cuda> resumed(nk::seed{3}, {}, again);
    CHECK(resumed.use_algorithms(texts.back()));
    other.blas.batches_by_addresses = 0;
    CHECK(losses_of(resumed) == losses);
    CHECK((other.blas.batches_by_addresses > 0) == addresses_are_faster);
    CHECK(d.cuda.misuse.empty());
    CHECK(other.cuda.misuse.empty());
  }
  CHECK(texts[0] != texts[1]);
}
