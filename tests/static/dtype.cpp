// Element types and their published constants, in the compiler.
#include "napkin/core/dtype.hpp"

#include <bit>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

namespace nk = napkin;
using nk::dtype;

namespace {

// The list, the enumeration and the table say the same.
template <std::size_t... I>
constexpr bool agree(std::index_sequence<I...>) {
  return ((nk::dtype_of<nk::type_of<dtype{I}>> == dtype{I}) && ...) &&
         ((nk::detail::row(dtype{I}).type == dtype{I}) && ...) &&
         ((nk::size_of(dtype{I}) == sizeof(nk::type_of<dtype{I}>)) && ...) &&
         ((nk::all_dtypes[I] == dtype{I}) && ...) &&
         ((nk::dispatch(dtype{I}, []<class T>(std::type_identity<T>) { return nk::dtype_of<T>; }) ==
           dtype{I}) &&
          ...) &&
         (std::is_trivially_copyable_v<nk::type_of<dtype{I}>> && ...) &&
         (std::is_trivially_default_constructible_v<nk::type_of<dtype{I}>> && ...) &&
         (std::is_standard_layout_v<nk::type_of<dtype{I}>> && ...);
}
static_assert(std::tuple_size_v<nk::element_types> == 16 && nk::all_dtypes.size() == 16);
static_assert(static_cast<int>(dtype::b8) == 15);
static_assert(agree(std::make_index_sequence<16>{}));

static_assert(nk::dtype_of<double> == dtype::f64 && nk::dtype_of<nk::bf16> == dtype::bf16);
static_assert(std::is_same_v<nk::type_of<dtype::u16>, std::uint16_t>);
static_assert(nk::ElementType<nk::f8e5m2> && nk::ElementType<nk::b8> && nk::ElementType<nk::c64>);
static_assert(!nk::ElementType<bool> && !nk::ElementType<std::uint64_t> && !nk::ElementType<const float> &&
              !nk::ElementType<long double> && !nk::ElementType<void>);

static_assert(nk::signed_of(dtype::u32) == dtype::i32 && nk::signed_of(dtype::u16) == dtype::i16 &&
              nk::signed_of(dtype::u8) == dtype::i8 && nk::signed_of(dtype::i64) == dtype::i64 &&
              nk::signed_of(dtype::f8e4m3) == dtype::f8e4m3 && nk::signed_of(dtype::b8) == dtype::b8);

static_assert(nk::name_of(dtype::f8e4m3) == "f8e4m3" && nk::name_of(dtype::i64) == "i64");
static_assert(nk::safetensors_name(dtype::f32) == "F32" && nk::safetensors_name(dtype::bf16) == "BF16");
static_assert(nk::safetensors_name(dtype::f8e4m3) == "F8_E4M3" && nk::safetensors_name(dtype::b8) == "BOOL");
static_assert(nk::safetensors_name(dtype::c128).empty());
static_assert(nk::is_floating(dtype::f64) && nk::is_floating(dtype::f8e5m2) && !nk::is_floating(dtype::c64));
static_assert(nk::is_small_float(dtype::f16) && nk::is_small_float(dtype::f8e4m3) &&
              !nk::is_small_float(dtype::f32) && !nk::is_small_float(dtype::i8));
static_assert(nk::is_integer(dtype::i64) && nk::is_integer(dtype::u8) && !nk::is_integer(dtype::b8));
static_assert(nk::is_complex(dtype::c64) && nk::is_complex(dtype::c128) && !nk::is_complex(dtype::f32));
static_assert(nk::accumulator_of(dtype::bf16) == dtype::f32 && nk::accumulator_of(dtype::f64) == dtype::f64);
static_assert(nk::accumulator_of(dtype::u8) == dtype::i64 && nk::accumulator_of(dtype::b8) == dtype::i64);
static_assert(std::is_same_v<nk::accumulator_type<nk::f8e4m3>, float>);

// Nothing converts by itself, except between b8 and bool.
static_assert(!std::is_convertible_v<float, nk::bf16> && !std::is_convertible_v<nk::bf16, float>);
static_assert(!std::is_convertible_v<nk::f16, nk::bf16> && std::is_constructible_v<nk::f16, nk::bf16>);
static_assert(std::is_convertible_v<bool, nk::b8> && std::is_convertible_v<nk::b8, bool>);
static_assert(!std::is_convertible_v<int, nk::b8> && !std::is_convertible_v<float, nk::b8>);
static_assert(!std::is_same_v<nk::b8, bool> && !std::is_same_v<nk::b8, nk::u8>);
static_assert(!std::is_constructible_v<nk::f16, const char*> && !std::is_constructible_v<nk::b8, void*>);

// One and zero survive a cast between any two types that are not complex.
template <dtype From, dtype To>
constexpr bool casts() {
  if constexpr (nk::is_complex(From) || nk::is_complex(To)) {
    return true;
  } else {
    using from = nk::type_of<From>;
    using to = nk::type_of<To>;
    return static_cast<to>(static_cast<from>(1)) == static_cast<to>(1) &&
           static_cast<to>(static_cast<from>(0)) == static_cast<to>(0) &&
           static_cast<to>(1) != static_cast<to>(0);
  }
}
template <std::size_t... I>
constexpr bool all_cast(std::index_sequence<I...>) {
  return (casts<dtype{I / 16}, dtype{I % 16}>() && ...);
}
static_assert(all_cast(std::make_index_sequence<256>{}));
static_assert(static_cast<int>(nk::bf16(-3.75)) == -3);
static_assert(nk::b8(0.5f) && !nk::b8(-0.0) && nk::b8(nk::f16(1e-7)) && std::bit_cast<nk::b8>(nk::u8{2}));

// Published constants: CS336 (2025) lecture 2; OCP 8-bit Floating Point Specification 1.0, table 2.
static_assert(double(nk::bf16(1e-8)) == 1.0011717677116394e-08);
static_assert(nk::f16(1e-8) == nk::f16(0) && nk::f16(1e-8).bits == 0);

using nk::finfo;
static_assert(finfo<nk::f32>::max == double(3.40282347e38f) && finfo<nk::f32>::epsilon == 0x1p-23);
static_assert(finfo<nk::f32>::min_normal == 0x1p-126 && finfo<nk::f32>::smallest_subnormal == 0x1p-149);
static_assert(finfo<nk::f32>::bits == 32 && finfo<nk::f32>::mantissa_bits == 23 &&
              finfo<nk::f32>::exponent_bits == 8);
static_assert(finfo<nk::f64>::max == std::numeric_limits<double>::max());
static_assert(finfo<nk::f64>::mantissa_bits == 52 && finfo<nk::f64>::exponent_bits == 11);
static_assert(finfo<nk::f16>::max == 65504 && finfo<nk::f16>::epsilon == 0x1p-10 &&
              finfo<nk::f16>::min_normal == 0x1p-14 && finfo<nk::f16>::smallest_subnormal == 0x1p-24);
static_assert(finfo<nk::bf16>::max == 0x1.fep127 && finfo<nk::bf16>::epsilon == 0x1p-7 &&
              finfo<nk::bf16>::min_normal == 0x1p-126 && finfo<nk::bf16>::smallest_subnormal == 0x1p-133);
static_assert(finfo<nk::f8e4m3>::max == 448 && finfo<nk::f8e4m3>::epsilon == 0x1p-3 &&
              finfo<nk::f8e4m3>::min_normal == 0x1p-6 && finfo<nk::f8e4m3>::smallest_subnormal == 0x1p-9);
static_assert(finfo<nk::f8e5m2>::max == 57344 && finfo<nk::f8e5m2>::epsilon == 0x1p-2 &&
              finfo<nk::f8e5m2>::min_normal == 0x1p-14 && finfo<nk::f8e5m2>::smallest_subnormal == 0x1p-16);
static_assert(finfo<nk::bf16>::bits == 16 && finfo<nk::bf16>::mantissa_bits == 7 &&
              finfo<nk::bf16>::exponent_bits == 8 && finfo<nk::f8e4m3>::bits == 8);
static_assert(nk::iinfo<nk::i8>::min == -128 && nk::iinfo<nk::i8>::max == 127);
static_assert(nk::iinfo<nk::u32>::min == 0 && nk::iinfo<nk::u32>::max == 4294967295 &&
              nk::iinfo<nk::u32>::bits == 32);
static_assert(nk::iinfo<nk::i64>::max == std::numeric_limits<std::int64_t>::max());

// Rounding, overflow, infinities and NaN in constant evaluation.
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
static_assert(nk::bf16(1.00390625f).bits == 0x3f80 && nk::bf16(1.01171875f).bits == 0x3f82);  // ties
static_assert(nk::bf16(1.00390625 + 1e-12).bits == 0x3f81);  // by way of float it would be a tie
static_assert(nk::f16(65519.999).bits == 0x7bff && nk::f16(65520.0).bits == 0x7c00);
static_assert(nk::f16(-infinity).bits == 0xfc00 && nk::f16(-0.0f).bits == 0x8000);
static_assert(nk::f16(0x1p-25).bits == 0 && nk::f16(0x1.8p-24).bits == 2);
static_assert(nk::f8e4m3(464.0).bits == 0x7e && nk::f8e4m3(464.001).bits == 0x7f);
static_assert(nk::f8e4m3(-infinity).bits == 0xff && nk::f8e4m3(nan).bits == 0x7f);
static_assert(nk::f8e5m2(61439.0f).bits == 0x7b && nk::f8e5m2(61440.0f).bits == 0x7c);
static_assert(nk::f16(nan).bits == 0x7e00 && nk::bf16(nan).bits == 0x7fc0 && nk::f8e5m2(nan).bits == 0x7e);
static_assert(nk::f16(nan) != nk::f16(nan) && nk::f16(-0.0) == nk::f16(0.0));
static_assert(double(std::bit_cast<nk::f16>(nk::u16{0x7c00})) == infinity);
static_assert(nk::f16(2049).bits == nk::f16(2048).bits && nk::f16(70000).bits == 0x7c00);

// A 64-bit integer is rounded once: this one is above a tie by less than a double can tell.
constexpr std::int64_t tie = (std::int64_t{1} << 62) + (std::int64_t{1} << 54);
static_assert(nk::bf16(tie).bits == 0x5e80 && nk::bf16(tie + 1).bits == 0x5e81);
static_assert(nk::bf16(-tie - 1).bits == 0xde81 && nk::bf16(-tie + 1).bits == 0xde80);
static_assert(nk::bf16(std::numeric_limits<std::uint64_t>::max()).bits == 0x5f80);
static_assert(nk::bf16(std::numeric_limits<std::int64_t>::min()).bits == 0xdf00);

}  // namespace
