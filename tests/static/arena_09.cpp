// The arena of examples/09_worked_training.cpp against the least that it could be. Compiled, never linked.
#include "../../examples/09_worked_training.cpp"
#include "memory/arena.hpp"

static_assert(memory_test::keeps_the_bar<linear_step>(4));
static_assert(memory_test::keeps_the_bar<deep_step>(4));
static_assert(memory_test::keeps_the_bar<wide_step>(4));
