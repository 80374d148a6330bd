// The kernels of a frozen plan as entries of a table, one for each kernel of the plan; kernels that do the
// same to other buffers share theirs. How one is launched is the caller's: by nvcc's `<<<>>>`
// (cuda/launch.cuh), or on the host, in tests.
#pragma once

#include <array>
#include <new>
#include <utility>

#include "napkin/cuda/launch.hpp"
#include "napkin/cuda/taken_product.hpp"
#include "napkin/cuda/tiled.hpp"

namespace napkin::on_cuda {

// Each of these is a class, not an expression in a function: nvcc 13 misspells those on their way to the host
// compiler.
template <class Plan, int K>
struct kernel_at {
  static constexpr kernel_record record = detail::kernel_of<Plan, K>::record;
  static constexpr int columns = record.columns;
  using program = program_of<Plan, record.program>;
  using geometry = geometry_of<Plan, K>;
  using kernel = chosen_kernel<Plan, K, program, geometry>;
  using dealt = typename kernel::dealt;
  using arguments = typename kernel::arguments;
  static_assert(kernel::listed::accesses == record.accesses, "the steps of a kernel use all of its accesses");
  /// Else it only joins what no team has written.
  static constexpr bool has_walks = dealt::walks > 0 || columns > 0;
  static constexpr taken_product takes = find_taken_of_kernel(Plan::view(), K);
};
/// Column sum C of kernel K.
template <class Plan, int K, int C>
struct column_at {
  static constexpr column_record record = Plan::view().columns[kernel_at<Plan, K>::record.first_column + C];
  static constexpr op kind = record.kind;
  static constexpr dtype type = record.type;
};

namespace detail {

template <class Plan>
inline constexpr int kernel_count = static_cast<int>(Plan::view().count.kernels);
template <class Plan>
constexpr auto list_likes() {
  const auto p = Plan::view();
  std::array<int, static_cast<std::size_t>(kernel_count<Plan>)> likes{};
  for (std::size_t k = 0; k < likes.size(); ++k) likes[k] = p.kernels[k].like;
  return likes;
}
/// By kernel: the first that does the same.
template <class Plan>
inline constexpr auto likes = list_likes<Plan>();

/// Kernels of as many accesses, constants, slots and columns share it.
template <class Arguments>
void fill_arguments(const kernel_memory& from, void* to) {
  auto& k = *new (to) Arguments;
  for (std::size_t i = 0; i < from.accesses; ++i) k.memory[i] = from.memory[i];
  for (std::size_t i = 0; i < from.constants_count; ++i) k.constants[i] = from.constants[i];
  for (std::size_t i = 0; i < from.slots_count; ++i) k.slots[i] = from.slots[i];
  for (std::size_t i = 0; i < from.columns_count; ++i) k.columns[i] = from.columns[i];
  k.scratch = from.scratch;
  k.scratch_per_team = from.scratch_per_team;
  k.partials = from.partials;
  k.partials_per_team = from.partials_per_team;
}

template <class Plan, int K, template <class, int> class Launch>
struct entry_of {
  using arguments = typename kernel_at<Plan, K>::arguments;
  static constexpr kernel_entry value{
      sizeof(arguments),     &fill_arguments<arguments>,     Launch<Plan, K>::launch, Launch<Plan, K>::join,
      Launch<Plan, K>::take, kernel_at<Plan, K>::takes.form, Launch<Plan, K>::waits};
};

}  // namespace detail

/// One entry for each kernel of Plan: `Launch<Plan, K>::launch`, `join` and `take`, functions or pointers to
/// them, put kernel K, what joins its columns, and it with its product into a stream, and `waits` says
/// whether it may start early, as kernel_entry says.
template <class Plan, template <class, int> class Launch, int... K>
constexpr std::array<kernel_entry, sizeof...(K)> make_kernel_table(std::integer_sequence<int, K...>) {
  return {{detail::entry_of<Plan, detail::likes<Plan>[K], Launch>::value...}};
}

}  // namespace napkin::on_cuda
