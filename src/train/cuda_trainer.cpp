// What a trainer on a GPU says without knowing of what step.
#include "napkin/train/cuda_trainer.hpp"

namespace napkin::detail {

void throw_launched(const char* call) {
  throw error(std::string("trainer: wait() for the launched step before ") + call);
}
void throw_unprepared(const char* call) {
  throw error(std::string("trainer: use_algorithms failed; call it again before ") + call);
}

}  // namespace napkin::detail
