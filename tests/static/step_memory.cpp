// A training step's memory, by what it is for, against what is worked out by hand.
#include "napkin/ops/elementwise.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/train/step.hpp"

namespace {

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct feature : nk::dim<"feature", 16> {};
struct hidden : nk::dim<"hidden", 32> {};

struct perceptron {
  BOOST_HANA_DEFINE_STRUCT(perceptron, (nk::param<feature, hidden>, up), (nk::param<hidden>, down));

  constexpr auto loss(nk::input<nk::f32, batch, feature> x, nk::input<nk::f32, batch> y) const {
    const auto h = nk::tanh(nk::dot<"feature">(x, up));
    const auto error = nk::dot<"hidden">(h, down) - y;
    return nk::mean(error * error);
  }
};
using step = nk::train_step<perceptron, nk::adamw>;
constexpr nk::step_memory m = step::memory;

// 544 numbers, padded to whole blocks of 1,024; AdamW keeps two of each.
static_assert(m.parameters == 4096 && m.gradients == 4096 && m.optimizer_state == 2 * 4096);
// x and y, each aligned to 64 bytes; with them AdamW's numbers, the loss and the norm.
static_assert(m.staging == 4 * 16 * 4 + 64);
static_assert(m.inputs == m.staging + 64 + 64 + 64);
// What the backward pass reads of what there is when the loss is known: h, for the gradient of `down`; the
// slope of tanh, which h's kernel writes beside it; and the error, times 2/4.
static_assert(m.activations == 2 * 4 * 32 * 4 + 64);
static_assert(m.activations <= m.intermediates && m.workspace <= m.intermediates);
static_assert(m.peak ==
              m.parameters + m.gradients + m.optimizer_state + m.inputs + m.intermediates + m.tables);
// The tables are the plans': arguments of each kernel and of each of its operands.
static_assert(m.tables > step::gradient_plan::view().count.kernels * sizeof(nk::on_cpu::kernel_arguments));

}  // namespace
