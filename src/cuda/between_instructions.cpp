// Nobody looks. A file of its own, so that a test's definitions keep it out of the program.
#include "napkin/cuda/between_instructions.hpp"

namespace napkin::on_cuda {

void before_instruction(const bound_plan&, std::size_t, const stream&) {}
void after_instruction(const bound_plan&, std::size_t, const stream&) {}

}  // namespace napkin::on_cuda
