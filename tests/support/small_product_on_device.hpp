// Runs cuda/small_product.hpp's kernel on the device at hand, or on what stands in for one, over memory of the host.
#pragma once

#include <vector>

#include "napkin/cuda/memory.hpp"
#include "napkin/cuda/small_product.hpp"
#include "napkin/cuda/transfer.hpp"

namespace napkin::testing::small_products {

/// p points into `memories`, which go to the device, each to a multiple of 256 bytes, and back.
inline void on_device(on_cuda::small_product p, std::span<const std::span<std::byte>> memories) {
  on_cuda::cuda_calls& calls = on_cuda::cuda_runtime();
  const on_cuda::stream on(calls);
  std::vector<on_cuda::device_memory> there;
  for (const std::span<std::byte> x : memories) {
    there.emplace_back(calls, x.size());
    on_cuda::copy_to_device(on, there.back().data(), x);
  }
  const auto move = [&]<class P>(P*& at) {
    for (std::size_t i = 0; i < memories.size(); ++i)
      if (const std::ptrdiff_t offset = at - memories[i].data();
          at != nullptr && offset >= 0 && offset < static_cast<std::ptrdiff_t>(memories[i].size())) {
        at = there[i].data() + offset;
        return;
      }
  };
  move(p.a), move(p.b), move(p.added), move(p.then.result), move(p.then.vector), move(p.then.auxiliary);
  on_cuda::multiply_small(p, on.handle());
  on.check_launch("a product's kernel");
  for (std::size_t i = 0; i < memories.size(); ++i) on_cuda::copy_to_host(on, memories[i], there[i].data());
}

}  // namespace napkin::testing::small_products
