// How a rule (core/rules.hpp) says its sentence, by compiler. Each prints one static_assert in its own way;
// the ways here give on all of them one error that holds the sentence, the facts above it or beside it, and the
// user's own line next (scripts/mistakes.sh measures it). A header of its own because of the pragma: g++ then
// does not explain how the macros were expanded.
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

/// Where a rule is raised: raise() anywhere, raise(detail::by<Xs...>) by an operation on operands of these
/// types, which are traced in the body of a function that a user gave to fn, grad or a step.
struct anywhere {};
struct inside_function : anywhere {};

namespace detail {

/// Room for a T, without one.
template <class T>
union unmade {
  char none;
  T value;
  constexpr unmade() : none{} {}
  constexpr ~unmade() {}
};
template <class T>
inline constexpr unmade<T> unmade_of{};

}  // namespace detail
}  // namespace napkin

// What is asked where a function is called, of g++ alone: it compiles the body of a constexpr function only where
// a constant needs it, which may be far from the user's line, but its exception specification at the call.
#if defined(__clang__) || defined(__CUDACC__)
#define NAPKIN_ASKED_BY_GCC(question)
#else
#define NAPKIN_ASKED_BY_GCC(question) noexcept(question)
#endif

// A rule is a class template of Facts that holds
//   NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise, "the sentence");
// The condition and the word `raise` stand in the rule's own text because clang quotes them there, in three
// lines, and would take three more to say which macro they came from.
#if defined(__clang__)
// An error where raise() is called: in a static_assert it would be here, and two steps from the user's line, for
// which clang takes three lines each. Of traced operands it is a static_assert where the result is destroyed,
// which is the user's line too: inside a function the steps from there to the call are two more, and clang adds
// three lines to every use of what is unavailable. Not of others, whose results may be named in a decltype and
// never made. What raise() gives is therefore no temporary, or it would be destroyed by the door.
#define NAPKIN_UNLESS                    \
  struct refusal : failed {              \
    constexpr refusal() = default;       \
    constexpr refusal(const refusal&) {} \
    constexpr ~refusal() { static_assert(
#define NAPKIN_SAYS(function, sentence)                                                    \
  , sentence);                                                                             \
  }                                                                                        \
  }                                                                                        \
  ;                                                                                        \
  static constexpr const refusal& function(inside_function) {                              \
    return napkin::detail::unmade_of<refusal>.value;                                       \
  }                                                                                        \
  template <class Reason = because<Facts...>>                                              \
  __attribute__((unavailable(sentence))) static constexpr failed function(anywhere = {}) { \
    return {};                                                                             \
  }                                                                                        \
  using facts = because<Facts...>
#elif defined(__CUDACC__)
// An error where the result is destroyed, which is the user's line, however deep raise() was called: nvcc prints
// facts and line as one then.
#define NAPKIN_UNLESS              \
  struct refusal : failed {        \
    constexpr refusal() = default; \
    constexpr ~refusal() { static_assert(
#define NAPKIN_SAYS(function, sentence)                               \
  , sentence);                                                        \
  }                                                                   \
  }                                                                   \
  ;                                                                   \
  static constexpr auto function(anywhere = {}) { return refusal{}; } \
  using facts = because<Facts...>
#else
#define NAPKIN_UNLESS static_assert(
#define NAPKIN_SAYS(function, sentence)                              \
  , sentence);                                                       \
  static constexpr auto function(anywhere = {}) { return failed{}; } \
  using facts = because<Facts...>
#endif
