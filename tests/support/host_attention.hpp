// The GPU's kernels of attention, block by block, by warps on the host.
#pragma once

#include "napkin/cuda/attention.hpp"

namespace napkin::testing {

void attend_by_warps(const planning::attention_record& record, const on_cuda::attention_addresses& at);
/// By the kernels for devices whose warpgroups multiply.
void attend_by_warpgroups(const planning::attention_record& record, const on_cuda::attention_addresses& at);

}  // namespace napkin::testing
