// Kernels of plans, compiled for the host: teams of threads, run by fake_cuda when its streams come to them.
#pragma once

#include <utility>
#include <vector>

#include "napkin/cuda/kernel_table.hpp"
#include "support/host_device.hpp"
#include "support/run_teams.hpp"

namespace napkin::testing {

template <class Plan, int K>
struct host_launch {
  using at = on_cuda::kernel_at<Plan, K>;

  static void launch(const void* arguments, on_cuda::stream_handle on) {
    if constexpr (at::has_walks) {
      const auto k = *static_cast<const typename at::arguments*>(arguments);
      launched_on->launch(on, [k] { run_kernel<typename at::kernel>::run(k); });
    }
  }
  /// Block by block: the product's rows, then the kernel's, which finds the former in its shared memory.
  template <on_cuda::taken_form Form, class Program, class Geometry>
  struct taking {
    using kernel = on_cuda::fused<Program, Geometry>;
    using dealt = typename kernel::dealt;
    static constexpr std::size_t teams = on_cuda::taken_rows / dealt::walks_per_team;
    static_assert(teams * dealt::team <= on_cuda::taking_threads);

    static void launch(const void* arguments, const on_cuda::small_product& with, on_cuda::stream_handle on) {
      const auto k = *static_cast<const typename kernel::arguments*>(arguments);
      launched_on->launch(on, [k, with] {
        for (std::size_t row = 0; row < dealt::walks; row += on_cuda::taken_rows) {
          const taken_rows_of<Form, dealt::row_length> rows(with, row);
          run_teams<Program, Geometry>(k, row / dealt::walks_per_team, teams,
                                       {Form.access, rows.row_zero(), row + on_cuda::taken_rows});
        }
        ++taken_products_run;
      });
    }
  };
  template <on_cuda::taken_form Form, class Program, class Geometry>
  static constexpr auto take_of(on_cuda::fused<Program, Geometry>*) {
    return &taking<Form, Program, Geometry>::launch;
  }
  static constexpr auto find_take()
      -> void (*)(const void*, const on_cuda::small_product&, on_cuda::stream_handle) {
    constexpr on_cuda::taken_product t = at::takes;
    if constexpr (t.found() && requires { at::kernel::room; })
      return take_of<t.form>(static_cast<typename at::kernel*>(nullptr));
    else
      return nullptr;
  }
  static constexpr auto take = find_take();
  static bool waits() { return kernels_wait; }
  static void join(const void* arguments, const on_cuda::column_target* columns, on_cuda::stream_handle on) {
    run_join(*static_cast<const typename at::arguments*>(arguments), columns, on,
             std::make_integer_sequence<int, at::columns>{});
  }
  template <int... C>
  static void run_join(const typename at::arguments& k, const on_cuda::column_target* columns,
                       on_cuda::stream_handle on, std::integer_sequence<int, C...>) {
    const std::vector<on_cuda::column_target> to(columns, columns + sizeof...(C));
    launched_on->launch(on, [k, to] {
      (join_columns<on_cuda::column_at<Plan, K, C>::kind, on_cuda::column_at<Plan, K, C>::type>(
           k.partials + k.columns[C], k.partials_per_team, at::dealt::teams, at::dealt::row_length,
           to[C].added, to[C].to),
       ...);
    });
  }
};

}  // namespace napkin::testing

namespace napkin::on_cuda {

template <class Plan>
requires(sizeof(Plan) > 0) struct compiled_kernels<Plan> {
  static constexpr bool there = true;
  static const kernel_entry* table() {
    static constexpr auto entries = make_kernel_table<Plan, testing::host_launch>(
        std::make_integer_sequence<int, detail::kernel_count<Plan>>{});
    return entries.data();
  }
};

}  // namespace napkin::on_cuda
