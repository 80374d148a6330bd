// All kernels of attention: most of what compiles them, and tests run them for a minute.
#include "support/host_attention.hpp"

#include <vector>

#include "../../src/cuda/warpgroup_attention_launch.hpp"
#include "support/host_warps.hpp"

namespace napkin::testing {
namespace {

/// run(machine, shared memory, head, block) by each thread of a grid.
template <class Run>
void run_attention_blocks(const on_cuda::detail::attention_grid& grid, unsigned shared_bytes, Run&& run,
                          unsigned threads = on_cuda::detail::attention_threads) {
  struct alignas(1024) piece {
    std::byte bytes[1024];
  };
  std::vector<piece> shared((shared_bytes + sizeof(piece) - 1) / sizeof(piece));
  host_block& block = host_block::of(threads);
  for (unsigned i = 0; i < grid.size(); ++i) {
    std::memset(static_cast<void*>(shared.data()), 0x7f, shared_bytes);
    std::vector<host_warp> warps(threads / 32);
    block.run([&](unsigned thread) {
      host_machine machine(block, warps, thread);
      run(machine, shared.data()->bytes, i / grid.blocks, i % grid.blocks);
    });
  }
}

}  // namespace

void attend_by_warps(const planning::attention_record& record, const on_cuda::attention_addresses& at) {
  namespace detail = on_cuda::detail;
  const on_cuda::attention_arguments a = detail::attention_arguments_of(record, at);
  if (on_cuda::is_general(record))
    return detail::dispatch_general_attention(record, [&]<dtype Type, detail::attention_kernel Kernel>() {
      const unsigned pieces = detail::general_attention_pieces<Kernel>(a);
      run_attention_blocks(detail::general_attention_grid<Type, Kernel>(a),
                           detail::general_attention_shape<Type>::shared_bytes,
                           [&](host_machine& machine, std::byte* shared, unsigned head, unsigned block) {
                             detail::run_general_attention<host_machine, Type, Kernel>(
                                 machine, a, shared, head, block / pieces, block % pieces);
                           });
    });
  detail::dispatch_attention(
      record,
      [&]<dtype Type, unsigned Width, detail::attention_kernel Kernel, detail::attention_masking Masking>() {
        using shape = detail::attention_shape<Type, Width, Kernel, Masking>;
        run_attention_blocks(detail::attention_grid_of<shape>(a), shape::shared_bytes,
                             [&](host_machine& machine, std::byte* shared, unsigned head, unsigned block) {
                               detail::attention_thread<host_machine, Type, Width, Kernel, Masking>(machine,
                                                                                                    a, shared)
                                   .run(head, block);
                             });
      });
}

void attend_by_warpgroups(const planning::attention_record& record, const on_cuda::attention_addresses& at) {
  namespace detail = on_cuda::detail;
  const on_cuda::attention_arguments a = detail::attention_arguments_of(record, at);
  if (!detail::is_for_warpgroups(record, a))
    throw std::logic_error("an attention that is not for warpgroups");
  detail::dispatch_warpgroup_attention(
      record, [&]<dtype Type, unsigned Width, detail::attention_kernel Kernel>() {
        using shape = detail::warpgroup_attention_shape<Type, Width, Kernel>;
        run_attention_blocks(
            detail::attention_grid_of<shape>(a), shape::shared_bytes,
            [&](host_machine& machine, std::byte* shared, unsigned head, unsigned block) {
              detail::warpgroup_attention_thread<host_machine, Type, Width, Kernel>(machine, a, shared)
                  .run(head, block);
            },
            shape::threads);
      });
}

}  // namespace napkin::testing
