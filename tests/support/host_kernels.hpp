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
