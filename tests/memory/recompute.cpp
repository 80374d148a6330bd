// The memory of steps that make values again to keep a budget.
#include "napkin/nn/transformer.hpp"
#include "support/gpt_configs.hpp"
#include "trained.hpp"

namespace recompute_memory_test {  // named: g++ 12 takes templates of unnamed namespaces, as arguments, for
                                   // one

namespace nk = napkin;

using config = nk::testing::five_layers;
using model = nk::nn::gpt<config>;
template <std::size_t Percent>
using step =
    nk::train_step<model, nk::adamw,
                   nk::recompute_to_fit<nk::train_step<model, nk::adamw>::memory.peak * Percent / 100>>;

}  // namespace recompute_memory_test

TEST_CASE("memory: a step that recomputes takes what it says, to the byte") {
  using namespace recompute_memory_test;
  const std::vector<std::uint16_t> text(4 * 24, std::uint16_t{5});
  memory_test::check<step<70>>(4, text, text);
#if defined(NAPKIN_TEST_EVERYTHING)
  memory_test::check<step<85>>(4, text, text);
  CHECK(step<70>::recomputed.choice > step<85>::recomputed.choice);
#endif
}
