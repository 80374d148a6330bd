// A kernel's program as a type made of integers: what kernels are instantiated with, so that equal work shares
// one whatever model, layer or axis names it came from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "napkin/plan/frozen.hpp"

namespace napkin::planning {

using passes::action;
using passes::pace;
using passes::place;

/// A step as one number, of which a program's type is made. A kernel's symbol, which stands in some twenty
/// places of what nvcc gives its assembler and the host compiler, is a third as long as by fields.
using step_code = std::uint64_t;

namespace detail {

/// Bits of a step's fields, from the lowest of its code up; operands count from -1.
inline constexpr int what_bits = 3, kind_bits = 8, type_bits = 5, at_bits = 1, along_bits = 2, phase_bits = 8,
                     operand_bits = 12;
inline constexpr int kind_at = what_bits, type_at = kind_at + kind_bits, place_at = type_at + type_bits,
                     along_at = place_at + at_bits, phase_at = along_at + along_bits,
                     a_at = phase_at + phase_bits, b_at = a_at + operand_bits, c_at = b_at + operand_bits;
static_assert(c_at + operand_bits <= 64 && op_count <= 1 << kind_bits &&
              napkin::detail::dtype_table.size() <= 1 << type_bits);
inline constexpr int most_steps = (1 << operand_bits) - 1;

}  // namespace detail

/// Throws std::length_error (in constant evaluation a compile error) for kernels of more than 4,095 steps.
constexpr step_code packed(const passes::kernel_step& s) {
  using namespace detail;
  if (s.a >= most_steps || s.b >= most_steps || s.c >= most_steps)
    throw std::length_error("napkin: a kernel has too many steps");
  return static_cast<step_code>(s.what) | static_cast<step_code>(s.kind) << kind_at |
         static_cast<step_code>(s.type) << type_at | static_cast<step_code>(s.at) << place_at |
         static_cast<step_code>(s.along) << along_at | static_cast<step_code>(s.phase) << phase_at |
         static_cast<step_code>(s.a + 1) << a_at | static_cast<step_code>(s.b + 1) << b_at |
         static_cast<step_code>(s.c + 1) << c_at;
}
constexpr passes::kernel_step unpacked(step_code code) {
  using namespace detail;
  const auto field = [code](int at, int bits) {
    return static_cast<int>(code >> at & ((step_code{1} << bits) - 1));
  };
  return {static_cast<action>(field(0, what_bits)),
          static_cast<op>(field(kind_at, kind_bits)),
          static_cast<dtype>(field(type_at, type_bits)),
          static_cast<place>(field(place_at, at_bits)),
          static_cast<pace>(field(along_at, along_bits)),
          static_cast<std::uint8_t>(field(phase_at, phase_bits)),
          static_cast<std::int16_t>(field(a_at, operand_bits) - 1),
          static_cast<std::int16_t>(field(b_at, operand_bits) - 1),
          static_cast<std::int16_t>(field(c_at, operand_bits) - 1)};
}

template <step_code... Steps>
struct program {};

/// A step's fields, by name.
template <step_code Code>
struct step {
  static constexpr passes::kernel_step value = unpacked(Code);
  static constexpr action what = value.what;
  static constexpr op kind = value.kind;
  static constexpr dtype type = value.type;
  static constexpr place at = value.at;
  static constexpr pace along = value.along;
  static constexpr int phase = value.phase, a = value.a, b = value.b, c = value.c;
};

namespace detail {

constexpr bool moves_data(const passes::kernel_step& s) {
  return s.what == action::load || s.what == action::store;
}
constexpr bool walks_memory(const passes::kernel_step& s) {
  return moves_data(s) && s.along != pace::scratch;
}
/// Is done at every position of a row.
constexpr bool walks_elements(const passes::kernel_step& s) {
  return s.at == place::element || s.what == action::reduce_row || s.what == action::reduce_column;
}
/// Has a value at every position of a row.
constexpr bool has_lanes(const passes::kernel_step& s) {
  return s.at == place::element &&
         (s.what == action::load || s.what == action::iota || s.what == action::compute);
}

/// What is asked of a program as a whole.
template <step_code... Codes>
struct program_facts {
  static constexpr std::size_t count = sizeof...(Codes);
  static constexpr std::array<step_code, count> codes{Codes...};
  static constexpr std::array<passes::kernel_step, count> steps{unpacked(Codes)...};
  static constexpr int count_phases() {
    int n = 1;
    for (const passes::kernel_step& s : steps) n = s.phase + 1 > n ? s.phase + 1 : n;
    return n;
  }
  static constexpr std::size_t count_accesses() {
    int n = 0;
    for (const passes::kernel_step& s : steps) n = walks_memory(s) && s.a + 1 > n ? s.a + 1 : n;
    return static_cast<std::size_t>(n);
  }
  static constexpr int phases = count_phases();
  static constexpr std::size_t accesses = count_accesses();
};

}  // namespace detail

/// A frozen plan's programs alone: g++ takes time by the size of the constant that it reads from, and less
/// through pointers into it.
template <class Plan>
struct programs_of {
  static constexpr plan_sizes count = Plan::view().count;
  static constexpr auto copy_programs() {
    std::array<program_record, count.programs> copy{};
    copy_run(Plan::view().programs, count.programs, copy.data());
    return copy;
  }
  static constexpr auto pack_steps() {
    std::array<step_code, count.steps> copy{};
    step_code* to = copy.data();
    const passes::kernel_step* s = Plan::view().steps;
    for (const passes::kernel_step* const end = s + count.steps; s != end; ++s) *to++ = packed(*s);
    return copy;
  }
  static constexpr auto programs = copy_programs();
  static constexpr auto codes = pack_steps();
};

namespace detail {
/// The same of one program.
template <class Plan, int P>
struct program_at {
  static constexpr program_record record = programs_of<Plan>::programs[P];
  static constexpr auto copy_codes() {
    std::array<step_code, static_cast<std::size_t>(record.steps)> copy{};
    copy_run(programs_of<Plan>::codes.data() + record.first_step, copy.size(), copy.data());
    return copy;
  }
  static constexpr auto codes = copy_codes();
};
template <class Plan, int P, std::size_t... I>
constexpr auto program_type(std::index_sequence<I...>) {
  return std::type_identity<program<program_at<Plan, P>::codes[I]...>>{};
}
}  // namespace detail

/// Program number P of a frozen plan.
template <class Plan, int P>
using program_of = typename decltype(detail::program_type<Plan, P>(
    std::make_index_sequence<static_cast<std::size_t>(detail::program_at<Plan, P>::record.steps)>{}))::type;

}  // namespace napkin::planning
