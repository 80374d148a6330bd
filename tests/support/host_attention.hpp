// The GPU's kernels of attention on the host, thread by thread, as ways of support/attention_cases.hpp.
#pragma once

#include <cstring>
#include <vector>

#include "../../src/cuda/attention_launch.hpp"
#include "support/attention_cases.hpp"
#include "support/host_warps.hpp"

namespace napkin::testing::attention {

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

inline on_cuda::attention_addresses addresses_of(const memory_of_all& of) {
  on_cuda::attention_addresses at;
  for (std::size_t x = 0; x < of.size(); ++x) at.of[x] = of[x].data();
  return at;
}
template <auto Attend>
void attend_on_host(const attention_record& record, const memory_of_all& of) {
  host_machine::unfinished() = false;
  Attend(record, addresses_of(of));
  CHECK(!host_machine::unfinished());
}

}  // namespace napkin::testing::attention
