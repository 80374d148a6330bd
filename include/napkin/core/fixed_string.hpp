// A string that may stand in a template argument list: names of axes, patterns.
#pragma once

#include <cstddef>
#include <string_view>
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

}  // namespace napkin
