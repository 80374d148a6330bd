// How instructions read and write the lanes of a warp: values of PTX's types in registers, functions of them.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "emulated/warp.hpp"

namespace napkin::testing::ptx {

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

}  // namespace napkin::testing::ptx
