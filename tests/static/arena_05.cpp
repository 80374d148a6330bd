// The arena of examples/05_linear_regression.cpp against the least that it could be. Compiled, never linked.
#include "../../examples/05_linear_regression.cpp"
#include "memory/arena.hpp"

static_assert(memory_test::keeps_the_bar<step>(batch::size));
