// Attention on a device that is the host, in place of the library's kernels: the CPU's.
#include "napkin/cuda/attention.hpp"

#include <algorithm>

#include "napkin/cpu/attention.hpp"
#include "support/host_device.hpp"

namespace napkin::on_cuda {

void attend(const planning::attention_record& record, const attention_addresses& at, CUstream_st* on) {
  on_cpu::attention_call call;
  std::copy(std::begin(at.of), std::end(at.of), call.of);
  testing::launched_on->launch(on, [=] { on_cpu::attend(record, call); });
}

}  // namespace napkin::on_cuda
