// Whether the kernels of a step on a GPU are compiled with the program, which takes nvcc, and what is said where they
// are not.
#pragma once

#include "napkin/cuda/launch.hpp"
#include "napkin/train/cuda_step.hpp"
#include "napkin/train/trainer.hpp"

namespace napkin {

namespace rule {
/// type<Step>
template <class... Facts>
struct trainer_needs_kernels {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "trainer: a step on the GPU runs kernels that are compiled with the program: compile this file with "
      "nvcc, "
      "and include <napkin/cuda.hpp>");
};
}  // namespace rule

namespace detail {
/// Whether a step's kernels are compiled here; of a model that is a mistake nothing is asked.
template <class Step>
constexpr bool find_step_kernels() {
  if constexpr (!step_facts<Step>::is_sound)
    return false;
  else
    return on_cuda::compiled_kernels<typename step_on<Step, cuda>::gradient_plan>::there;
}
template <class Step>
inline constexpr bool has_step_kernels = find_step_kernels<Step>();
}  // namespace detail

}  // namespace napkin
