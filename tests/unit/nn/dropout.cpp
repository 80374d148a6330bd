// Dropout: its mask is a function of noise and place, the same forward and backward; off below 0.
#include "napkin/nn/dropout.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "napkin/core/philox.hpp"
#include "napkin/cpu/lower.hpp"
#include "napkin/cpu/threads.hpp"
#include "napkin/ops/reduce.hpp"
#include "napkin/passes/grad.hpp"
#include "napkin/passes/interpret.hpp"
#include "napkin/tensor/create.hpp"

namespace nk = napkin;

namespace {

struct row : nk::dim<"row", 300> {};
struct column : nk::dim<"column", 257> {};
using table = nk::tensor<nk::f32, row, column>;

constexpr auto dropped = [](auto x, auto noise) { return nk::dropout(x, 0.25, noise); };
constexpr auto twice = [](auto x, auto noise) {
  return nk::dropout(x, 0.5, noise) - nk::dropout(x, 0.5, noise);
};
constexpr auto weighted = [](auto x, auto w, auto noise) { return nk::sum(nk::dropout(x, 0.25, noise) * w); };

nk::tensor<nk::i64> number(std::int64_t n) { return nk::full<nk::i64>(n); }

}  // namespace

TEST_CASE("dropout keeps the share it says, and scales it") {
  const table x = nk::ones<nk::f32, row, column>();
  const table y = nk::fn(dropped)(x, number(7));
  std::size_t kept = 0;
  for (std::size_t i = 0; i < y.numel(); ++i) {
    const float v = y.data()[i];
    REQUIRE((v == 0 || v == 1 / 0.75f));
    kept += v != 0;
  }
  const double n = static_cast<double>(y.numel());
  CHECK(std::abs(static_cast<double>(kept) / n - 0.75) <= 5 * std::sqrt(0.75 * 0.25 / n));
}

TEST_CASE("dropout repeats with its noise, at any number of threads, and differs from another's") {
  const table x = nk::ones<nk::f32, row, column>();
  const table first = nk::fn(dropped)(x, number(7)), other = nk::fn(dropped)(x, number(8));
  const std::size_t before = nk::on_cpu::threads();
  for (const std::size_t threads : {1u, 2u, 3u}) {
    nk::on_cpu::set_threads(threads);
    const table again = nk::fn(dropped)(x, number(7));
    CHECK(std::equal(first.data(), first.data() + first.numel(), again.data()));
  }
  nk::on_cpu::set_threads(before);
  // Independent masks are equal at 0.75^2 + 0.25^2 of all places.
  std::size_t equal = 0;
  for (std::size_t i = 0; i < first.numel(); ++i) equal += first.data()[i] == other.data()[i];
  const double n = static_cast<double>(first.numel());
  CHECK(std::abs(static_cast<double>(equal) / n - 0.625) <= 5 * std::sqrt(0.625 * 0.375 / n));
}

TEST_CASE("two dropouts of one function have two masks") {
  const table x = nk::ones<nk::f32, row, column>();
  const table y = nk::fn(twice)(x, number(7));
  std::size_t zero = 0;
  for (std::size_t i = 0; i < y.numel(); ++i) zero += y.data()[i] == 0;
  const double n = static_cast<double>(y.numel());
  CHECK(std::abs(static_cast<double>(zero) / n - 0.5) <= 5 * 0.5 / std::sqrt(n));
}

TEST_CASE("dropout is the identity below 0") {
  const table x = nk::randn<nk::f32, row, column>(nk::seed{1});
  const table y = nk::fn(dropped)(x, number(-1));
  CHECK(std::equal(x.data(), x.data() + x.numel(), y.data()));
}

TEST_CASE("dropout's gradient has the mask of its value") {
  const table x = nk::randn<nk::f32, row, column>(nk::seed{1}),
              w = nk::randn<nk::f32, row, column>(nk::seed{2});
  const auto [dx, y] = nk::grad<0, 1>(weighted)(x, w, number(3));  // what w is multiplied with is the value
  std::size_t wrong = 0, dropped_places = 0;
  for (std::size_t i = 0; i < y.numel(); ++i) {
    const bool zero = y.data()[i] == 0;
    wrong += dx.data()[i] != (zero ? 0 : w.data()[i] * (1 / 0.75f));
    wrong += y.data()[i] != (zero ? 0 : x.data()[i] * (1 / 0.75f));
    dropped_places += zero;
  }
  CHECK(wrong == 0);
  CHECK(dropped_places > y.numel() / 5);
}

namespace {
template <class... Axes>
auto halved(const nk::sized<(static_cast<std::size_t>(Axes::dynamic) + ... + 0)>& sizes) {
  const nk::tensor<nk::f32, Axes...> x = nk::ones<nk::f32, Axes...>(sizes);
  return nk::tensor<nk::f32, Axes...>(
      nk::fn([](auto t, auto noise) { return nk::dropout(t, 0.5, noise); })(x, number(7)));
}
}  // namespace

TEST_CASE("a mask is the same where an axis is sized at run time, wherever that axis stands") {
  using seq = nk::dim<"seq", 64>;
  using rows = nk::dim<"rows", 64>;
  using open_rows = nk::dim<"rows", nk::up_to<64>>;
  const auto known = halved<seq, rows>({});
  for (const std::size_t n : {64u, 41u}) {
    const auto inner = halved<seq, open_rows>({n});
    std::size_t other = 0, repeated = 0;
    for (std::size_t i = 0; i < 64; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        other += inner(i, j) != known(i, j);
        if (i >= 2 && j >= 2) repeated += inner(i, j) == inner(i - 2, j - 2);
      }
    CHECK(other == 0);
    const double pairs = static_cast<double>(62 * (n - 2));  // independent masks are equal at half the places
    CHECK(std::abs(static_cast<double>(repeated) / pairs - 0.5) <= 5 * 0.5 / std::sqrt(pairs));
  }
  const auto by_rows = halved<rows, seq>({});
  const auto outer = halved<open_rows, seq>({41});
  std::size_t other = 0;
  for (std::size_t i = 0; i < 41; ++i)
    for (std::size_t j = 0; j < 64; ++j) other += outer(i, j) != by_rows(i, j);
  CHECK(other == 0);
}

TEST_CASE("a rate is a probability: of 1 all is dropped, with a gradient") {
  const table x = nk::randn<nk::f32, row, column>(nk::seed{1}), w = nk::ones<nk::f32, row, column>();
  const auto none_left = [](const table& t, float wanted) {
    std::size_t other = 0;
    for (const float v : t) other += v != wanted;
    CHECK(other == 0);
  };
  constexpr auto all = [](auto t, auto noise) { return nk::dropout(t, 1, noise); };
  constexpr auto summed = [](auto t, auto noise) { return nk::sum(nk::dropout(t, 1, noise)); };
  none_left(nk::fn(all)(x, number(7)), 0);
  none_left(nk::grad(summed)(x, number(7)), 0);
  none_left(nk::fn(all)(w, number(-1)), 1);
  none_left(nk::grad(summed)(x, number(-1)), 1);
  for (const double rate : {-1.0, 2.0, std::nan("")}) {
    nk::builder b;
    const nk::traced<nk::f32, row> t(&b, b.input(0, nk::dtype::f32, {300}));
    const nk::traced<nk::i64> noise(&b, b.input(1, nk::dtype::i64, {}));
    CHECK_THROWS_WITH(nk::dropout(t, rate, noise), "dropout: the rate is a probability, from 0 to 1");
  }
}

TEST_CASE("random bits are words of Philox") {
  nk::builder b;
  const int position = b.input(0, nk::dtype::i64, {5}), key = b.input(1, nk::dtype::i64, {5});
  b.output(b.binary(nk::op::random_bits, position, key));
  constexpr std::uint64_t stream = nk::stream_of(0, "random_bits").stream;
  for (const std::int64_t k : {std::int64_t{0}, std::int64_t{12345678901}}) {
    const std::vector<std::vector<double>> in = {{0, 1, 2, 3, 1e9},
                                                 std::vector<double>(5, static_cast<double>(k))};
    const std::vector<double> found = nk::interpret(b.view(), in)[0];
    for (std::size_t i = 0; i < 5; ++i)
      CHECK(found[i] ==
            nk::uniform_bits({static_cast<std::uint64_t>(k), stream}, static_cast<std::uint64_t>(in[0][i])));
  }
}
