// The kernels of a frozen plan, compiled by nvcc: `kernels_of<Plan>`. What an executor needs of them is plain
// data and two functions, so that it need not be a template.
#pragma once

#include "napkin/cuda/kernel.cuh"
#include "napkin/cuda/kernel_table.hpp"
#include "napkin/cuda/tiled.cuh"

namespace napkin::on_cuda {

namespace detail {

/// Its parameters are the kernel's, taken apart: nvcc 13 spells a kernel's arguments for the host compiler as
/// the program does, and of a name within kernel_at the whole plan, with the strings in it, which it
/// misspells.
template <class Kernel>
struct launch_of;
template <step_code... Steps, class Dealt, class Outer, class Inner, class Strides>
struct launch_of<fused<program<Steps...>, geometry<Dealt, Outer, Inner, Strides>>> {
  using kernel = fused<program<Steps...>, geometry<Dealt, Outer, Inner, Strides>>;
  static bool waits() {
    return waits_for_earlier(reinterpret_cast<const void*>(
        &fused_kernel<program<Steps...>, geometry<Dealt, Outer, Inner, Strides>, Dealt::threads>));
  }
  static void run(const void* k, stream_handle on) {
    const auto function =
        &fused_kernel<program<Steps...>, geometry<Dealt, Outer, Inner, Strides>, Dealt::threads>;
    bool has_room = false;
    if constexpr (kernel::room > 0)
      has_room = take_room(reinterpret_cast<const void*>(function), kernel::room, unkept_teams / processors);
    function<<<static_cast<unsigned>(Dealt::value.blocks()), Dealt::threads, has_room ? kernel::room : 0,
               on>>>(*static_cast<const typename kernel::arguments*>(k), has_room);
  }
};
template <step_code... Steps, class Dealt, class Outer, class Inner, class Strides, unsigned Vector,
          unsigned TurnedVector, unsigned LinePad, unsigned BlockPad, std::size_t... Extent, int... Order>
struct launch_of<
    tiled<program<Steps...>, geometry<Dealt, Outer, Inner, Strides>,
          tile<Vector, TurnedVector, LinePad, BlockPad, extents<Extent...>, axis_order<Order...>>>> {
  using kernel =
      tiled<program<Steps...>, geometry<Dealt, Outer, Inner, Strides>,
            tile<Vector, TurnedVector, LinePad, BlockPad, extents<Extent...>, axis_order<Order...>>>;
  static bool waits() {
    return waits_for_earlier(reinterpret_cast<const void*>(
        &tiled_kernel<
            program<Steps...>, geometry<Dealt, Outer, Inner, Strides>,
            tile<Vector, TurnedVector, LinePad, BlockPad, extents<Extent...>, axis_order<Order...>>>));
  }
  static void run(const void* k, stream_handle on) {
    tiled_kernel<program<Steps...>, geometry<Dealt, Outer, Inner, Strides>,
                 tile<Vector, TurnedVector, LinePad, BlockPad, extents<Extent...>, axis_order<Order...>>>
        <<<static_cast<unsigned>(kernel::blocks), tile_threads, 0, on>>>(
            *static_cast<const typename kernel::arguments*>(k));
  }
};

/// What joins a kernel's column sums.
template <class Plan, int K, class Columns>
struct join_of;
template <class Plan, int K, int... C>
struct join_of<Plan, K, std::integer_sequence<int, C...>> {
  using at = kernel_at<Plan, K>;

  static void run(const void* arguments, const column_target* columns, stream_handle on) {
    const auto& k = *static_cast<const typename at::arguments*>(arguments);
    (join_from<C>(k, columns, on), ...);
  }

 private:
  static constexpr bool are_alike(int a, int b) {
    const planning::column_record* const columns = Plan::view().columns + at::record.first_column;
    return columns[a].is_like(columns[b]);
  }
  static constexpr bool begins_launch(int c) {
    return planning::alike_before(Plan::view().columns + at::record.first_column, c) %
               planning::joined_columns ==
           0;
  }
  template <int First>
  static void join_from(const typename at::arguments& k, const column_target* columns, stream_handle on) {
    if constexpr (at::dealt::row_length > 0 && begins_launch(First)) {
      using column = column_at<Plan, K, First>;
      using type = type_of<column::type>;
      columns_to_join<column::type> together{};
      unsigned count = 0;
      const auto take = [&](int c) {
        if (c < First || !are_alike(First, c) || count == planning::joined_columns) return;
        together.partials[count] = k.partials + k.columns[c];
        together.added[count] = reinterpret_cast<const type*>(columns[c].added);
        together.to[count++] = reinterpret_cast<type*>(columns[c].to);
      };
      (take(C), ...);
      constexpr auto length = at::dealt::row_length;
      join_columns<column::kind, column::type>
          <<<dim3(static_cast<unsigned>((length + 31) / 32), count), dim3(32, column_slices), 0, on>>>(
              together, k.partials_per_team, at::dealt::teams, length);
    }
  }
};

inline void launch_nothing(const void*, stream_handle) {}

/// With a product. Kernels in tiles take none in.
template <class Kernel, dtype Type, bool AAlongRows, int Access>
struct take_with {
  static constexpr void (*run)(const void*, const small_product&, stream_handle) = nullptr;
};
template <step_code... Steps, class Dealt, class Outer, class Inner, class Strides, dtype Type,
          bool AAlongRows, int Access>
struct take_with<fused<program<Steps...>, geometry<Dealt, Outer, Inner, Strides>>, Type, AAlongRows, Access> {
  using kernel = fused<program<Steps...>, geometry<Dealt, Outer, Inner, Strides>>;
  static void run(const void* k, const small_product& with, stream_handle on) {
    constexpr auto row_threads = static_cast<unsigned>(taken_rows / Dealt::walks_per_team * Dealt::team);
    taking_kernel<program<Steps...>, geometry<Dealt, Outer, Inner, Strides>, row_threads, Type, AAlongRows,
                  Access><<<static_cast<unsigned>(Dealt::walks / taken_rows), taking_threads, 0, on>>>(
        *static_cast<const typename kernel::arguments*>(k), with);
  }
};

template <class Plan, int K>
struct device_launch {
  using at = kernel_at<Plan, K>;
  using join_function = void (*)(const void*, const column_target*, stream_handle);
  static constexpr auto find() {
    if constexpr (at::has_walks)
      return &launch_of<typename at::kernel>::run;
    else
      return &launch_nothing;
  }
  static constexpr join_function find_join() {
    if constexpr (at::columns > 0)
      return &join_of<Plan, K, std::make_integer_sequence<int, at::columns>>::run;
    else
      return nullptr;
  }
  using take_function = void (*)(const void*, const small_product&, stream_handle);
  static constexpr take_function find_take() {
    constexpr taken_product t = at::takes;
    if constexpr (t.found())
      return take_with<typename at::kernel, t.form.type, t.form.a_along_rows, t.form.access>::run;
    else
      return nullptr;
  }
  static constexpr bool (*find_waits())() {
    if constexpr (at::has_walks)
      return &launch_of<typename at::kernel>::waits;
    else
      return nullptr;
  }
  static constexpr bool (*waits)() = find_waits();
  static constexpr void (*launch)(const void*, stream_handle) = find();
  static constexpr take_function take = find_take();
  static constexpr join_function join = find_join();
};

}  // namespace detail

/// One entry for each kernel of a frozen plan.
template <class Plan>
inline constexpr auto kernels_of = make_kernel_table<Plan, detail::device_launch>(
    std::make_integer_sequence<int, detail::kernel_count<Plan>>{});

template <class Plan>
requires(sizeof(Plan) > 0) struct compiled_kernels<Plan> {
  static constexpr bool there = true;
  static const kernel_entry* table() { return kernels_of<Plan>.data(); }
};

}  // namespace napkin::on_cuda
