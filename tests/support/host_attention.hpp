// The GPU's kernels of attention, block by block, by warps on the host.
#pragma once

#include "napkin/cuda/attention.hpp"

namespace napkin::testing {

void attend_by_warps(const planning::attention_record& record, const on_cuda::attention_addresses& at);

}  // namespace napkin::testing
