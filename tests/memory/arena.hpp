// The planner's bar: an arena is within 2% of the most that is alive at once for batches of 4 and more, and
// within 8% always.
#pragma once

#include <cstddef>

namespace memory_test {

template <class Step>
constexpr bool keeps_the_bar(std::size_t batch) {
  const std::size_t bound = Step::memory.intermediates_lower_bound, arena = Step::memory.intermediates;
  return arena >= bound && (arena - bound) * 100 <= bound * (batch < 4 ? 8 : 2);
}

}  // namespace memory_test
