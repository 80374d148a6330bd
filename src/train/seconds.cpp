// The clock behind steady_seconds.
#include "napkin/train/seconds.hpp"

#include <chrono>

namespace napkin {

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace napkin
