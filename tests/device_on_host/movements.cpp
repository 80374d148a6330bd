// Movements on a device that is the host: the linker takes these before the library's, which launch kernels.
#include "napkin/cuda/movement_call.hpp"
#include "support/host_device.hpp"
#include "support/host_movements.hpp"

namespace napkin::on_cuda {

movement_call::movement_call(const planning::movement_record& record, const movement_addresses& at)
    : launch_(std::make_shared<const detail::movement_launch>(detail::launch_of(record, at))) {}

void movement_call::run(CUstream_st* stream) const {
  testing::launched_on->launch(stream, [launch = launch_] {
    testing::dice d(7);
    std::visit(testing::host_launcher{d, launch->unit}, launch->how);
  });
}

}  // namespace napkin::on_cuda
