// Plans on a device that is the host are watched, instruction by instruction: in place of the library's functions
// that look at nothing.
#include "napkin/cuda/between_instructions.hpp"
#include "support/host_device.hpp"

namespace napkin::on_cuda {

void before_instruction(const bound_plan& of, std::size_t i, const stream& on) {
  testing::watched_by->before(of, i, on.handle());
}
void after_instruction(const bound_plan&, std::size_t i, const stream& on) {
  testing::watched_by->after(i, on.handle());
}

}  // namespace napkin::on_cuda
