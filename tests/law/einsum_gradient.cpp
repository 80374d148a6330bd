// An einsum of as many operands as orders are searched for, and its gradients with respect to each: what
// the compiler takes within its default limits, and equal to loops.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <napkin/napkin.hpp>
#include <string_view>
#include <tuple>
#include <vector>

#include "support/compare.hpp"

namespace nk = napkin;

namespace {

using nk::testing::largest_difference;

struct a : nk::dim<"a", 2> {};
struct b : nk::dim<"b", 3> {};
struct c : nk::dim<"c", 2> {};
struct d : nk::dim<"d", 3> {};
struct e : nk::dim<"e", 2> {};
struct f : nk::dim<"f", 3> {};
struct g : nk::dim<"g", 2> {};
struct h : nk::dim<"h", 3> {};
struct i : nk::dim<"i", 2> {};
struct j : nk::dim<"j", 2> {};
struct k : nk::dim<"k", 3> {};
struct l : nk::dim<"l", 2> {};

// Of no chain: operands share up to two labels, each stands in two of them or in one and the result.
constexpr auto network = [](auto p, auto q, auto r, auto s, auto t, auto u, auto v, auto w, auto weights) {
  return nk::sum(weights * nk::einsum<"a b c, a d e, b d f, c e g, f h i, g h j, i j k, k l -> l">(
                               p, q, r, s, t, u, v, w));
};

constexpr std::size_t terms = 9;
// The same, and the weights by which the result is summed.
constexpr std::array<std::string_view, terms> labels{"abc", "ade", "bdf", "ceg", "fhi",
                                                     "ghj", "ijk", "kl",  "l"};
constexpr std::array<std::size_t, 12> sizes{2, 3, 2, 3, 2, 3, 2, 3, 2, 2, 3, 2};  // of a to l

using values = std::array<std::vector<double>, terms>;

struct by_loops {
  double value = 0;
  values gradients;
};

/// Over every point of all labels: what it adds to the value, and to each element's derivative.
by_loops contract(const values& x) {
  by_loops r;
  for (std::size_t t = 0; t < terms; ++t) r.gradients[t].assign(x[t].size(), 0);
  std::size_t points = 1;
  for (const std::size_t n : sizes) points *= n;
  for (std::size_t point = 0; point < points; ++point) {
    std::array<std::size_t, sizes.size()> index{};
    std::size_t rest = point;
    for (std::size_t n = 0; n < sizes.size(); ++n) {
      index[n] = rest % sizes[n];
      rest /= sizes[n];
    }
    std::array<std::size_t, terms> at{};
    for (std::size_t t = 0; t < terms; ++t)
      for (const char label : labels[t]) {
        const auto n = static_cast<std::size_t>(label - 'a');
        at[t] = at[t] * sizes[n] + index[n];
      }
    for (std::size_t without = 0; without < terms; ++without) {
      double product = 1;
      for (std::size_t t = 0; t < terms; ++t)
        if (t != without) product *= x[t][at[t]];
      r.gradients[without][at[without]] += product;
      if (without == 0) r.value += product * x[0][at[0]];
    }
  }
  return r;
}

}  // namespace

TEST_CASE("an einsum of eight operands and its gradients equal loops", "[einsum]") {
  const auto random = []<class... Ds>(nk::axes<Ds...>, std::uint64_t seed) {
    return nk::tensor(nk::randn<nk::f64, Ds...>(nk::seed{seed}));
  };
  const auto x = std::make_tuple(
      random(nk::axes<a, b, c>{}, 1), random(nk::axes<a, d, e>{}, 2), random(nk::axes<b, d, f>{}, 3),
      random(nk::axes<c, e, g>{}, 4), random(nk::axes<f, h, i>{}, 5), random(nk::axes<g, h, j>{}, 6),
      random(nk::axes<i, j, k>{}, 7), random(nk::axes<k, l>{}, 8), random(nk::axes<l>{}, 9));
  values flat;
  std::apply(
      [&](const auto&... each) {
        std::size_t t = 0;
        (flat[t++].assign(each.begin(), each.end()), ...);
      },
      x);
  const by_loops want = contract(flat);
  const auto got = std::apply(nk::value_and_grad<0, 1, 2, 3, 4, 5, 6, 7>(network), x);
  CHECK(std::abs(static_cast<double>(std::get<0>(got)) - want.value) <= 1e-11 * (1 + std::abs(want.value)));
  std::apply(
      [&](const auto&, const auto&... gradients) {
        std::size_t t = 0;
        for (const double off : {largest_difference(gradients, want.gradients[t++])...}) CHECK(off <= 1e-10);
        CHECK(t == terms - 1);
      },
      got);

  const nk::tensor forward = nk::einsum<"a b c, a d e, b d f, c e g, f h i, g h j, i j k, k l -> l">(
      std::get<0>(x), std::get<1>(x), std::get<2>(x), std::get<3>(x), std::get<4>(x), std::get<5>(x),
      std::get<6>(x), std::get<7>(x));
  CHECK(largest_difference(forward, want.gradients[8]) <= 1e-10);
}
