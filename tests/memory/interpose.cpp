// Puts the counters of support/allocations.hpp in place, for all of this program.
#include "support/count_allocations.hpp"
