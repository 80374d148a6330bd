// What is wrong with a place for times, in words.
#include "napkin/train/timed_kernels.hpp"

#include <string>

#include "napkin/core/error.hpp"

namespace napkin::detail {

void require_places(std::span<double> to, std::size_t kernels) {
  if (to.size() != kernels)
    throw error("step_timed: " + std::to_string(to.size()) + " places for the times of " +
                std::to_string(kernels) + " kernels");
}

}  // namespace napkin::detail
