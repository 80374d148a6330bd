// The library's kernels of attention, launched on the device at hand, or on what stands in for one, as a way of
// support/attention_cases.hpp.
#pragma once

#include <optional>

#include "napkin/cuda/attention.hpp"
#include "napkin/cuda/memory.hpp"
#include "napkin/cuda/transfer.hpp"
#include "support/attention_cases.hpp"

namespace napkin::testing::attention {

/// All that the record names goes to the device, each tensor to memory of its own, and back.
inline void attend_on_device(const attention_record& record, const memory_of_all& of) {
  on_cuda::cuda_calls& calls = on_cuda::cuda_runtime();
  const on_cuda::stream on(calls);
  std::array<std::optional<on_cuda::device_memory>, attention_tensors> there;
  on_cuda::attention_addresses at;
  for (std::size_t x = 0; x < of.size(); ++x)
    if (record.operands[x].there) {
      there[x].emplace(calls, of[x].size());
      on_cuda::copy_to_device(on, there[x]->data(), of[x]);
      at.of[x] = there[x]->data();
    }
  on_cuda::attend(record, at, on.handle());
  on.check_launch("attention's kernel");
  for (std::size_t x = 0; x < of.size(); ++x)
    if (there[x]) on_cuda::copy_to_host(on, of[x], there[x]->data());
}
inline constexpr way on_device{&attend_on_device, false, &on_cuda::is_of_few_keys};

}  // namespace napkin::testing::attention
