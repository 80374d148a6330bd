// The elementwise primitives: operands and result have one shape.
#pragma once

#include <concepts>

#include "napkin/core/philox.hpp"
#include "napkin/ops/primitives/row.hpp"

namespace napkin {

namespace row {
/// Truth values from numbers, for the examples of what takes b8.
constexpr int is_positive(builder& g, int x) { return g.binary(op::less, g.zeros_like(x), x); }
}  // namespace row

template <>
struct primitive<op::neg> : row::elementwise<op::neg, 1, 1> {
  static constexpr auto name = "neg";
  template <class T>
  static constexpr T apply(T x) {
    return static_cast<T>(-x);
  }
  static constexpr void gradient(builder& g, int, int dy, auto give) { give(0, g.unary(op::neg, dy)); }
};

template <>
struct primitive<op::abs> : row::elementwise<op::abs, 1, 1> {
  static constexpr auto name = "abs";
  template <class T>
  static constexpr T apply(T x) {
    if constexpr (std::unsigned_integral<T>)
      return x;  // of a comparison with 0 nvcc would warn
    else if constexpr (std::floating_point<T>)
      return math::abs(x);  // -0 is not below 0
    else
      return x < T(0) ? static_cast<T>(-x) : x;
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    give(0, g.mul(dy, g.unary(op::sign, g.operand(n, 0))));
  }
};

template <>
struct primitive<op::sign> : row::elementwise<op::sign, 1, 1> {
  static constexpr auto name = "sign";
  template <class T>
  static constexpr T apply(T x) {
    if constexpr (std::unsigned_integral<T>)
      return static_cast<T>(x != T(0));
    else
      return x > T(0) ? T(1) : x < T(0) ? static_cast<T>(T(0) - T(1)) : static_cast<T>(x * T(0));
  }
  static constexpr void gradient(builder&, int, int, auto) {}  // zero where it exists
};

template <>
struct primitive<op::exp> : row::elementwise<op::exp, 1, 0, 1> {
  static constexpr auto name = "exp";
  template <class T>
  static constexpr T apply(T x) {
    return math::exp(x);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) { give(0, g.mul(dy, n)); }
};

template <>
struct primitive<op::log> : row::elementwise<op::log, 1, 0, 1> {
  static constexpr auto name = "log";
  static constexpr double low = 0.1;
  template <class T>
  static constexpr T apply(T x) {
    return math::log(x);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    give(0, g.div(dy, g.operand(n, 0)));
  }
};

template <>
struct primitive<op::sqrt> : row::elementwise<op::sqrt, 1, 0, 1> {
  static constexpr auto name = "sqrt";
  static constexpr double low = 0.1;
  template <class T>
  static constexpr T apply(T x) {
    return math::sqrt(x);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    give(0, g.div(g.scale(dy, 0.5), n));
  }
};

template <>
struct primitive<op::rsqrt> : row::elementwise<op::rsqrt, 1, 0, 1> {
  static constexpr auto name = "rsqrt";
  static constexpr double low = 0.1;
  template <class T>
  static constexpr T apply(T x) {
    return math::rsqrt(x);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    give(0, g.mul(g.scale(dy, -0.5), g.div(n, g.operand(n, 0))));
  }
};

template <>
struct primitive<op::sin> : row::elementwise<op::sin, 1, 0, 1> {
  static constexpr auto name = "sin";
  template <class T>
  static constexpr T apply(T x) {
    return math::sin(x);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    give(0, g.mul(dy, g.unary(op::cos, g.operand(n, 0))));
  }
};

template <>
struct primitive<op::cos> : row::elementwise<op::cos, 1, 0, 1> {
  static constexpr auto name = "cos";
  template <class T>
  static constexpr T apply(T x) {
    return math::cos(x);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    give(0, g.unary(op::neg, g.mul(dy, g.unary(op::sin, g.operand(n, 0)))));
  }
};

template <>
struct primitive<op::tanh> : row::elementwise<op::tanh, 1, 0, 1> {
  static constexpr auto name = "tanh";
  template <class T>
  static constexpr T apply(T x) {
    return math::tanh(x);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    give(0, g.mul(dy, g.sub(g.ones_like(n), g.mul(n, n))));
  }
};

template <>
struct primitive<op::erf> : row::elementwise<op::erf, 1, 0, 1> {
  static constexpr auto name = "erf";
  template <class T>
  static constexpr T apply(T x) {
    return math::erf(x);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    const int x = g.operand(n, 0);
    const int density = g.unary(op::exp, g.unary(op::neg, g.mul(x, x)));
    give(0, g.mul(g.scale(dy, 1.1283791670955126), density));  // 2 / sqrt(pi)
  }
};

template <>
struct primitive<op::floor> : row::elementwise<op::floor, 1, 1> {
  static constexpr auto name = "floor";
  template <class T>
  static constexpr T apply(T x) {
    return math::floor(x);
  }
  static constexpr void gradient(builder&, int, int, auto) {}  // zero where it exists
};

template <>
struct primitive<op::logical_not> : row::elementwise<op::logical_not, 1, 1> {
  static constexpr auto name = "logical_not";
  static constexpr bool differentiable = false;
  template <class T>
  static constexpr T apply(T x) {
    return x == T(0) ? T(1) : T(0);
  }
  static constexpr int example(builder& g, int) {
    return g.unary(op::logical_not, row::is_positive(g, g.input(0, dtype::f64, {2, 3})));
  }
  static constexpr void gradient(builder&, int, int, auto) {}
};

template <>
struct primitive<op::cast> : row::elementwise<op::cast, 1, 0> {
  static constexpr auto name = "cast";
  template <class T>
  static constexpr T apply(T x) {
    return x;
  }  // the conversion is the store into the node's own dtype
  static constexpr int examples = 2;
  static constexpr int example(builder& g, int variant) {
    return g.cast(g.cast(g.input(0, dtype::f64, {2, 3}), variant == 0 ? dtype::f32 : dtype::i32), dtype::f64);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    give(0, g.cast(dy, g.type_of(g.operand(n, 0))));
  }
};

template <>
struct primitive<op::stop_gradient> : row::elementwise<op::stop_gradient, 1, 0> {
  static constexpr auto name = "stop_gradient";
  static constexpr bool differentiable = false;  // by intent: its derivative is declared to be zero
  template <class T>
  static constexpr T apply(T x) {
    return x;
  }
  static constexpr void gradient(builder&, int, int, auto) {}
};

template <>
struct primitive<op::add> : row::elementwise<op::add, 2, 1> {
  static constexpr auto name = "add";
  template <class T>
  static constexpr T apply(T a, T b) {
    return static_cast<T>(a + b);
  }
  static constexpr void gradient(builder&, int, int dy, auto give) {
    give(0, dy);
    give(1, dy);
  }
};

template <>
struct primitive<op::sub> : row::elementwise<op::sub, 2, 1> {
  static constexpr auto name = "sub";
  template <class T>
  static constexpr T apply(T a, T b) {
    return static_cast<T>(a - b);
  }
  static constexpr void gradient(builder& g, int, int dy, auto give) {
    give(0, dy);
    give(1, g.unary(op::neg, dy));
  }
};

template <>
struct primitive<op::mul> : row::elementwise<op::mul, 2, 1> {
  static constexpr auto name = "mul";
  template <class T>
  static constexpr T apply(T a, T b) {
    return static_cast<T>(a * b);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    give(0, g.mul(dy, g.operand(n, 1)));
    give(1, g.mul(dy, g.operand(n, 0)));
  }
};

template <>
struct primitive<op::div> : row::elementwise<op::div, 2, 1> {
  static constexpr auto name = "div";
  static constexpr double low = 0.2;
  template <class T>
  static constexpr T apply(T a, T b) {
    return static_cast<T>(a / b);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    const int b = g.operand(n, 1);
    give(0, g.div(dy, b));
    give(1, g.unary(op::neg, g.mul(dy, g.div(n, b))));
  }
};

template <>
struct primitive<op::pow> : row::elementwise<op::pow, 2, 0, 1> {
  static constexpr auto name = "pow";
  static constexpr double low = 0.2;
  template <class T>
  static constexpr T apply(T a, T b) {
    return math::pow(a, b);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    const int a = g.operand(n, 0), b = g.operand(n, 1);
    const bool is_number = g[b].kind == op::constant;
    if (is_number && g[b].value == 0) return;
    const int slope = g.mul(dy, g.mul(b, g.binary(op::pow, a, g.sub(b, g.ones_like(b)))));
    if (is_number) return give(0, slope);
    // At the ends 0 times an infinity would be NaN: a^0 is 1 for all a, and 0^b 0 for all b above 0.
    const int zero = g.zeros_like(b), none = g.zeros_like(dy);
    give(0, g.select(g.binary(op::equal, b, zero), none, slope));
    const int is_end =
        g.binary(op::logical_and, g.binary(op::equal, a, zero), g.binary(op::less_equal, zero, b));
    give(1, g.select(is_end, none, g.mul(dy, g.mul(n, g.unary(op::log, a)))));
  }
};

namespace row {
/// Of max and min: where both are equal each takes half, as PyTorch and JAX do.
template <op Wins>
constexpr void extremum_gradient(builder& g, int n, int dy, auto give) {
  const int a = g.operand(n, 0), b = g.operand(n, 1), zero = g.zeros_like(dy);
  const int shared = g.select(g.binary(op::equal, a, b), g.scale(dy, 0.5), zero);
  const int a_wins = Wins == op::maximum ? g.binary(op::less, b, a) : g.binary(op::less, a, b);
  const int b_wins = Wins == op::maximum ? g.binary(op::less, a, b) : g.binary(op::less, b, a);
  give(0, g.select(a_wins, dy, shared));
  give(1, g.select(b_wins, dy, shared));
}
}  // namespace row

template <>
struct primitive<op::maximum> : row::elementwise<op::maximum, 2, 1> {
  static constexpr auto name = "maximum";
  template <class T>
  static constexpr T apply(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
  }  // NaN stays
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    row::extremum_gradient<op::maximum>(g, n, dy, give);
  }
};

template <>
struct primitive<op::minimum> : row::elementwise<op::minimum, 2, 1> {
  static constexpr auto name = "minimum";
  template <class T>
  static constexpr T apply(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    row::extremum_gradient<op::minimum>(g, n, dy, give);
  }
};

namespace row {
template <op O>
struct predicate : elementwise<O, 2, 1> {
  static constexpr bool differentiable = false;
  static constexpr void gradient(builder&, int, int, auto) {}
};

template <op O>
struct connective : predicate<O> {
  static constexpr int example(builder& g, int) {
    const int a = g.input(0, dtype::f64, {2, 3}), b = g.input(1, dtype::f64, {2, 3});
    return g.binary(O, is_positive(g, a), is_positive(g, b));
  }
};
}  // namespace row

template <>
struct primitive<op::equal> : row::predicate<op::equal> {
  static constexpr auto name = "equal";
  template <class T>
  static constexpr bool apply(T a, T b) {
    return a == b;
  }
};

template <>
struct primitive<op::less> : row::predicate<op::less> {
  static constexpr auto name = "less";
  template <class T>
  static constexpr bool apply(T a, T b) {
    return a < b;
  }
};

template <>
struct primitive<op::less_equal> : row::predicate<op::less_equal> {
  static constexpr auto name = "less_equal";
  template <class T>
  static constexpr bool apply(T a, T b) {
    return a <= b;
  }
};

template <>
struct primitive<op::logical_and> : row::connective<op::logical_and> {
  static constexpr auto name = "logical_and";
  template <class T>
  static constexpr T apply(T a, T b) {
    return ((a != T(0)) & (b != T(0))) ? T(1) : T(0);
  }
};

template <>
struct primitive<op::logical_or> : row::connective<op::logical_or> {
  static constexpr auto name = "logical_or";
  template <class T>
  static constexpr T apply(T a, T b) {
    return ((a != T(0)) | (b != T(0))) ? T(1) : T(0);
  }
};

template <>
struct primitive<op::select> : row::elementwise<op::select, 3, 1> {
  static constexpr auto name = "select";
  template <class C, class T>
  static constexpr T apply(C condition, T yes, T no) {
    return condition != C(0) ? yes : no;
  }
  static constexpr int example(builder& g, int) {
    const shape s{2, 3};
    const int a = g.input(0, dtype::f64, s), b = g.input(1, dtype::f64, s);
    return g.select(g.binary(op::less, a, g.zeros_like(a)), a, b);
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    const int condition = g.operand(n, 0), zero = g.zeros_like(dy);
    give(1, g.select(condition, dy, zero));
    give(2, g.select(condition, zero, dy));
  }
};

/// operands: positions and keys, of i64. Word `position` of the random stream of a key: 32 bits, at least 0.
/// A key, at least 0 and below 2^53, is one for all elements; what is drawn depends on nothing else.
template <>
struct primitive<op::random_bits> : row::predicate<op::random_bits> {
  static constexpr auto name = "random_bits";
  static constexpr int flops = 80;  // of each of ten rounds: 2 multiplications, 4 exclusive ors, 2 additions
  template <class T>
  static constexpr T apply(T position, T key) {
    constexpr std::uint64_t stream = stream_of(0, "random_bits").stream;
    return static_cast<T>(uniform_bits({static_cast<std::uint64_t>(static_cast<std::int64_t>(key)), stream},
                                       static_cast<std::uint64_t>(static_cast<std::int64_t>(position))));
  }
  static constexpr int example(builder& g, int) {
    const auto integers = [&g](int slot) {
      return g.cast(g.scale(g.input(slot, dtype::f64, {2, 3}), 1000), dtype::i64);
    };
    return g.binary(op::random_bits, integers(0), integers(1));
  }
};

template <>
struct primitive<op::fma> : row::elementwise<op::fma, 3, 2> {
  static constexpr auto name = "fma";
  template <class T>
  static constexpr T apply(T a, T b, T c) {
    if constexpr (sizeof(T) == sizeof(float))
      return __builtin_fmaf(a, b, c);
    else
      return __builtin_fma(a, b, c);
  }  // rounded once, in hardware or by the C library
  static constexpr int example(builder& g, int) {
    const shape s{2, 3};
    return g.fma(g.input(0, dtype::f64, s), g.input(1, dtype::f64, s), g.input(2, dtype::f64, s));
  }
  static constexpr void gradient(builder& g, int n, int dy, auto give) {
    give(0, g.mul(dy, g.operand(n, 1)));
    give(1, g.mul(dy, g.operand(n, 0)));
    give(2, dy);
  }
};

}  // namespace napkin
