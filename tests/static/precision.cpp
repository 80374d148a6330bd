// A training step in bf16 as constants: what is counted of it beside the same step in f32.
#include "napkin/cost/conventions.hpp"
#include "napkin/cost/time.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/train/step.hpp"

namespace {

namespace nk = napkin;

struct batch : nk::dim<"batch", 256> {};
struct feature : nk::dim<"feature", 16> {};
struct hidden : nk::dim<"hidden", 32> {};

struct perceptron {
  BOOST_HANA_DEFINE_STRUCT(perceptron, (nk::param<feature, hidden>, up), (nk::param<hidden>, bias),
                           (nk::param<hidden>, down));

  constexpr auto loss(nk::input<nk::f32, batch, feature> x, nk::input<nk::f32, batch> y) const {
    const auto h = nk::tanh(nk::dot<"feature">(x, up) + bias);
    const auto error = nk::dot<"hidden">(h, down) - y;
    return nk::mean(error * error);
  }
};
using wide = nk::train_step<perceptron, nk::adamw>;
using narrow = nk::train_step<perceptron, nk::adamw, nk::compute_in<nk::bf16>>;

static_assert(std::is_same_v<narrow::compute_type, nk::bf16> && std::is_same_v<wide::compute_type, nk::f32>);
// Saying f32 is saying nothing: the same plan, not made again.
static_assert(std::is_same_v<nk::train_step<perceptron, nk::adamw, nk::compute_in<nk::f32>>::gradient_plan,
                             wide::gradient_plan>);

// The same products, and the same counts by every convention.
static_assert(narrow::cost.flops.matmul == wide::cost.flops.matmul);
static_assert(nk::conventions::torch<narrow> == nk::conventions::torch<wide>);
static_assert(nk::conventions::exact<narrow> == nk::conventions::exact<wide>);
static_assert(narrow::cost.bytes.total() < wide::cost.bytes.total());

// The masters are the parameters.
static_assert(narrow::memory.parameters == wide::memory.parameters);
static_assert(narrow::memory.gradients == wide::memory.gradients);

// Every product multiplies bf16, at its peak; what the optimizer does is f32.
constexpr bool multiplies(nk::dtype t) {
  bool all = true;
  narrow::for_each_line([&](const nk::plan_line& line) {
    if (line.flops.matmul != 0) all = all && line.operands == t;
  });
  return all;
}
static_assert(multiplies(nk::dtype::bf16));
static_assert(nk::time_on<nk::h200, narrow>.products == nk::arithmetic::bf16);
static_assert(nk::time_on<nk::h200, wide>.products == nk::arithmetic::f32);
static_assert(nk::time_on<nk::h200, narrow>.compute < nk::time_on<nk::h200, wide>.compute);

// In f8 the same products again; what they multiply is kept in 8 bits, as its kernels say.
using narrowest = nk::train_step<perceptron, nk::adamw, nk::compute_in<nk::f8>>;
static_assert(narrowest::cost.flops.matmul == wide::cost.flops.matmul);
static_assert(nk::conventions::torch<narrowest> == nk::conventions::torch<wide>);
static_assert(nk::conventions::exact<narrowest> == nk::conventions::exact<wide>);
static_assert(narrowest::memory.activations < narrow::memory.activations);

// Gradients are made once, in the room for them, whatever they are computed in.
template <class Step>
constexpr bool has_room() {
  using gradients = typename Step::gradients;
  const nk::graph_sizes n = nk::frozen<gradients>::view().sizes(), room = gradients::capacity;
  return n.nodes <= room.nodes && n.shapes <= room.shapes && n.pool <= room.pool && n.outputs <= room.outputs;
}
static_assert(has_room<wide>() && has_room<narrow>() && has_room<narrowest>());
static_assert(
    has_room<nk::train_step<perceptron, nk::adamw, nk::compute_in<nk::f8>, nk::micro_batches<2>>>());

}  // namespace
