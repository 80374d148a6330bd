// causal_attention and full_attention with masks and windows, against loops; a mask's gradient is the scores'.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "napkin/napkin.hpp"
#include "support/compare.hpp"

namespace nk = napkin;

namespace {

struct batch : nk::dim<"batch", 2> {};
struct seq : nk::dim<"seq", 7> {};
struct heads : nk::dim<"heads", 2> {};
struct hidden : nk::dim<"hidden", 4> {};
using key = nk::primed<seq>;
using tensor = nk::tensor<nk::f64, batch, seq, heads, hidden>;

struct attended {
  tensor q = nk::randn<nk::f64, batch, seq, heads, hidden>(nk::seed{1}),
         k = nk::randn<nk::f64, batch, seq, heads, hidden>(nk::seed{2}),
         v = nk::randn<nk::f64, batch, seq, heads, hidden>(nk::seed{3});

  /// added(batch, head, query, key): what a score gets more; -infinity hides it.
  double largest_difference(
      const tensor& found,
      const std::function<double(std::size_t, std::size_t, std::size_t, std::size_t)>& added) const {
    double worst = 0;
    for (std::size_t b = 0; b < batch::size; ++b)
      for (std::size_t h = 0; h < heads::size; ++h)
        for (std::size_t i = 0; i < seq::size; ++i) {
          double weight[seq::size], sum = 0;
          for (std::size_t j = 0; j < seq::size; ++j) {
            double score = 0;
            for (std::size_t d = 0; d < hidden::size; ++d) score += q(b, i, h, d) * k(b, j, h, d);
            sum += weight[j] = std::exp(score / 2 + added(b, h, i, j));
          }
          for (std::size_t d = 0; d < hidden::size; ++d) {
            double expected = 0;
            for (std::size_t j = 0; j < seq::size; ++j) expected += weight[j] / sum * v(b, j, h, d);
            worst = nk::testing::worst_of(worst, std::fabs(found(b, i, h, d) - expected));
          }
        }
    return worst;
  }
};
constexpr double hides = -INFINITY;

}  // namespace

TEST_CASE("attention: a window leaves the last positions of a causal query") {
  const attended a;
  const tensor y = nk::causal_attention<"seq", "hidden", 3>(a.q, a.k, a.v);
  CHECK(a.largest_difference(y, [](auto, auto, auto i, auto j) { return j <= i && i - j < 3 ? 0 : hides; }) <=
        1e-12);
  // as far as there are positions: causal
  const tensor far = nk::causal_attention<"seq", "hidden", 7>(a.q, a.k, a.v),
               causal = nk::causal_attention<"seq", "hidden">(a.q, a.k, a.v);
  CHECK(std::equal(far.begin(), far.end(), causal.begin()));
}

TEST_CASE("attention: a mask of truths shows keys, of batches and positions") {
  const attended a;
  nk::tensor<nk::b8, batch, seq> is_word = nk::zeros<nk::b8, batch, seq>();
  for (std::size_t b = 0; b < batch::size; ++b)
    for (std::size_t j = 0; j < 4 + b; ++j) is_word(b, j) = nk::b8(true);
  const nk::tensor words = nk::rename<"seq", key>(is_word);
  const tensor full = nk::full_attention<"seq", "hidden">(a.q, a.k, a.v, words),
               causal = nk::causal_attention<"seq", "hidden">(a.q, a.k, a.v, words);
  CHECK(a.largest_difference(full, [](auto b, auto, auto, auto j) { return j < 4 + b ? 0 : hides; }) <=
        1e-12);
  CHECK(a.largest_difference(
            causal, [](auto b, auto, auto i, auto j) { return j <= i && j < 4 + b ? 0 : hides; }) <= 1e-12);
  // a query that it shows nothing mixes all alike
  const nk::tensor none = nk::zeros<nk::b8, batch, key>();
  const tensor mean = nk::full_attention<"seq", "hidden">(a.q, a.k, a.v, none);
  double worst = 0;
  for (std::size_t i = 0; i < seq::size; ++i) {
    double expected = 0;
    for (std::size_t j = 0; j < seq::size; ++j) expected += a.v(1, j, 0, 2) / seq::size;
    worst = nk::testing::worst_of(worst, std::fabs(mean(1, i, 0, 2) - expected));
  }
  CHECK(worst <= 1e-12);
}

TEST_CASE("attention: a mask of numbers is added, in any order of its axes") {
  const attended a;
  const nk::tensor bias = nk::randn<nk::f64, key, heads, seq>(nk::seed{4});
  const tensor y = nk::causal_attention<"seq", "hidden">(a.q, a.k, a.v, bias);
  CHECK(a.largest_difference(
            y, [&](auto, auto h, auto i, auto j) { return j <= i ? bias(j, h, i) : hides; }) <= 1e-12);
  // its gradient, as differences say
  const auto loss = [](auto q, auto k, auto v, auto x) {
    return nk::sum(nk::full_attention<"seq", "hidden">(q, k, v, x) * q);
  };
  const auto at = [&](double moved) {
    nk::tensor x = nk::randn<nk::f64, key, heads, seq>(nk::seed{4});
    x(3, 1, 5) += moved;
    const nk::tensor<nk::f64> l = nk::fn(loss)(a.q, a.k, a.v, x);
    return l();
  };
  const nk::tensor g = nk::grad<3>(loss)(a.q, a.k, a.v, bias);
  CHECK(std::fabs(g(3, 1, 5)) > 1e-3);
  CHECK(std::fabs(g(3, 1, 5) - (at(1e-5) - at(-1e-5)) / 2e-5) <= 1e-8);
}
