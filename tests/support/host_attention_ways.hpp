// The GPU's kernels of attention as ways of support/attention_cases.hpp: thread by thread on the host.
#pragma once

#include <algorithm>

#include "../../src/cuda/attention_launch.hpp"
#include "support/attention_cases.hpp"
#include "support/host_attention.hpp"
#include "support/host_warps.hpp"

namespace napkin::testing::attention {

template <auto Attend>
void attend_on_host(const attention_record& record, std::byte* const (&of)[attention_tensors]) {
  on_cuda::attention_addresses at;
  std::copy(std::begin(of), std::end(of), at.of);
  host_machine::unfinished() = false;
  Attend(record, at);
  CHECK(!host_machine::unfinished());
}
inline constexpr way by_warps{&attend_on_host<&attend_by_warps>, false, &on_cuda::detail::is_of_few_keys};
/// By the kernels for devices whose warpgroups multiply.
inline constexpr way by_warpgroups{&attend_on_host<&attend_by_warpgroups>};

}  // namespace napkin::testing::attention
