// Attention on a device that is the host, in place of the library's kernels.
#include "napkin/cuda/attention.hpp"

#include "support/host_attention.hpp"
#include "support/host_device.hpp"

namespace napkin::on_cuda {

void attend(const planning::attention_record& record, const attention_addresses& at, CUstream_st* on) {
  testing::launched_on->launch(on, [=] { testing::attend_by_warps(record, at); });
}

}  // namespace napkin::on_cuda
