// The GPU's kernel for products that are no GEMM, block by block, by threads on the host.
#pragma once

#include "../../src/cuda/tile_product_launch.hpp"
#include "napkin/cuda/loop_product.hpp"
#include "support/host_warps.hpp"

namespace napkin::testing {

/// By the loops of our own kernel: of few rows or columns.
template <dtype Type>
void run_loops(const on_cuda::product& p, const type_of<Type>* a, const type_of<Type>* b, type_of<Type>* c) {
  const on_cuda::loop_product l = on_cuda::loops_of(p);
  for (std::uint64_t i = 0; i < l.results; ++i) {
    auto sum = on_cuda::sum_of_lane<Type>(l, i, 0, a, b);
    for (unsigned lane = 1; lane < l.lanes; ++lane) sum += on_cuda::sum_of_lane<Type>(l, i, lane, a, b);
    on_cuda::store_result<Type>(l, i, c, sum);
  }
}

template <dtype Type, bool Narrow>
void run_product_tiles(const on_cuda::detail::tile_arguments& k) {
  using memory = on_cuda::detail::product_memory<Type, Narrow>;
  constexpr unsigned threads = on_cuda::product_tile_of(Type, Narrow).threads;
  struct alignas(16) piece {
    std::byte bytes[16];
  };
  std::vector<piece> shared((sizeof(memory) + sizeof(piece) - 1) / sizeof(piece));
  for (std::uint64_t i = 0; i < k.how.blocks(); ++i) {
    std::memset(static_cast<void*>(shared.data()), 0x7f, shared.size() * sizeof(piece));
    host_block block(threads);
    std::vector<host_warp> warps(threads / 32);
    block.run([&](unsigned thread) {
      host_machine machine(block, warps, thread);
      on_cuda::detail::tile_thread<host_machine, Type, Narrow>(machine, k,
                                                               *reinterpret_cast<memory*>(shared.data()))
          .run(i);
    });
  }
  if (k.how.splits > 1)
    for (std::uint64_t i = 0; i < k.how.results(); ++i) on_cuda::detail::add_splits<Type>(k, i);
}

/// What cuda/contract.hpp launches.
inline void contract_on_host(const on_cuda::product& p, const void* a, const void* b, void* c,
                             void* workspace) {
  if (on_cuda::takes_tiles(p.loops)) {
    const on_cuda::detail::tile_arguments k = on_cuda::detail::tile_arguments_of(p, a, b, c, workspace);
    on_cuda::detail::dispatch_tiles(p.type, k.how.narrow,
                                    [&]<dtype Type, bool Narrow>() { run_product_tiles<Type, Narrow>(k); });
    return;
  }
  on_cuda::detail::dispatch_tiles(p.type, false, [&]<dtype Type, bool>() {
    using T = type_of<Type>;
    run_loops<Type>(p, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(c));
  });
}

}  // namespace napkin::testing
