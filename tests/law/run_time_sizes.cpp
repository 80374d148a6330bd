// Whatever is computed along an axis that is sized at run time is what the same gives along an axis of that
// size, and no element behind the end is seen: there stand NaN here, and indices of nothing.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <tuple>

#include "napkin/napkin.hpp"

namespace nk = napkin;
using nk::f64;
using nk::i32;
using nk::tensor;

namespace {

constexpr std::size_t most = 6;
struct rows : nk::dim<"rows", nk::up_to<most>> {};
struct cols : nk::dim<"cols", 3> {};
struct later : nk::dim<"later", nk::up_to<4>> {};
struct out : nk::dim<"out", 4> {};
struct vocab : nk::dim<"vocab", 5> {};

/// The same axes, of these sizes for the compiler.
template <class D, std::size_t Rows, std::size_t Later>
struct known {
  using type = D;
};
template <std::size_t Rows, std::size_t Later>
struct known<rows, Rows, Later> {
  using type = nk::dim<"rows", Rows>;
};
template <std::size_t Rows, std::size_t Later>
struct known<later, Rows, Later> {
  using type = nk::dim<"later", Later>;
};

template <class T>
T nothing() {
  if constexpr (std::is_same_v<T, i32>)
    return 1 << 20;
  else
    return std::numeric_limits<T>::quiet_NaN();
}

/// Both of one operand: elements that differ, from a seed.
template <std::size_t Rows, std::size_t Later, class T, class... Ds>
auto twins(int seed) {
  tensor<T, typename known<Ds, Rows, Later>::type...> fixed;
  tensor<T, Ds...> open;
  for (std::size_t i = 0; i < nk::total_size<Ds...>; ++i) open.data()[i] = nothing<T>();
  std::array<std::size_t, sizeof...(Ds)> sizes{}, strides{};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = fixed.sizes()[i];
    strides[i] = static_cast<std::size_t>(decltype(open)::strides[i]);
  }
  std::size_t n = 0;
  for (T& each : fixed) {
    if constexpr (std::is_same_v<T, i32>)
      each = static_cast<T>((n * 7 + static_cast<std::size_t>(seed)) % 5);
    else
      each = static_cast<T>(0.25 + std::fmod(0.61803398875 * static_cast<double>(n + 1) * (seed + 1), 1.0));
    std::size_t at = 0, rest = n++;
    for (std::size_t i = sizes.size(); i-- > 0; rest /= sizes[i]) at += rest % sizes[i] * strides[i];
    open.data()[at] = each;
  }
  // as a tensor of those sizes, in the same storage
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    constexpr bool dynamic[] = {Ds::dynamic...};
    nk::sized<(static_cast<std::size_t>(Ds::dynamic) + ... + 0)> actual{};
    std::size_t k = 0;
    ((dynamic[I] ? void(actual.values[k++] = sizes[I]) : void()), ...);
    return std::tuple(fixed, tensor<T, Ds...>(open.shared_storage(), 0, actual));
  }
  (std::index_sequence_for<Ds...>{});
}

template <class X, class Y>
void same(const X& fixed, const Y& open) {
  REQUIRE(fixed.sizes() == open.sizes());
  auto it = open.begin();
  for (const auto& each : fixed) {
    const auto wanted = static_cast<double>(each), found = static_cast<double>(*it);
    INFO(fixed << open);
    if (!std::isfinite(wanted))
      CHECK(((std::isnan(wanted) && std::isnan(found)) || wanted == found));
    else
      CHECK(std::abs(wanted - found) <= 1e-12 * (1 + std::abs(wanted)));
    ++it;
  }
}

/// f of both operands' twins.
template <std::size_t Rows, std::size_t Later, class F, class... Twins>
void holds_for(const F& f, const Twins&... xs) {
  const nk::tensor fixed = f(std::get<0>(xs)...);
  const nk::tensor open = f(std::get<1>(xs)...);
  same(fixed, open);
}
/// The same of the gradients of a weighted sum of f, in every operand.
template <class F, class... Twins>
void gradients_hold(const F&, const Twins&... xs) {
  const auto loss = [](auto... ys) { return nk::sum(nk::sin(F{}(ys...))); };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto fixed = nk::value_and_grad<I...>(loss)(std::get<0>(xs)...);
    const auto open = nk::value_and_grad<I...>(loss)(std::get<1>(xs)...);
    same(std::get<0>(fixed), std::get<0>(open));
    (same(std::get<I + 1>(fixed), std::get<I + 1>(open)), ...);
  }
  (std::index_sequence_for<Twins...>{});
}
template <std::size_t Rows, std::size_t Later, class F, class... Twins>
void all_hold(const F& f, const Twins&... xs) {
  holds_for<Rows, Later>(f, xs...);
  gradients_hold(f, xs...);
}

template <std::size_t Rows, std::size_t Later>
void check_all() {
  const auto x = twins<Rows, Later, f64, rows, cols>(1);
  const auto y = twins<Rows, Later, f64, rows, cols>(2);
  const auto z = twins<Rows, Later, f64, later, cols>(3);
  const auto w = twins<Rows, Later, f64, cols, out>(4);
  const auto t = twins<Rows, Later, f64, rows, later, out>(5);
  const auto c = twins<Rows, Later, f64, cols>(6);
  const auto table = twins<Rows, Later, f64, vocab, cols>(7);
  const auto tokens = twins<Rows, Later, i32, rows>(8);
  const auto own = twins<Rows, Later, f64, rows>(9);

  SECTION("elementwise, broadcast, permuted") {
    all_hold<Rows, Later>([](auto a, auto b) { return nk::exp(a) * b - a / (b + 1); }, x, y);
    all_hold<Rows, Later>([](auto a, auto b) { return a * b; }, x, c);
    all_hold<Rows, Later>([](auto a, auto b) { return a + b; }, t, own);
    all_hold<Rows, Later>([](auto a) { return nk::rearrange<"rows later out -> out later rows">(a); }, t);
    all_hold<Rows, Later>(
        [](auto a) {
          return nk::rearrange<"rows later (a b) -> b rows (later 1) a", nk::dim<"a", 2>>(a * 1);
        },
        t);
    all_hold<Rows, Later>([](auto a) { return nk::repeat<"rows cols -> rows r cols", nk::dim<"r", 2>>(a); },
                          x);
    all_hold<Rows, Later>([](auto a, auto b) { return nk::concat<"cols">(a, b * 2); }, x, y);
    all_hold<Rows, Later>([](auto a, auto b) { return nk::outer(a, b); }, own, c);
    holds_for<Rows, Later>([](const auto& a) { return nk::flip<"rows">(a) * 2; }, x);
    holds_for<Rows, Later>(
        [](const auto& a) { return nk::sum<"later">(nk::flip<"later">(nk::flip<"rows">(a))); }, t);
    holds_for<Rows, Later>([](const auto& a) { return nk::where(a > 0.7, a, 0.0); }, x);
    holds_for<Rows, Later>([](const auto& a) { return nk::cast<nk::f32>(a); }, x);
  }
  SECTION("reductions") {
    all_hold<Rows, Later>([](auto a) { return nk::sum<"rows">(a); }, x);
    all_hold<Rows, Later>([](auto a) { return nk::sum(a); }, t);
    all_hold<Rows, Later>([](auto a) { return nk::mean<"rows">(a); }, x);
    all_hold<Rows, Later>([](auto a) { return nk::mean<"rows", "out">(a); }, t);
    all_hold<Rows, Later>([](auto a) { return nk::mean(a); }, t);
    all_hold<Rows, Later>([](auto a) { return nk::max<"rows">(a); }, x);
    all_hold<Rows, Later>([](auto a) { return nk::min<"later", "rows">(a); }, t);
    all_hold<Rows, Later>([](auto a) { return nk::logsumexp<"later">(a); }, t);
    all_hold<Rows, Later>([](auto a) { return nk::softmax<"rows">(a); }, x);
    all_hold<Rows, Later>(
        [](auto a) { return nk::reduce<"rows later (a b) -> a later", "sum", nk::dim<"a", 2>>(a); }, t);
    holds_for<Rows, Later>([](const auto& a) { return nk::reduce<"rows cols -> cols", "prod">(a); }, x);
    holds_for<Rows, Later>([](const auto& a) { return nk::argmax<"rows">(a); }, x);
    holds_for<Rows, Later>([](const auto& a) { return nk::argmin<"later">(a); }, t);
    holds_for<Rows, Later>([](const auto& a) { return nk::argmax(a); }, t);
    holds_for<Rows, Later>([](const auto& a) { return nk::any<"rows">(a > 0.9); }, x);
    holds_for<Rows, Later>([](const auto& a) { return nk::all<"rows">(a > 0.1); }, x);
    holds_for<Rows, Later>([](const auto& a) { return nk::sum<"rows">(nk::cast<i32>(a * 10)); }, x);
    holds_for<Rows, Later>([](const auto& a) { return nk::min<"rows">(nk::cast<nk::i64>(a * 10)); }, x);
    holds_for<Rows, Later>([](const auto& a) { return nk::max<"rows">(nk::cast<nk::u8>(a * 10)); }, x);
    holds_for<Rows, Later>([](const auto& a) { return nk::min<"rows">(nk::cast<nk::i8>(a * 10)); }, x);
  }
  SECTION("contractions") {
    all_hold<Rows, Later>([](auto a, auto b) { return nk::einsum<"rows cols, cols out -> rows out">(a, b); },
                          x, w);
    all_hold<Rows, Later>([](auto a, auto b) { return nk::einsum<"rows cols, rows cols -> cols">(a, b); }, x,
                          y);
    all_hold<Rows, Later>(
        [](auto a, auto b) { return nk::einsum<"rows cols, later cols -> rows later">(a, b); }, x, z);
    all_hold<Rows, Later>(
        [](auto a, auto b, auto d) {
          return nk::einsum<"rows cols, later cols, rows later out -> out">(a, b, d);
        },
        x, z, t);
    all_hold<Rows, Later>([](auto a) { return nk::einsum<"rows cols, key cols -> rows key">(a, a); }, x);
    all_hold<Rows, Later>([](auto a, auto b) { return nk::dot<"rows">(a, b); }, x, own);
    all_hold<Rows, Later>(
        [](auto a, auto b) {
          const auto keys = nk::rename<"rows", "key">(b);
          const auto scores = nk::dot<"cols">(a, keys);
          return nk::dot<"key">(nk::softmax<"key">(scores), keys);
        },
        x, y);
  }
  SECTION("by index") {
    holds_for<Rows, Later>([](const auto& a, const auto& i) { return nk::gather<"vocab">(a, i); }, table,
                           tokens);
    holds_for<Rows, Later>([](const auto& a, const auto& i) { return nk::scatter_add<vocab>(a, i); }, x,
                           tokens);
    holds_for<Rows, Later>([](const auto& i) { return nk::one_hot<vocab>(i); }, tokens);
    const auto loss = [](auto a, auto i) { return nk::sum(nk::sin(nk::gather<"vocab">(a, i))); };
    same(nk::grad(loss)(std::get<0>(table), std::get<0>(tokens)),
         nk::grad(loss)(std::get<1>(table), std::get<1>(tokens)));
    const auto entropy = [](auto a, auto b, auto i) {
      return nk::cross_entropy<"vocab">(nk::einsum<"rows cols, vocab cols -> rows vocab">(a, b), i);
    };
    same(
        std::get<1>(nk::value_and_grad<1>(entropy)(std::get<0>(x), std::get<0>(table), std::get<0>(tokens))),
        std::get<1>(nk::value_and_grad<1>(entropy)(std::get<1>(x), std::get<1>(table), std::get<1>(tokens))));
  }
  SECTION("norms, and a layer") {
    all_hold<Rows, Later>([](auto a, auto g) { return nk::rms_norm<"cols">(a, g); }, x, c);
    all_hold<Rows, Later>([](auto a, auto b) { return nk::layer_norm<"rows">(a, b, b); }, x, own);
    all_hold<Rows, Later>(
        [](auto a, auto b, auto d) {
          const auto h = nk::gelu(nk::einsum<"rows cols, cols out -> rows out">(a + d, b));
          return nk::mean<"rows">(h * h);
        },
        x, w, c);
  }
}

}  // namespace

TEST_CASE("along axes sized at run time", "[run time sizes]") { check_all<4, 3>(); }

TEST_CASE("one program, all sizes", "[run time sizes]") {
  for (std::size_t n = 1; n <= most; ++n) {
    tensor<f64, rows, cols> x;
    for (std::size_t i = 0; i < most * 3; ++i)
      x.data()[i] = i < n * 3 ? static_cast<double>(i) : nothing<f64>();
    const tensor<f64, rows, cols> some(x.shared_storage(), 0, nk::sized{n});
    const nk::tensor mean = nk::mean<"rows">(some);
    CHECK(mean(0) == Approx(1.5 * static_cast<double>(n - 1)));
    const nk::tensor doubled = some * 2;
    CHECK(doubled.sizes()[0] == n);
    const nk::tensor largest = nk::argmax<"rows">(some);
    CHECK(largest(2) == static_cast<i32>(n - 1));
    const auto g = nk::grad([](auto a) { return nk::mean(a * a); })(some);
    CHECK(g.sizes()[0] == n);
    CHECK(g(n - 1, 2) == Approx(2 * static_cast<double>(3 * n - 1) / static_cast<double>(3 * n)));
  }
}

TEST_CASE("an axis sized at run time that is empty", "[run time sizes]") {
  const tensor<f64, rows, cols> x(nk::sized{0});
  const nk::tensor total = nk::sum<"rows">(x);
  CHECK((total(0) == 0 && total(2) == 0));
  const nk::tensor mean = nk::mean(x);
  CHECK(std::isnan(mean()));
  const nk::tensor same = x * 2;
  CHECK(same.sizes()[0] == 0);
}

TEST_CASE("operands of two sizes", "[run time sizes]") {
  const tensor<f64, rows, cols> x(nk::sized{2}), y(nk::sized{3});
  const tensor<f64, nk::dim<"key", nk::up_to<most>>, cols> k(nk::sized{3});
  const auto message = [](const auto& f) -> std::string {
    try {
      f();
    } catch (const nk::input_error& e) {
      return e.what();
    }
    return "nothing thrown";
  };
  CHECK(message([&] { nk::tensor z = x + y; }) ==
        "axis 'rows' has 2 elements in one operand and 3 in another");
  CHECK(message([&] { nk::tensor z = nk::rename<"rows", "key">(x * 2) + k; }) ==
        "axis 'rows' has 2 elements in one operand and 3 in another, where it is called 'key'");
  CHECK(message([&] { (void)nk::grad([](auto a, auto b) { return nk::sum(a * b); })(x, y); }) ==
        "axis 'rows' has 2 elements in one operand and 3 in another");
}

TEST_CASE("a sum as long as its axis: what masks cost is in the plan, and no product is more",
          "[run time sizes]") {
  using x = tensor<f64, rows, cols>;
  using product = decltype(nk::einsum<"rows cols, rows cols -> cols">(std::declval<x>(), std::declval<x>()));
  static_assert(nk::cost<product>.flops.matmul == 2 * most * 3);
  static_assert(nk::conventions::torch<product>.forward == 2 * most * 3);
  using mean = decltype(nk::mean(std::declval<x>()));
  static_assert(nk::cost<mean>.flops.reduce == most * 3 - 1);
  static_assert(nk::shape_of<decltype(std::declval<x>() * 2)>[0] == most);

  // At sizes that are given, what operands of that size cost.
  using fixed = tensor<f64, nk::dim<"rows", 4>, cols>;
  static_assert(nk::cost_at<product>(nk::sized{4}).flops.matmul == 2 * 4 * 3);
  constexpr auto softmax = [](auto a) { return nk::softmax<"rows">(a) * nk::mean<"rows">(a); };
  static_assert(nk::cost_at<decltype(softmax(std::declval<x>()))>(nk::sized{4}) ==
                nk::cost<decltype(softmax(std::declval<fixed>()))>);
  static_assert(nk::cost_at<decltype(softmax(std::declval<x>()))>(nk::sized{4}).bytes.total() <
                nk::cost<decltype(softmax(std::declval<x>()))>.bytes.total());
  CHECK_THROWS_AS(nk::cost_at<product>(nk::sized{most + 1}), nk::error);
}
