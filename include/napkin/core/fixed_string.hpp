// A string that may stand in a template argument list: names of axes, patterns.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

namespace napkin {

template <std::size_t N>
struct fixed_string {
  char text[N]{};

  // At once: by a loop the compilers would take a round for each letter of each pattern and each name.
  constexpr fixed_string(const char (&literal)[N]) : fixed_string(literal, std::make_index_sequence<N>{}) {}
  constexpr fixed_string() = default;

  static constexpr std::size_t size() { return N - 1; }
  constexpr std::string_view view() const { return {text, N - 1}; }
  constexpr operator std::string_view() const { return view(); }
  constexpr bool operator==(const fixed_string&) const = default;

 private:
  template <std::size_t... I>
  constexpr fixed_string(const char (&literal)[N], std::index_sequence<I...>) : text{literal[I]...} {}
};

template <std::size_t N, std::size_t M>
constexpr auto operator+(const fixed_string<N>& left, const fixed_string<M>& right) {
  fixed_string<N + M - 1> joined;
  for (std::size_t i = 0; i + 1 < N; ++i) joined.text[i] = left.text[i];
  for (std::size_t i = 0; i + 1 < M; ++i) joined.text[N - 1 + i] = right.text[i];
  return joined;
}

namespace detail {

// A type that a function's body names with a text of its own template's is, to nvcc, a type of an object, for
// which it hands the host's compiler a name that it declares nowhere, wherever a program names the type: in
// cost<decltype(y)>. One that comes out of a call that is not evaluated it spells.
template <template <fixed_string...> class Type, fixed_string... Texts>
constexpr auto find_spelled() {
  return std::type_identity<Type<Texts...>>{};
}
template <template <fixed_string, class...> class Type, fixed_string Text, class... Arguments>
constexpr auto find_spelled_with() {
  return std::type_identity<Type<Text, Arguments...>>{};
}
/// Type<Texts...>
template <template <fixed_string...> class Type, fixed_string... Texts>
using spelled = typename decltype(find_spelled<Type, Texts...>())::type;
/// Type<Text, Arguments...>
template <template <fixed_string, class...> class Type, fixed_string Text, class... Arguments>
using spelled_with = typename decltype(find_spelled_with<Type, Text, Arguments...>())::type;

}  // namespace detail

}  // namespace napkin
