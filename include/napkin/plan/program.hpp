// A kernel's program as a type made of enumerators and integers: what kernels are instantiated with, so that
// equal work shares one whatever model, layer or axis names it came from.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "napkin/plan/frozen.hpp"

namespace napkin::planning {

using passes::action;
using passes::pace;
using passes::place;

/// One step of a program as a type made of enumerators and integers (see passes::kernel_step).
template <action What, op Kind, dtype Type, place At, pace Along, int Phase, int A, int B, int C>
struct step {
  static constexpr action what = What;
  static constexpr op kind = Kind;
  static constexpr dtype type = Type;
  static constexpr place at = At;
  static constexpr pace along = Along;
  static constexpr int phase = Phase, a = A, b = B, c = C;
};

template <class... Steps>
struct program {};

namespace detail {

template <class S>
inline constexpr bool moves_data = S::what == action::load || S::what == action::store;
template <class S>
inline constexpr bool walks_memory = moves_data<S>&& S::along != pace::scratch;
/// Has a value at every position of a row.
template <class S>
inline constexpr bool has_lanes = S::at == place::element &&
                                  (S::what == action::load || S::what == action::iota ||
                                   S::what == action::compute);

template <class... Steps>
constexpr int phase_count() {
  int n = 1;
  ((n = Steps::phase + 1 > n ? Steps::phase + 1 : n), ...);
  return n;
}
template <class... Steps>
constexpr std::size_t access_count() {
  int n = 0;
  ((n = walks_memory<Steps> && Steps::a + 1 > n ? Steps::a + 1 : n), ...);
  return static_cast<std::size_t>(n);
}

}  // namespace detail

/// A frozen plan's programs alone: g++ takes time by the size of the constant that it reads from, and less
/// through pointers into it.
template <class Plan>
struct programs_of {
  static constexpr plan_sizes count = Plan::view().count;
  static constexpr std::array<program_record, count.programs> copy_programs() {
    const auto p = Plan::view();
    std::array<program_record, count.programs> copy{};
    copy_run(p.programs, count.programs, copy.data());
    return copy;
  }
  static constexpr std::array<passes::kernel_step, count.steps> copy_steps() {
    const auto p = Plan::view();
    std::array<passes::kernel_step, count.steps> copy{};
    copy_run(p.steps, count.steps, copy.data());
    return copy;
  }
  static constexpr std::array<program_record, count.programs> programs = copy_programs();
  static constexpr std::array<passes::kernel_step, count.steps> steps = copy_steps();
};

namespace detail {
/// The same of one program.
template <class Plan, int P>
struct program_at {
  static constexpr program_record record = programs_of<Plan>::programs[P];
  static constexpr auto copy_steps() {
    std::array<passes::kernel_step, static_cast<std::size_t>(record.steps)> copy{};
    copy_run(programs_of<Plan>::steps.data() + record.first_step, copy.size(), copy.data());
    return copy;
  }
  static constexpr auto steps = copy_steps();
};
template <class Plan, int P, std::size_t... I>
constexpr auto program_type(std::index_sequence<I...>) {
  constexpr const passes::kernel_step* at = program_at<Plan, P>::steps.data();
  return std::type_identity<program<step<at[I].what, at[I].kind, at[I].type, at[I].at, at[I].along,
                                         at[I].phase, at[I].a, at[I].b, at[I].c>...>>{};
}
}  // namespace detail

/// Program number P of a frozen plan.
template <class Plan, int P>
using program_of = typename decltype(detail::program_type<Plan, P>(
    std::make_index_sequence<static_cast<std::size_t>(detail::program_at<Plan, P>::record.steps)>{}))::type;

}  // namespace napkin::planning
