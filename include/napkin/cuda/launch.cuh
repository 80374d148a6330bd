// The kernels of a frozen plan as entries of a table, one for each kernel of the plan; kernels that do the
// same to other buffers share theirs. What an executor needs of them is plain data and two functions, so that
// it need not be a template.
#pragma once

#include "napkin/cuda/kernel.cuh"
#include "napkin/cuda/launch.hpp"

namespace napkin::on_cuda {

namespace detail {

// Each of these is a class, not an expression in a function: nvcc 13 misspells those on their way to the host
// compiler.
template <class Plan, int K>
struct kernel_at {
  static constexpr kernel_record record = Plan::view().kernels[K];
  static constexpr int columns = record.columns;
  using program = program_of<Plan, record.program>;
  using geometry = geometry_of<Plan, K>;
  using kernel = fused<program, geometry>;
  using dealt = typename kernel::dealt;
  static constexpr unsigned blocks = static_cast<unsigned>(dealt::value.blocks());
};
template <class Plan, int K>
inline constexpr int like_of = Plan::view().kernels[K].like;
template <class Plan, int K, int C>
struct column_at {
  static constexpr column_record record = Plan::view().columns[kernel_at<Plan, K>::record.first_column + C];
  static constexpr op kind = record.kind;
  static constexpr dtype type = record.type;
};

template <class Plan, int K, int C>
void launch_column(const std::byte* partials, std::size_t per_team, std::byte* to, stream_handle on) {
  using at = kernel_at<Plan, K>;
  using column = column_at<Plan, K, C>;
  constexpr auto length = at::dealt::row_length;
  if constexpr (length > 0)
    join_columns<column::kind, column::type>
        <<<static_cast<unsigned>((length + 31) / 32), dim3(32, column_slices), 0, on>>>(
            partials, per_team, at::dealt::teams, length, reinterpret_cast<type_of<column::type>*>(to));
}

template <class Plan, int K, int... C>
void launch_kernel(const void* arguments, std::byte* const* columns, stream_handle on,
                   std::integer_sequence<int, C...>) {
  using at = kernel_at<Plan, K>;
  const auto& k = *static_cast<const typename at::kernel::arguments*>(arguments);
  if constexpr (at::dealt::walks > 0 || at::columns > 0)
    fused_kernel<typename at::program, typename at::geometry, at::dealt::threads>
        <<<at::blocks, at::dealt::threads, 0, on>>>(k);
  (launch_column<Plan, K, C>(k.partials + k.columns[C], k.partials_per_team, columns[C], on), ...);
}
template <class Plan, int K>
struct entry_of {
  using arguments = typename kernel_at<Plan, K>::kernel::arguments;
  static void fill(const kernel_memory& from, void* to) {
    auto& k = *new (to) arguments;
    for (std::size_t i = 0; i < from.accesses; ++i) k.memory[i] = from.memory[i];
    for (std::size_t i = 0; i < from.constants_count; ++i) k.constants[i] = from.constants[i];
    for (std::size_t i = 0; i < from.slots_count; ++i) k.slots[i] = from.slots[i];
    for (std::size_t i = 0; i < from.columns_count; ++i) k.columns[i] = from.columns[i];
    k.scratch = from.scratch;
    k.scratch_per_team = from.scratch_per_team;
    k.partials = from.partials;
    k.partials_per_team = from.partials_per_team;
  }
  static void launch(const void* from, std::byte* const* columns, stream_handle on) {
    launch_kernel<Plan, K>(from, columns, on, std::make_integer_sequence<int, kernel_at<Plan, K>::columns>{});
  }
  static constexpr kernel_entry value{sizeof(arguments), &fill, &launch};
};
template <class Plan, int... K>
constexpr std::array<kernel_entry, sizeof...(K)> entries_of(std::integer_sequence<int, K...>) {
  return {{entry_of<Plan, like_of<Plan, K>>::value...}};
}
template <class Plan>
inline constexpr int kernel_count = static_cast<int>(Plan::view().count.kernels);

}  // namespace detail

/// One entry for each kernel of a frozen plan.
template <class Plan>
inline constexpr auto kernels_of =
    detail::entries_of<Plan>(std::make_integer_sequence<int, detail::kernel_count<Plan>>{});

}  // namespace napkin::on_cuda
