#include "emulated/instructions.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "emulated/machine.hpp"
#include "napkin/core/dtype.hpp"

namespace napkin::testing::ptx {
namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;

// Registers hold a value's bits in their lowest ones, sign-extended where its type has a sign.
template <class T>
T get(u64 bits) {
  if constexpr (std::floating_point<T>)
    return std::bit_cast<T>(static_cast<std::conditional_t<sizeof(T) == 4, u32, u64>>(bits));
  else
    return static_cast<T>(bits);
}
template <class T>
u64 bits_of(T x) {
  if constexpr (std::same_as<T, bool>)
    return x;
  else if constexpr (std::floating_point<T>)
    return std::bit_cast<std::conditional_t<sizeof(T) == 4, u32, u64>>(x);
  else if constexpr (std::signed_integral<T>)
    return static_cast<u64>(static_cast<s64>(x));
  else
    return static_cast<u64>(x);
}

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

/// f.operator()<T>() for the type that a part names; null for another.
template <class F>
handler of_type(std::string_view type, F f) {
  if (type == "u8") return f.template operator()<u8>();
  if (type == "s8") return f.template operator()<s8>();
  if (type == "u16" || type == "b16") return f.template operator()<u16>();
  if (type == "s16") return f.template operator()<s16>();
  if (type == "u32" || type == "b32") return f.template operator()<u32>();
  if (type == "s32") return f.template operator()<s32>();
  if (type == "u64" || type == "b64") return f.template operator()<u64>();
  if (type == "s64") return f.template operator()<s64>();
  if (type == "f32") return f.template operator()<float>();
  if (type == "f64") return f.template operator()<double>();
  return nullptr;
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
template <class F>
handler of_predicates(F) {
  return &map_lanes<u64, 2, F>;
}

/// Subnormal numbers are zero to what says ftz.
template <class T>
T flushed(T x) {
  return std::fabs(x) < std::numeric_limits<T>::min() ? std::copysign(T{0}, x) : x;
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
template <class T>
void multiply_add_wide(warp& w, const instruction& i) {
  using W = typename wider<T>::type;
  u64* const d = w.row(i.x[0]);
  const u64 *const a = w.row(i.x[1]), *const b = w.row(i.x[2]), *const c = w.row(i.x[3]);
  w.each_lane([&](unsigned l) {
    d[l] = bits_of(static_cast<W>(wrapping(static_cast<W>(product_wide{}(get<T>(a[l]), get<T>(b[l]))),
                                           get<W>(c[l]), [](auto x, auto y) { return x + y; })));
  });
}

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
  if (how == "num") return of_floats<2>(type, [](auto a, auto b) { return a == a && b == b; });
  if (how == "nan") return of_floats<2>(type, [](auto a, auto b) { return a != a || b != b; });
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

enum class rounding : u8 { nearest, to_zero, down, up };

template <class To, class From, rounding Way>
To converted(From x) {
  if constexpr (std::floating_point<From> && std::integral<To>) {
    if (x != x) return 0;
    const double r = Way == rounding::to_zero ? std::trunc(static_cast<double>(x))
                     : Way == rounding::down  ? std::floor(static_cast<double>(x))
                     : Way == rounding::up    ? std::ceil(static_cast<double>(x))
                                              : std::nearbyint(static_cast<double>(x));
    using limits = std::numeric_limits<To>;
    if (r <= static_cast<double>(limits::min())) return limits::min();
    if (r >= std::ldexp(1.0, limits::digits)) return limits::max();
    return static_cast<To>(r);
  } else {
    return static_cast<To>(x);
  }
}
template <class To, class From, rounding Way>
void convert(warp& w, const instruction& i) {
  map_lanes<From, 1, decltype([](From x) { return converted<To, From, Way>(x); })>(w, i);
}
handler conversion(std::string_view to, std::string_view from, rounding way) {
  return of_type(to, [&]<class To>() {
    return of_type(from, [&]<class From>() -> handler {
      switch (way) {
        case rounding::to_zero:
          return &convert<To, From, rounding::to_zero>;
        case rounding::down:
          return &convert<To, From, rounding::down>;
        case rounding::up:
          return &convert<To, From, rounding::up>;
        case rounding::nearest:
          break;
      }
      return &convert<To, From, rounding::nearest>;
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

// ---- memory

template <class T>
void load_parameter(warp& w, const instruction& i) {
  const u64* const at = w.row(i.x[i.count]);
  w.each_lane([&](unsigned l) {
    for (unsigned v = 0; v < i.count; ++v) {
      T x;
      std::memcpy(&x, w.of().parameter(at[l] + static_cast<u64>(i.offset) + v * sizeof(T), sizeof(T), i),
                  sizeof(T));
      w.row(i.x[v])[l] = bits_of(x);
    }
  });
}
template <space Where>
u64 address(u64 base, s64 offset) {
  const u64 at = base + static_cast<u64>(offset);
  return Where == space::shared ? at & 0xffffffff : at;
}
template <class T, space Where>
void load(warp& w, const instruction& i) {
  const u64* const base = w.row(i.x[i.count]);
  const std::size_t bytes = sizeof(T) * i.count;
  u64 at[warp_size];
  std::size_t n = 0;
  w.each_lane([&](unsigned l) {
    const u64 a = at[n++] = address<Where>(base[l], i.offset);
    T x[4];
    std::memcpy(x, w.of().touch(w, i, Where, a, bytes, l, false), bytes);
    for (unsigned v = 0; v < i.count; ++v) w.row(i.x[v])[l] = bits_of(x[v]);
  });
  w.of().count(Where, {at, n}, bytes, false);
}
template <class T, space Where>
void store(warp& w, const instruction& i) {
  const u64* const base = w.row(i.x[0]);
  const std::size_t bytes = sizeof(T) * i.count;
  u64 at[warp_size];
  std::size_t n = 0;
  w.each_lane([&](unsigned l) {
    const u64 a = at[n++] = address<Where>(base[l], i.offset);
    T x[4];
    for (unsigned v = 0; v < i.count; ++v) x[v] = get<T>(w.row(i.x[1 + v])[l]);
    std::memcpy(w.of().touch(w, i, Where, a, bytes, l, true), x, bytes);
  });
  w.of().count(Where, {at, n}, bytes, true);
}
template <class T, space Where, class F>
void atomic(warp& w, const instruction& i) {
  u64* const d = w.row(i.x[0]);
  const u64 *const base = w.row(i.x[1]), *const b = w.row(i.x[2]), *const c = i.x[3] >= 0 ? w.row(i.x[3]) : b;
  w.each_lane([&](unsigned l) {
    std::byte* const at =
        w.of().touch(w, i, Where, address<Where>(base[l], i.offset), sizeof(T), l, true, false);
    T old;
    std::memcpy(&old, at, sizeof(T));
    const T now = F{}(old, get<T>(b[l]), get<T>(c[l]));
    std::memcpy(at, &now, sizeof(T));
    d[l] = bits_of(old);
  });
}
template <space Where>
handler memory(std::string_view op, std::string_view type) {
  return of_type(type, [&]<class T>() -> handler {
    if (op == "ld") return &load<T, Where>;
    if (op == "st") return &store<T, Where>;
    return nullptr;
  });
}
template <space Where>
handler atomic_of(std::string_view op, std::string_view type) {
  return of_type(type, [&]<class T>() -> handler {
    if constexpr (std::integral<T> && sizeof(T) >= 4) {
      if (op == "add")
        return &atomic<T, Where, decltype([](T old, T b, T) { return static_cast<T>(old + b); })>;
      if (op == "cas") return &atomic<T, Where, decltype([](T old, T b, T c) { return old == b ? c : old; })>;
    }
    return nullptr;
  });
}

// cp.async.cg.shared.global [to], [from], 16, bytes: the others become zero. Lands when it is waited for.
void copy_async(warp& w, const instruction& i) {
  const u64 *const to = w.row(i.x[0]), *const from = w.row(i.x[1]), *const bytes = w.row(i.x[3]);
  w.each_lane([&](unsigned l) {
    const auto n = static_cast<u32>(bytes[l]);
    if (n != 0 && n != 16) w.of().fail(i, "copies part of 16 bytes");
    std::byte* const at = w.of().touch(w, i, space::shared, to[l] & 0xffffffff, 16, l, true);
    std::memset(at, 0x7f, 16);  // what is read before it is waited for
    if (n == 16) w.of().touch(w, i, space::global, from[l], 16, l, false);
    w.copies.push_back({l, to[l] & 0xffffffff, from[l], n});
  });
  u64 read_from[warp_size];
  std::size_t n = 0;
  w.each_lane([&](unsigned l) {
    if (static_cast<u32>(bytes[l]) == 16) read_from[n++] = from[l];
  });
  if (n > 0) w.of().count(space::global, {read_from, n}, 16, false);
}
void wait_async(warp& w, const instruction& i) {
  std::erase_if(w.copies, [&](const warp::copy& c) {
    if ((w.mask() >> c.lane & 1) == 0) return false;
    std::byte* const at = w.of().touch(w, i, space::shared, c.to, 16, c.lane, true);
    if (c.bytes == 16)
      std::memcpy(at, reinterpret_cast<const void*>(c.from), 16);
    else
      std::memset(at, 0, 16);
    return true;
  });
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

// ---- collectives

enum class shuffled : u8 { butterfly, index, down, up };

/// shfl.sync d|p, a, b, c: c has the clamp, and the bits of a lane's number that its segment keeps.
template <shuffled How, bool Says>
void shuffle(warp& w, const instruction& i) {
  const std::int32_t* const x = i.x + (Says ? 2 : 1);
  const u64 *const a = w.row(x[0]), *const b = w.row(x[1]), *const c = w.row(x[2]);
  u64 out[warp_size], there[warp_size];
  w.each_lane([&](unsigned l) {
    const auto by = static_cast<unsigned>(b[l] & 31), clamp = static_cast<unsigned>(c[l] & 31),
               segment = static_cast<unsigned>(c[l] >> 8 & 31);
    const unsigned first = l & segment, last = first | (clamp & ~segment);
    unsigned j = How == shuffled::butterfly ? l ^ by
                 : How == shuffled::index   ? first | (by & ~segment)
                 : How == shuffled::down    ? l + by
                                            : l - by;
    there[l] = How == shuffled::up ? static_cast<int>(j) >= static_cast<int>(last) : j <= last;
    if (there[l] == 0) j = l;
    if ((w.mask() >> j & 1) == 0) w.of().fail(i, "asks a lane that takes no part");
    out[l] = a[j] & 0xffffffff;
  });
  w.each_lane([&](unsigned l) {
    w.row(i.x[0])[l] = out[l];
    if constexpr (Says) w.row(i.x[1])[l] = there[l];
  });
}
template <shuffled How>
handler shuffle_for(const instruction& i) {
  return i.text.find('|') != i.text.npos ? &shuffle<How, true> : &shuffle<How, false>;
}
void ballot(warp& w, const instruction& i) {
  const u32 yes = w.lanes_where(i.x[1]) & w.mask();
  w.each_lane([&](unsigned l) { w.row(i.x[0])[l] = yes; });
}
void meet_warp(warp& w, const instruction&) { ++w.epoch; }

// ldmatrix.sync.aligned.m8n8.x4: lanes 8 m to 8 m + 7 name the rows of matrix m. Lane l gets elements 2 * (l % 4)
// and the next of row l / 4; of a transposed one, of column l / 4.
template <bool Turned>
void load_matrices(warp& w, const instruction& i) {
  u64 at[warp_size];
  w.each_lane([&](unsigned l) { at[l] = address<space::shared>(w.row(i.x[4])[l], i.offset); });
  for (unsigned m = 0; m < 4; ++m) {
    u16 matrix[8][8];
    // Whoever names a row is said to read it: the other lanes are of the same warp.
    for (unsigned r = 0; r < 8; ++r)
      std::memcpy(matrix[r], w.of().touch(w, i, space::shared, at[8 * m + r], 16, 8 * m + r, false), 16);
    w.each_lane([&](unsigned l) {
      const unsigned r = l / 4, c = 2 * (l % 4);
      const u32 low = Turned ? matrix[c][r] : matrix[r][c],
                high = Turned ? matrix[c + 1][r] : matrix[r][c + 1];
      w.row(i.x[m])[l] = high << 16 | low;
    });
  }
  w.of().count(space::shared, at, 16, false);
}

// mma.sync.aligned.m16n8k16.row.col.f32: with g = lane / 4 and t = lane % 4, register a[i] holds row g + 8 * (i % 2),
// columns 2 t + 8 * (i / 2) and the next; b[i] rows 2 t + 8 i and the next of column g; c[i] row g + 8 * (i / 2),
// column 2 t + i % 2.
template <dtype Half>
void multiply_matrices(warp& w, const instruction& i) {
  const auto half = [](u64 word, unsigned which) {
    return static_cast<float>(std::bit_cast<type_of<Half>>(static_cast<u16>(word >> (16 * which))));
  };
  float a[16][16], b[16][8];
  for (unsigned l = 0; l < warp_size; ++l) {
    const unsigned g = l / 4, t = l % 4;
    for (unsigned r = 0; r < 4; ++r)
      for (unsigned p = 0; p < 2; ++p)
        a[g + 8 * (r % 2)][2 * t + 8 * (r / 2) + p] = half(w.row(i.x[4 + r])[l], p);
    for (unsigned r = 0; r < 2; ++r)
      for (unsigned p = 0; p < 2; ++p) b[2 * t + 8 * r + p][g] = half(w.row(i.x[8 + r])[l], p);
  }
  for (unsigned l = 0; l < warp_size; ++l)
    for (unsigned r = 0; r < 4; ++r) {
      const unsigned row = l / 4 + 8 * (r / 2), column = l % 4 * 2 + r % 2;
      double sum = static_cast<double>(get<float>(w.row(i.x[10 + r])[l]));
      for (unsigned k = 0; k < 16; ++k)
        sum += static_cast<double>(a[row][k]) * static_cast<double>(b[k][column]);
      w.row(i.x[r])[l] = bits_of(static_cast<float>(sum));
    }
}

void nothing(warp&, const instruction&) {}

// ---- which is which

handler arithmetic(std::span<const std::string_view> p, const instruction& i) {
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
  if (op == "mad" && has("wide"))
    return of_type(type, []<class T>() -> handler {
      if constexpr (multiplied<T> && sizeof(T) < 8) return &multiply_add_wide<T>;
      return nullptr;
    });
  if (op == "fma") return of_floats<3>(type, [](auto a, auto b, auto c) { return std::fma(a, b, c); });
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
  if (op == "abs")
    return of_numbers<1>(type,
                         [](auto a) { return static_cast<decltype(a)>(a < 0 ? decltype(a){0} - a : a); });
  if (op == "min" || op == "max") {
    if (type == "f32" || type == "f64")
      return has("NaN")    ? nullptr
             : op == "min" ? of_floats<2>(type, [](auto a, auto b) { return std::fmin(a, b); })
                           : of_floats<2>(type, [](auto a, auto b) { return std::fmax(a, b); });
    return op == "min" ? of_integers<2>(type, [](auto a, auto b) { return std::min(a, b); })
                       : of_integers<2>(type, [](auto a, auto b) { return std::max(a, b); });
  }
  if (op == "sqrt" && has("rn")) return of_floats<1>(type, [](auto a) { return std::sqrt(a); });
  if (op == "rcp" && has("rn")) return of_floats<1>(type, [](auto a) { return 1 / a; });
  if (op == "ex2" && has("ftz"))
    return of_floats<1>(type, [](auto a) { return flushed(std::exp2(flushed(a))); });
  if (op == "ex2") return of_floats<1>(type, [](auto a) { return std::exp2(a); });
  if (op == "lg2" && has("ftz"))
    return of_floats<1>(type, [](auto a) { return flushed(std::log2(flushed(a))); });
  if (op == "lg2") return of_floats<1>(type, [](auto a) { return std::log2(a); });
  if (has("ftz")) return nullptr;
  if (op == "setp") return p.size() == 3 && i.x[3] < 0 ? comparison(p[1], p[2]) : nullptr;
  if (op == "selp") return &select;
  return nullptr;
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
  if (op == "popc" && type == "b32")
    return &map_lanes<u32, 1, decltype([](u32 a) { return static_cast<u32>(std::popcount(a)); })>;
  if (op == "clz" && type == "b32")
    return &map_lanes<u32, 1, decltype([](u32 a) { return static_cast<u32>(std::countl_zero(a)); })>;
  if (op == "bmsk" && p[1] == "clamp")  // `b` ones from bit `a` on
    return &map_lanes<u32, 2, decltype([](u32 a, u32 b) {
                        const u64 ones = b >= 32 ? 0xffffffffull : (1ull << b) - 1;
                        return a >= 32 ? 0u : static_cast<u32>(ones << a);
                      })>;
  if (op == "dp2a" && p[1] == "lo" && p[2] == "u32" && p[3] == "u32")
    return &map_lanes<u32, 3, decltype([](u32 a, u32 b, u32 c) {
                        return c + (a & 0xffff) * (b & 0xff) + (a >> 16) * (b >> 8 & 0xff);
                      })>;
  return nullptr;
}

handler move(std::span<const std::string_view> p, const instruction& i) {
  const std::string_view op = p[0], type = p.back();
  if (op == "cvta") return &map_lanes<u64, 1, decltype([](u64 a) { return a; })>;
  if (op == "mov" && i.count == 2) {
    const bool splits = i.text.find('{') < i.text.find(',');
    if (type == "b32") return splits ? &split<u16> : &join<u16>;
    if (type == "b64") return splits ? &split<u32> : &join<u32>;
    return nullptr;
  }
  if (op == "mov") return &map_lanes<u64, 1, decltype([](u64 a) { return a; })>;
  if (op != "cvt") return nullptr;
  const std::string_view to = p[p.size() - 2];
  if (to == "bf16x2") return p[1] == "rn" && type == "f32" ? &pack<dtype::bf16> : nullptr;
  if (to == "f16x2") return p[1] == "rn" && type == "f32" ? &pack<dtype::f16> : nullptr;
  rounding way = rounding::nearest;
  if (p.size() == 4) {
    if (p[1] == "rzi")
      way = rounding::to_zero;
    else if (p[1] == "rmi")
      way = rounding::down;
    else if (p[1] == "rpi")
      way = rounding::up;
    else if (p[1] != "rn" && p[1] != "rni")
      return nullptr;
  } else if (p.size() != 3) {
    return nullptr;
  }
  return conversion(to, type, way);
}

handler of_memory(std::span<const std::string_view> p, instruction& i) {
  const std::string_view op = p[0], type = p.back();
  const auto has = [&](std::string_view part) { return std::find(p.begin(), p.end(), part) != p.end(); };
  i.is_volatile = has("volatile");
  if (op == "ld" && has("param"))
    return of_type(type, []<class T>() -> handler { return &load_parameter<T>; });
  if (op == "ld" || op == "st") {
    if (has("v2") != (i.count == 2) || has("v4") != (i.count == 4)) return nullptr;
    if (has("global")) return memory<space::global>(op, type);
    if (has("shared")) return memory<space::shared>(op, type);
    return nullptr;
  }
  if (op == "atom" && p.size() == 4) {
    if (p[1] == "global") return atomic_of<space::global>(p[2], type);
    if (p[1] == "shared") return atomic_of<space::shared>(p[2], type);
  }
  if (op == "cp" && p[1] == "async" && p.size() == 5 && p[2] == "cg") return &copy_async;
  if (op == "cp" && p[1] == "async" && p[2] == "wait_all") return &wait_async;
  if (op == "membar" || op == "fence") return &nothing;
  return nullptr;
}

handler collective(std::span<const std::string_view> p, instruction& i) {
  const std::string_view op = p[0];
  i.is_collective = true;
  const auto mask_at = [&] {  // the last operand
    std::int32_t last = -1;
    for (const std::int32_t x : i.x)
      if (x >= 0) last = x;
    return last;
  };
  if (op == "shfl" && p[1] == "sync") {
    i.mask = mask_at();
    return p[2] == "bfly"   ? shuffle_for<shuffled::butterfly>(i)
           : p[2] == "idx"  ? shuffle_for<shuffled::index>(i)
           : p[2] == "down" ? shuffle_for<shuffled::down>(i)
           : p[2] == "up"   ? shuffle_for<shuffled::up>(i)
                            : nullptr;
  }
  if (op == "vote" && (p[1] == "ballot" || p[2] == "ballot")) {
    i.mask = mask_at();
    return &ballot;
  }
  if (op == "bar" && p[1] == "warp") {
    i.mask = mask_at();
    return &meet_warp;
  }
  if (op == "ldmatrix" && i.count == 4 && p.back() == "b16" && p[3] == "m8n8" && p[4] == "x4")
    return p[5] == "trans" ? &load_matrices<true> : &load_matrices<false>;
  if (op == "mma" && p.size() == 10 && p[3] == "m16n8k16" && p[4] == "row" && p[5] == "col" && p[6] == "f32")
    return p[7] == "bf16"  ? &multiply_matrices<dtype::bf16>
           : p[7] == "f16" ? &multiply_matrices<dtype::f16>
                           : nullptr;
  i.is_collective = false;
  return nullptr;
}

}  // namespace

bool find(std::span<const std::string_view> p, instruction& i) {
  const bool has_list = p[0] == "ld" || p[0] == "ldmatrix" || p[0] == "mma" ||
                        (p[0] == "mov" && i.text.find('{') < i.text.find(','));
  i.writes = has_list ? i.count : 1;
  if (p[0] == "shfl" && i.text.find('|') != i.text.npos) i.writes = 2;
  if (p[0] == "st" || p[0] == "cp" || (p[0] == "bar" && p[1] != "red")) i.writes = 0;
  if (p[0] == "ret" || p[0] == "exit") {
    i.what = control::exit;
    return true;
  }
  if (p[0] == "bar" && p.size() == 2 && p[1] == "sync") {  // bar.sync 0: of all threads
    i.what = control::block_barrier;
    return i.x[1] < 0;
  }
  if (p[0] == "bar" && p.size() == 4 && p[1] == "red" && p[2] == "or") {  // bar.red.or.pred d, 0, p
    i.what = control::block_vote;
    i.x[1] = i.x[2];
    return true;
  }
  i.run = collective(p, i);
  if (i.run == nullptr) i.run = of_memory(p, i);
  if (i.run == nullptr) i.run = move(p, i);
  if (i.run == nullptr) i.run = bits(p);
  if (i.run == nullptr) i.run = arithmetic(p, i);
  return i.run != nullptr;
}

}  // namespace napkin::testing::ptx
