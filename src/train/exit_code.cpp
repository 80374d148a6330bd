// Exceptions by their types.
#include "napkin/train/exit_code.hpp"

#include <new>

#include "napkin/core/error.hpp"
#include "napkin/cuda/error.hpp"

namespace napkin {

exit_code exit_code_of(const std::exception& problem) {
  const auto is = [&problem]<class Error>(const Error*) {
    return dynamic_cast<const Error*>(&problem) != nullptr;
  };
  if (is(static_cast<const data_error*>(nullptr))) return exit_code::data;
  if (is(static_cast<const checkpoint_error*>(nullptr))) return exit_code::checkpoint;
  if (is(static_cast<const input_error*>(nullptr))) return exit_code::usage;
  if (is(static_cast<const nonfinite_error*>(nullptr))) return exit_code::nonfinite;
  if (is(static_cast<const on_cuda::cuda_error*>(nullptr))) return exit_code::device;
  if (is(static_cast<const system_error*>(nullptr)) || is(static_cast<const std::bad_alloc*>(nullptr)))
    return exit_code::system;
  return exit_code::other;
}

}  // namespace napkin
