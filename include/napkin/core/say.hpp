// How a rule (core/rules.hpp) says its sentence, by compiler. Each prints one static_assert in its own way;
// the three ways here give on all of them one error that holds the sentence, the facts above it or beside it,
// and the user's own line next (scripts/mistakes.sh measures it). A header of its own because of the pragma:
// g++ then does not explain how the macro was expanded.
#pragma once
#pragma GCC system_header

#include <type_traits>

namespace napkin {

struct failed;

/// False, in a way that depends on the facts.
template <class... Facts>
inline constexpr bool no = false;

/// The facts, as clang prints them. Declared only.
template <class... Facts>
struct because;

namespace rule {
/// What raise() gives.
using refusal = failed;
}  // namespace rule

}  // namespace napkin

// Stands in a class template of Facts, before `auto raise() { return refusal{}; }`.
#if defined(__clang__)
// An error where raise() is called: in a static_assert it would be here, and two steps from the user's line,
// for which clang takes three lines each.
#define NAPKIN_SAYS(sentence)                 \
  template <class Reason = because<Facts...>> \
  __attribute__((unavailable(sentence))) static constexpr
#elif defined(__CUDACC__)
// An error where the result is destroyed, which is the user's line, however deep raise() was called: nvcc
// prints facts and line as one then.
#define NAPKIN_SAYS(sentence)                                       \
  struct refusal : failed {                                         \
    constexpr refusal() = default;                                  \
    constexpr ~refusal() { static_assert(no<Facts...>, sentence); } \
  };                                                                \
  static constexpr
#else
#define NAPKIN_SAYS(sentence)            \
  static_assert(no<Facts...>, sentence); \
  static constexpr
#endif
