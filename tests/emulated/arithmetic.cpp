// What a lane does with its own registers: arithmetic, comparisons, conversions, bits, moves.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "emulated/instructions.hpp"
#include "emulated/lanes.hpp"
#include "napkin/core/dtype.hpp"

namespace napkin::testing::ptx {
namespace {

/// d = f(a, ...) of `Inputs` operands of T.
template <class T, unsigned Inputs, class F>
void map_lanes(warp& w, const instruction& i) {
  u64* const d = w.row(i.x[0]);
  const u64 *const a = w.row(i.x[1]), *const b = Inputs > 1 ? w.row(i.x[2]) : a,
                   *const c = Inputs > 2 ? w.row(i.x[3]) : a;
  w.each_lane([&](unsigned l) {
    if constexpr (Inputs == 1)
      d[l] = bits_of(F{}(get<T>(a[l])));
    else if constexpr (Inputs == 2)
      d[l] = bits_of(F{}(get<T>(a[l]), get<T>(b[l])));
    else
      d[l] = bits_of(F{}(get<T>(a[l]), get<T>(b[l]), get<T>(c[l])));
  });
}

/// For functions that all types have.
template <unsigned Inputs, class F>
handler of_numbers(std::string_view type, F) {
  return of_type(type, []<class T>() -> handler { return &map_lanes<T, Inputs, F>; });
}
template <unsigned Inputs, class F>
handler of_integers(std::string_view type, F) {
  return of_type(type, []<class T>() -> handler {
    if constexpr (std::integral<T>) return &map_lanes<T, Inputs, F>;
    return nullptr;
  });
}
template <unsigned Inputs, class F>
handler of_floats(std::string_view type, F) {
  return of_type(type, []<class T>() -> handler {
    if constexpr (std::floating_point<T>) return &map_lanes<T, Inputs, F>;
    return nullptr;
  });
}
/// Subnormal numbers are zero to what says ftz.
template <class T>
T flushed(T x) {
  return std::fabs(x) < std::numeric_limits<T>::min() ? std::copysign(T{0}, x) : x;
}

/// Towards minus infinity: of the nearest and, where that is above what is exact, the one below.
float fma_down(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b),
               sum = product + static_cast<double>(c), part = sum - product,
               left = (product - (sum - part)) + (static_cast<double>(c) - part);
  const float nearest = std::fma(a, b, c);
  const double at = static_cast<double>(nearest);
  return at > sum || (at == sum && left < 0)
             ? std::nextafter(nearest, -std::numeric_limits<float>::infinity())
             : nearest;
}
/// max.NaN and min.NaN: NaN of NaN; -0 is below 0.
template <bool Largest, class T>
T extreme(T a, T b) {
  if (a != a || b != b) return std::numeric_limits<T>::quiet_NaN();
  const bool first_is_less = a < b || (a == b && std::signbit(a));
  return first_is_less == Largest ? b : a;
}

// Arithmetic of integers wraps, which C++ says of unsigned ones alone; of u16 it would promote to int.
template <class T, class F>
T wrapping(T a, T b, F f) {
  if constexpr (std::integral<T>) {
    using U = std::conditional_t<sizeof(T) == 8, u64, u32>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return f(a, b);
  }
}
template <class T>
T product_low(T a, T b) {
  return wrapping(a, b, [](auto x, auto y) { return x * y; });
}
template <class T>
struct wider;
template <>
struct wider<u16> : std::type_identity<u32> {};
template <>
struct wider<s16> : std::type_identity<s32> {};
template <>
struct wider<u32> : std::type_identity<u64> {};
template <>
struct wider<s32> : std::type_identity<s64> {};
template <>
struct wider<u64> : std::type_identity<unsigned __int128> {};
template <>
struct wider<s64> : std::type_identity<__int128> {};

template <class T>
concept multiplied = requires {
  typename wider<T>::type;
};

struct product_wide {
  template <class T>
  auto operator()(T a, T b) const {
    using W = typename wider<T>::type;
    return static_cast<W>(a) * static_cast<W>(b);
  }
};
struct product_high {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(product_wide{}(a, b) >> (8 * sizeof(T)));
  }
};

// ---- comparisons

handler comparison(std::string_view how, std::string_view type) {
  if (type == "b16" || type == "b32" || type == "b64" || type[0] == 'u' || type[0] == 's') {
    if (how == "eq") return of_integers<2>(type, [](auto a, auto b) { return a == b; });
    if (how == "ne") return of_integers<2>(type, [](auto a, auto b) { return a != b; });
    if (how == "lt" || how == "lo") return of_integers<2>(type, [](auto a, auto b) { return a < b; });
    if (how == "le" || how == "ls") return of_integers<2>(type, [](auto a, auto b) { return a <= b; });
    if (how == "gt" || how == "hi") return of_integers<2>(type, [](auto a, auto b) { return a > b; });
    if (how == "ge" || how == "hs") return of_integers<2>(type, [](auto a, auto b) { return a >= b; });
    return nullptr;
  }
  if (how == "eq") return of_floats<2>(type, [](auto a, auto b) { return a == b; });
  if (how == "ne") return of_floats<2>(type, [](auto a, auto b) { return a < b || a > b; });
  if (how == "lt") return of_floats<2>(type, [](auto a, auto b) { return a < b; });
  if (how == "le") return of_floats<2>(type, [](auto a, auto b) { return a <= b; });
  if (how == "gt") return of_floats<2>(type, [](auto a, auto b) { return a > b; });
  if (how == "ge") return of_floats<2>(type, [](auto a, auto b) { return a >= b; });
  if (how == "nan") return of_floats<2>(type, [](auto a, auto b) { return a != a || b != b; });
  if (how == "num") return of_floats<2>(type, [](auto a, auto b) { return a == a && b == b; });
  if (how == "equ") return of_floats<2>(type, [](auto a, auto b) { return !(a < b || a > b); });
  if (how == "neu") return of_floats<2>(type, [](auto a, auto b) { return !(a == b); });
  if (how == "ltu") return of_floats<2>(type, [](auto a, auto b) { return !(a >= b); });
  if (how == "leu") return of_floats<2>(type, [](auto a, auto b) { return !(a > b); });
  if (how == "gtu") return of_floats<2>(type, [](auto a, auto b) { return !(a <= b); });
  if (how == "geu") return of_floats<2>(type, [](auto a, auto b) { return !(a < b); });
  return nullptr;
}

void select(warp& w, const instruction& i) {
  u64* const d = w.row(i.x[0]);
  const u64 *const a = w.row(i.x[1]), *const b = w.row(i.x[2]), *const p = w.row(i.x[3]);
  w.each_lane([&](unsigned l) { d[l] = (p[l] & 1) != 0 ? a[l] : b[l]; });
}

// ---- conversions

template <class To, class From>
To converted(From x) {
  if constexpr (std::floating_point<From> &&
                std::integral<To>) {  // towards zero; what is beyond is the limit
    using limits = std::numeric_limits<To>;
    if (x != x) return 0;
    if (static_cast<double>(x) <= static_cast<double>(limits::min())) return limits::min();
    if (static_cast<double>(x) >= std::ldexp(1.0, limits::digits)) return limits::max();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}
handler conversion(std::string_view to, std::string_view from, std::string_view how) {
  return of_type(to, [&]<class To>() {
    return of_type(from, [&]<class From>() -> handler {
      constexpr bool truncates = std::floating_point<From> && std::integral<To>;
      if (how != (truncates ? "rzi" : "rn") && (truncates || !how.empty())) return nullptr;
      return &map_lanes<From, 1, decltype([](From x) { return converted<To>(x); })>;
    });
  });
}
/// cvt.rn.bf16x2.f32 d, a, b: a becomes the upper half.
template <dtype Half>
void pack(warp& w, const instruction& i) {
  u64* const d = w.row(i.x[0]);
  const u64 *const a = w.row(i.x[1]), *const b = w.row(i.x[2]);
  w.each_lane([&](unsigned l) {
    const auto half = [](u64 x) -> u32 {
      return std::bit_cast<u16>(static_cast<type_of<Half>>(get<float>(x)));
    };
    d[l] = half(a[l]) << 16 | half(b[l]);
  });
}

// ---- moves between wide registers and their parts

template <class Part>
void split(warp& w, const instruction& i) {  // mov.b64 {d, e}, a
  const u64* const a = w.row(i.x[2]);
  u64 *const d = w.row(i.x[0]), *const e = w.row(i.x[1]);
  w.each_lane([&](unsigned l) {
    const u64 x = a[l];
    d[l] = static_cast<Part>(x);
    e[l] = static_cast<Part>(x >> (8 * sizeof(Part)));
  });
}
template <class Part>
void join(warp& w, const instruction& i) {  // mov.b64 d, {a, b}
  u64* const d = w.row(i.x[0]);
  const u64 *const a = w.row(i.x[1]), *const b = w.row(i.x[2]);
  w.each_lane(
      [&](unsigned l) { d[l] = get<Part>(a[l]) | static_cast<u64>(get<Part>(b[l])) << (8 * sizeof(Part)); });
}

// ---- bits

void permute(warp& w, const instruction& i) {  // prmt.b32
  u64* const d = w.row(i.x[0]);
  const u64 *const a = w.row(i.x[1]), *const b = w.row(i.x[2]), *const c = w.row(i.x[3]);
  w.each_lane([&](unsigned l) {
    const u64 bytes = (a[l] & 0xffffffff) | b[l] << 32;
    u32 x = 0;
    for (unsigned n = 0; n < 4; ++n) {
      const u64 pick = c[l] >> (4 * n) & 15;
      u64 byte = bytes >> (8 * (pick & 7)) & 255;
      if ((pick & 8) != 0) byte = (byte & 128) != 0 ? 255 : 0;
      x |= static_cast<u32>(byte) << (8 * n);
    }
    d[l] = x;
  });
}
template <class T>
void insert_bits(warp& w, const instruction& i) {  // bfi d, a, b, position, length
  u64* const d = w.row(i.x[0]);
  const u64 *const a = w.row(i.x[1]), *const b = w.row(i.x[2]), *const at = w.row(i.x[3]),
                   *const length = w.row(i.x[4]);
  constexpr u64 width = 8 * sizeof(T);
  w.each_lane([&](unsigned l) {
    const u64 from = at[l] & 255, n = std::min(length[l] & 255, width - std::min(from, width));
    T x = get<T>(b[l]);
    for (u64 bit = 0; bit < n; ++bit) {
      const T m = static_cast<T>(T{1} << (from + bit));
      x = static_cast<T>((x & ~m) | ((get<T>(a[l]) >> bit & 1) != 0 ? m : T{0}));
    }
    d[l] = x;
  });
}

// ---- which is which

handler numbers(std::span<const std::string_view> p, const instruction& i) {
  const std::string_view op = p[0], type = p.back();
  const auto has = [&](std::string_view part) { return std::find(p.begin(), p.end(), part) != p.end(); };
  if (op == "add")
    return of_numbers<2>(type,
                         [](auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x + y; }); });
  if (op == "sub")
    return of_numbers<2>(type,
                         [](auto a, auto b) { return wrapping(a, b, [](auto x, auto y) { return x - y; }); });
  if (op == "mul" && has("wide"))
    return of_type(type, []<class T>() -> handler {
      if constexpr (multiplied<T> && sizeof(T) < 8) return &map_lanes<T, 2, product_wide>;
      return nullptr;
    });
  if (op == "mul" && has("hi"))
    return of_type(type, []<class T>() -> handler {
      if constexpr (multiplied<T>) return &map_lanes<T, 2, product_high>;
      return nullptr;
    });
  if (op == "mul") return of_numbers<2>(type, [](auto a, auto b) { return product_low(a, b); });
  if (op == "mad" && has("lo"))
    return of_integers<3>(type, [](auto a, auto b, auto c) {
      return wrapping(product_low(a, b), c, [](auto x, auto y) { return x + y; });
    });
  if (op == "fma" && p[1] == "rm" && type == "f32" && p.size() == 3)
    return &map_lanes<float, 3, decltype([](float a, float b, float c) { return fma_down(a, b, c); })>;
  if (op == "fma")
    return p[1] == "rn" ? of_floats<3>(type, [](auto a, auto b, auto c) { return std::fma(a, b, c); })
                        : nullptr;
  if (op == "div" && (type == "f32" || type == "f64"))
    return has("rn") ? of_floats<2>(type, [](auto a, auto b) { return a / b; }) : nullptr;
  if (op == "div")
    return of_integers<2>(
        type, [](auto a, auto b) { return static_cast<decltype(a)>(b == 0 ? ~decltype(a){0} : a / b); });
  if (op == "rem")
    return of_integers<2>(type, [](auto a, auto b) { return static_cast<decltype(a)>(b == 0 ? a : a % b); });
  if (op == "neg")
    return of_numbers<1>(type, [](auto a) {
      if constexpr (std::floating_point<decltype(a)>)
        return -a;
      else
        return wrapping(decltype(a){0}, a, [](auto x, auto y) { return x - y; });
    });
  if (op == "min" || op == "max") {
    if (type == "f32" || type == "f64")
      return has("NaN")
                 ? (op == "max" ? of_floats<2>(type, [](auto a, auto b) { return extreme<true>(a, b); })
                                : of_floats<2>(type, [](auto a, auto b) { return extreme<false>(a, b); }))
             : op == "min" ? of_floats<2>(type, [](auto a, auto b) { return std::fmin(a, b); })
                           : of_floats<2>(type, [](auto a, auto b) { return std::fmax(a, b); });
    return op == "min" ? of_integers<2>(type, [](auto a, auto b) { return std::min(a, b); })
                       : of_integers<2>(type, [](auto a, auto b) { return std::max(a, b); });
  }
  if (op == "sqrt" && has("rn")) return of_floats<1>(type, [](auto a) { return std::sqrt(a); });
  if (op == "rcp" && has("rn")) return of_floats<1>(type, [](auto a) { return 1 / a; });
  if (op == "rcp" && has("approx") && has("ftz"))
    return of_floats<1>(type, [](auto a) { return flushed(1 / flushed(a)); });
  if (op == "rsqrt" && has("approx") && p.size() == 3)
    return of_floats<1>(
        type, [](auto a) { return static_cast<decltype(a)>(1 / std::sqrt(static_cast<double>(a))); });
  if (op == "abs" && p.size() == 2 && type[0] == 'f')
    return of_floats<1>(type, [](auto a) { return std::fabs(a); });
  if (op == "abs" && type[0] == 's')
    return of_integers<1>(type, [](auto a) {
      using T = decltype(a);
      if constexpr (std::is_signed_v<T>)
        return a < 0 ? wrapping(T{0}, a, [](auto x, auto y) { return x - y; }) : a;
      else
        return a;
    });
  if (op == "copysign") return of_floats<2>(type, [](auto a, auto b) { return std::copysign(b, a); });
  if (op == "ex2" && has("ftz"))
    return of_floats<1>(type, [](auto a) { return flushed(std::exp2(flushed(a))); });
  if (op == "ex2") return of_floats<1>(type, [](auto a) { return std::exp2(a); });
  if (has("ftz")) return nullptr;
  if (op == "setp") return p.size() == 3 && i.x[3] < 0 ? comparison(p[1], p[2]) : nullptr;
  if (op == "selp") return &select;
  return nullptr;
}

/// dp4a of bytes, dp2a of `a`'s halves and the lower or upper two bytes of `b`: c with the products of what
/// they hold.
template <class A, class B, bool Upper>
struct products_added {
  u32 operator()(u32 a, u32 b, u32 c) const {
    if (Upper) b >>= 16;
    for (unsigned n = 0; n < 4 / sizeof(A); ++n)
      c += static_cast<u32>(static_cast<A>(a >> n * 8 * sizeof(A)) * static_cast<B>(b >> n * 8));
    return c;
  }
};
template <class A, bool Upper>
handler of_packed(std::string_view b) {
  if (b == "u32") return &map_lanes<u32, 3, products_added<A, std::uint8_t, Upper>>;
  return &map_lanes<u32, 3, products_added<A, std::int8_t, Upper>>;
}
template <class Unsigned, bool Upper = false>
handler of_packed(std::string_view a, std::string_view b) {
  if (a == "u32") return of_packed<Unsigned, Upper>(b);
  return of_packed<std::make_signed_t<Unsigned>, Upper>(b);
}

handler bits(std::span<const std::string_view> p) {
  const std::string_view op = p[0], type = p.back();
  if (op == "and") return &map_lanes<u64, 2, decltype([](u64 a, u64 b) { return a & b; })>;
  if (op == "or") return &map_lanes<u64, 2, decltype([](u64 a, u64 b) { return a | b; })>;
  if (op == "xor") return &map_lanes<u64, 2, decltype([](u64 a, u64 b) { return a ^ b; })>;
  if (op == "not" && type == "pred") return &map_lanes<u64, 1, decltype([](u64 a) { return (a & 1) ^ 1; })>;
  if (op == "not") return of_integers<1>(type, [](auto a) { return static_cast<decltype(a)>(~a); });
  // By more than there are bits is by as many; the amount is a u32, whatever is shifted.
  if (op == "shl")
    return of_integers<2>(type, [](auto a, auto b) {
      using T = decltype(a);
      const auto by = static_cast<u32>(b);
      return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(static_cast<u64>(a) << by);
    });
  if (op == "shr")
    return of_integers<2>(type, [](auto a, auto b) {
      using T = decltype(a);
      const auto by = static_cast<u32>(b);
      constexpr auto most = static_cast<u32>(8 * sizeof(T) - 1);
      if constexpr (std::is_signed_v<T>) return static_cast<T>(a >> std::min(by, most));
      return by > most ? T{0} : static_cast<T>(a >> by);
    });
  if (op == "prmt") return &permute;
  if (op == "bfi")
    return of_type(type, []<class T>() -> handler {
      if constexpr (std::unsigned_integral<T>) return &insert_bits<T>;
      return nullptr;
    });
  if (op == "bfe")  // `length` bits of `a` from `at` on, the last of them where `a` has none
    return of_integers<3>(type, [](auto a, auto at, auto length) {
      using T = decltype(a);
      constexpr u32 width = 8 * sizeof(T);
      const u32 from = static_cast<u32>(at) & 255, n = static_cast<u32>(length) & 255;
      const auto bit = [a](u32 k) { return (a >> k & 1) != 0; };
      const bool sign = std::is_signed_v<T> && n != 0 && bit(std::min(from + n, width) - 1);
      std::make_unsigned_t<T> x = 0;
      for (u32 k = 0; k < width; ++k)
        if (k < n && from + k < width ? bit(from + k) : sign) x |= std::make_unsigned_t<T>{1} << k;
      return static_cast<T>(x);
    });
  if (op == "popc" && type == "b32")
    return &map_lanes<u32, 1, decltype([](u32 a) { return static_cast<u32>(std::popcount(a)); })>;
  if (op == "clz" && type == "b32")
    return &map_lanes<u32, 1, decltype([](u32 a) { return static_cast<u32>(std::countl_zero(a)); })>;
  if (op == "bmsk" && p[1] == "clamp")  // `b` ones from bit `a` on
    return &map_lanes<u32, 2, decltype([](u32 a, u32 b) {
                        const u64 ones = b >= 32 ? 0xffffffffull : (1ull << b) - 1;
                        return a >= 32 ? 0u : static_cast<u32>(ones << a);
                      })>;
  if (op == "dp4a") return of_packed<std::uint8_t>(p[1], p[2]);
  if (op == "dp2a")
    return p[1] == "hi" ? of_packed<std::uint16_t, true>(p[2], p[3]) : of_packed<std::uint16_t>(p[2], p[3]);
  return nullptr;
}

handler moves(std::span<const std::string_view> p, const instruction& i) {
  const std::string_view op = p[0], type = p.back();
  if (op == "cvta") return &map_lanes<u64, 1, decltype([](u64 a) { return a; })>;
  if (op == "mov" && i.count == 2) {
    const bool splits = i.text.find('{') < i.text.find(',');
    if (type == "b32") return splits ? &split<u16> : &join<u16>;
    if (type == "b64") return splits ? &split<u32> : &join<u32>;
    return nullptr;
  }
  if (op == "mov") return &map_lanes<u64, 1, decltype([](u64 a) { return a; })>;
  if (op != "cvt" || p.size() < 3 || p.size() > 4) return nullptr;
  const std::string_view to = p[p.size() - 2], how = p.size() == 4 ? p[1] : "";
  if (to == "bf16x2") return how == "rn" && type == "f32" ? &pack<dtype::bf16> : nullptr;
  if (to == "f16x2") return how == "rn" && type == "f32" ? &pack<dtype::f16> : nullptr;
  if (how == "sat" && to == "f32" && type == "f32")  // NaN is 0
    return &map_lanes<float, 1, decltype([](float a) { return a > 0 ? std::fmin(a, 1.0f) : 0.0f; })>;
  if (type == "f16" && to == "f32" && how.empty())
    return &map_lanes<u16, 1, decltype([](u16 a) { return static_cast<float>(std::bit_cast<f16>(a)); })>;
  return conversion(to, type, how);
}

}  // namespace

handler arithmetic(std::span<const std::string_view> p, const instruction& i) {
  handler found = moves(p, i);
  if (found == nullptr) found = bits(p);
  if (found == nullptr) found = numbers(p, i);
  return found;
}

}  // namespace napkin::testing::ptx
