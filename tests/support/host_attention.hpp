// The GPU's kernels of attention, block by block, by warps on the host.
#pragma once

#include "../../src/cuda/attention_launch.hpp"
#include "support/host_warps.hpp"

namespace napkin::testing {

inline void attend_by_warps(const planning::attention_record& record,
                            const on_cuda::attention_addresses& at) {
  namespace detail = on_cuda::detail;
  const on_cuda::attention_arguments a = detail::attention_arguments_of(record, at);
  detail::dispatch_attention(
      record,
      [&]<dtype Type, unsigned Width, detail::attention_kernel Kernel, detail::attention_masking Masking>() {
        using shape = detail::attention_shape<Type, Width, Kernel, Masking>;
        const auto [heads, blocks] = detail::attention_grid_of<shape>(a);
        constexpr unsigned bytes = shape::shared_bytes;
        struct alignas(16) piece {
          std::byte bytes[16];
        };
        std::vector<piece> shared(bytes / sizeof(piece));
        for (unsigned i = 0; i < heads * blocks; ++i) {
          std::memset(static_cast<void*>(shared.data()), 0x7f, bytes);
          host_block block(detail::attention_threads);
          std::vector<host_warp> warps(detail::attention_threads / 32);
          block.run([&](unsigned thread) {
            host_machine machine(block, warps, thread);
            detail::attention_thread<host_machine, Type, Width, Kernel, Masking>(machine, a,
                                                                                 shared.data()->bytes)
                .run(i % heads, i / heads);
          });
        }
      });
}

}  // namespace napkin::testing
