// Exceptions by their types.
#include "napkin/train/exit_code.hpp"

#include <new>

#include "napkin/core/error.hpp"
#include "napkin/cuda/error.hpp"

namespace napkin {
namespace {

template <class Error>
bool is(const std::exception& problem) {
  return dynamic_cast<const Error*>(&problem) != nullptr;
}

}  // namespace

exit_code exit_code_of(const std::exception& problem) {
  if (is<data_error>(problem)) return exit_code::data;
  if (is<checkpoint_error>(problem)) return exit_code::checkpoint;
  if (is<input_error>(problem)) return exit_code::usage;  // behind those that are input errors, too
  if (is<nonfinite_error>(problem)) return exit_code::nonfinite;
  if (is<on_cuda::cuda_error>(problem)) return exit_code::device;
  if (is<system_error>(problem) || is<std::bad_alloc>(problem)) return exit_code::system;
  return exit_code::other;
}

}  // namespace napkin
