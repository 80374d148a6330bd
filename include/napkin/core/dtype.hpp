// The element types of tensors: as C++ types, as values of an enumeration, and the way from one to the
// other. A closed list; there is no promotion between them, a cast is asked for.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "napkin/core/error.hpp"
#include "napkin/core/finfo.hpp"
#include "napkin/core/small_float.hpp"

namespace napkin {

// Stands before the aliases of the same names: after them, g++ -Wshadow warns of each enumerator.
enum class dtype : unsigned char {
  f64,
  f32,
  f16,
  bf16,
  f8e4m3,
  f8e5m2,
  c128,
  c64,
  i64,
  i32,
  i16,
  i8,
  u32,
  u16,
  u8,
  b8
};

/// What a unit of a device multiplies, and what it adds up in. tf32 is f32 of which it reads 19 bits.
enum class arithmetic : unsigned char { none, f64, f32, tf32, bf16, f16, f8 };

using f64 = double;
using f32 = float;
using i64 = std::int64_t;
using i32 = std::int32_t;
using i16 = std::int16_t;
using i8 = std::int8_t;
using u32 = std::uint32_t;
using u16 = std::uint16_t;
using u8 = std::uint8_t;

/// A truth value in one byte. Any byte but 0 counts as true, so that one read from a file is never undefined
/// behaviour, as it would be in a bool.
struct b8 {
  u8 bits;

  b8() = default;
  template <class T>
  requires(std::is_arithmetic_v<T> || SmallFloat<T>) explicit(!std::same_as<T, bool>) constexpr b8(T value)
      : bits(static_cast<bool>(value)) {}
  constexpr operator bool() const { return bits != 0; }
};

/// Complex numbers, stored and annotated only: no operation takes them.
struct c128 {
  f64 real, imag;
  constexpr bool operator==(const c128&) const = default;
};
struct c64 {
  f32 real, imag;
  constexpr bool operator==(const c64&) const = default;
};

namespace detail {

// Not std::tuple, which compilers make whole where they look for functions beside it.
template <class... Ts>
struct type_list {
  static constexpr std::size_t size = sizeof...(Ts);
  using tuple = std::tuple<Ts...>;
};
using listed_types =
    type_list<f64, f32, f16, bf16, f8e4m3, f8e5m2, c128, c64, i64, i32, i16, i8, u32, u16, u8, b8>;

template <std::size_t I, class T>
struct type_at_place {
  using type = T;
};
template <class Places, class Types>
struct type_places;
template <std::size_t... I, class... Ts>
struct type_places<std::index_sequence<I...>, type_list<Ts...>> : type_at_place<I, Ts>... {};
template <std::size_t I, class T>
type_at_place<I, T> find_type(const type_at_place<I, T>&);

enum class dtype_kind : unsigned char { floating, complex, integer, boolean };

struct dtype_row {
  dtype type;
  std::string_view name;
  std::string_view safetensors;
  std::size_t bytes;
  dtype_kind kind;
  dtype accumulator;
};

inline constexpr std::array<dtype_row, 16> dtype_table{{
    {dtype::f64, "f64", "F64", 8, dtype_kind::floating, dtype::f64},
    {dtype::f32, "f32", "F32", 4, dtype_kind::floating, dtype::f32},
    {dtype::f16, "f16", "F16", 2, dtype_kind::floating, dtype::f32},
    {dtype::bf16, "bf16", "BF16", 2, dtype_kind::floating, dtype::f32},
    {dtype::f8e4m3, "f8e4m3", "F8_E4M3", 1, dtype_kind::floating, dtype::f32},
    {dtype::f8e5m2, "f8e5m2", "F8_E5M2", 1, dtype_kind::floating, dtype::f32},
    {dtype::c128, "c128", "", 16, dtype_kind::complex, dtype::c128},
    {dtype::c64, "c64", "C64", 8, dtype_kind::complex, dtype::c64},
    {dtype::i64, "i64", "I64", 8, dtype_kind::integer, dtype::i64},
    {dtype::i32, "i32", "I32", 4, dtype_kind::integer, dtype::i64},
    {dtype::i16, "i16", "I16", 2, dtype_kind::integer, dtype::i64},
    {dtype::i8, "i8", "I8", 1, dtype_kind::integer, dtype::i64},
    {dtype::u32, "u32", "U32", 4, dtype_kind::integer, dtype::i64},
    {dtype::u16, "u16", "U16", 2, dtype_kind::integer, dtype::i64},
    {dtype::u8, "u8", "U8", 1, dtype_kind::integer, dtype::i64},
    {dtype::b8, "b8", "BOOL", 1, dtype_kind::boolean, dtype::i64},
}};

constexpr const dtype_row& row(dtype type) { return dtype_table[static_cast<std::size_t>(type)]; }

// The place of T in the list; its length where T is not in it.
template <class T, class... Ts>
constexpr std::size_t place_of(type_list<Ts...>) {
  std::size_t place = 0;
  (void)((std::same_as<T, Ts> || (++place, false)) || ...);
  return place;
}
template <class T>
inline constexpr std::size_t place = place_of<T>(listed_types{});

}  // namespace detail

/// In the order of `dtype`. Between any two that are not complex, `static_cast` converts as C++ does between
/// numbers.
using element_types = detail::listed_types::tuple;

/// Every dtype, in order.
inline constexpr auto all_dtypes = [] {
  std::array<dtype, detail::dtype_table.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<dtype>(i);
  return all;
}();

/// Bytes of one element.
constexpr std::size_t size_of(dtype type) { return detail::row(type).bytes; }
/// As in C++: "f32".
constexpr std::string_view name_of(dtype type) { return detail::row(type).name; }
/// As in the header of a safetensors file: "F32"; empty for c128, which the format does not have.
constexpr std::string_view safetensors_name(dtype type) { return detail::row(type).safetensors; }
/// Real floating point, of any width.
constexpr bool is_floating(dtype type) { return detail::row(type).kind == detail::dtype_kind::floating; }
/// Floating point of 16 or 8 bits.
constexpr bool is_small_float(dtype type) { return is_floating(type) && size_of(type) <= 2; }
constexpr bool is_8_bit_float(dtype type) { return is_floating(type) && size_of(type) == 1; }
/// Signed or unsigned; not b8.
constexpr bool is_integer(dtype type) { return detail::row(type).kind == detail::dtype_kind::integer; }
constexpr bool is_complex(dtype type) { return detail::row(type).kind == detail::dtype_kind::complex; }
/// Of an unsigned integer the signed one of its size, else the type itself: sums and products that wrap
/// around have the same bits in both.
constexpr dtype signed_of(dtype type) {
  switch (type) {
    case dtype::u32:
      return dtype::i32;
    case dtype::u16:
      return dtype::i16;
    case dtype::u8:
      return dtype::i8;
    default:
      return type;
  }
}
/// What sums are kept in: f32 for the 16- and 8-bit floats, i64 for integers and b8, else the type itself.
constexpr dtype accumulator_of(dtype type) { return detail::row(type).accumulator; }

template <class T>
concept ElementType = detail::place<T> < detail::listed_types::size;

template <ElementType T>
inline constexpr dtype dtype_of = static_cast<dtype>(detail::place<T>);

template <dtype D>
using type_of = typename decltype(detail::find_type<static_cast<std::size_t>(D)>(
    detail::type_places<std::make_index_sequence<detail::listed_types::size>, detail::listed_types>{}))::type;

template <ElementType T>
using accumulator_type = type_of<accumulator_of(dtype_of<T>)>;

/// Call `f(std::type_identity<T>{})` with the type that `type` names, and return what it returns, which must
/// be of one type for all.
template <class F>
constexpr decltype(auto) dispatch(dtype type, F&& f) {
  switch (type) {
    case dtype::f64:
      return f(std::type_identity<f64>{});
    case dtype::f32:
      return f(std::type_identity<f32>{});
    case dtype::f16:
      return f(std::type_identity<f16>{});
    case dtype::bf16:
      return f(std::type_identity<bf16>{});
    case dtype::f8e4m3:
      return f(std::type_identity<f8e4m3>{});
    case dtype::f8e5m2:
      return f(std::type_identity<f8e5m2>{});
    case dtype::c128:
      return f(std::type_identity<c128>{});
    case dtype::c64:
      return f(std::type_identity<c64>{});
    case dtype::i64:
      return f(std::type_identity<i64>{});
    case dtype::i32:
      return f(std::type_identity<i32>{});
    case dtype::i16:
      return f(std::type_identity<i16>{});
    case dtype::i8:
      return f(std::type_identity<i8>{});
    case dtype::u32:
      return f(std::type_identity<u32>{});
    case dtype::u16:
      return f(std::type_identity<u16>{});
    case dtype::u8:
      return f(std::type_identity<u8>{});
    case dtype::b8:
      return f(std::type_identity<b8>{});
  }
  throw error("dispatch: the value is none of the enumerators of napkin::dtype");
}

}  // namespace napkin
