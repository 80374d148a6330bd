// The arena of examples/08_digits.cpp against the least that it could be. Compiled, never linked.
#include "../../examples/08_digits.cpp"
#include "memory/arena.hpp"

template <template <std::size_t> class Model, std::size_t... Batch>
constexpr bool all_keep_it = (memory_test::keeps_the_bar<nk::train_step<Model<Batch>, nk::adamw>>(Batch) &&
                              ...);
static_assert(all_keep_it<perceptron, 1, 4, 50>);
static_assert(all_keep_it<convolutional, 1, 4, 50>);
