// Whether steps fit in a device, and the largest batch that does.
#include "napkin/cost/devices.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/optim/sgd.hpp"
#include "napkin/train/fits.hpp"

namespace {

namespace nk = napkin;

struct feature : nk::dim<"feature", 64> {};
struct hidden : nk::dim<"hidden", 96> {};

template <std::size_t Batch>
struct perceptron {
  using batch = nk::dim<"batch", Batch>;
  BOOST_HANA_DEFINE_STRUCT(perceptron, (nk::param<feature, hidden>, up), (nk::param<hidden>, down));

  constexpr auto loss(nk::input<nk::f32, batch, feature> x, nk::input<nk::f32, batch> y) const {
    const auto error = nk::dot<"hidden">(nk::tanh(nk::dot<"feature">(x, up)), down) - y;
    return nk::mean(error * error);
  }
};
template <std::size_t Batch>
using step_of = nk::train_step<perceptron<Batch>, nk::adamw>;

constexpr nk::device with_memory(std::uint64_t bytes) {
  nk::device d{.name = "a small one"};
  d.memory = bytes;
  return d;
}
constexpr nk::device small = with_memory(400'000);
constexpr nk::device tiny = with_memory(10'000);
constexpr nk::device exact = with_memory(step_of<37>::memory.peak);
constexpr nk::device one_less = with_memory(step_of<37>::memory.peak - 1);

static_assert(nk::fits<nk::h100_sxm, step_of<16>>);
static_assert(!nk::fits<tiny, step_of<1>>);
static_assert(nk::fits<exact, step_of<37>> && !nk::fits<one_less, step_of<37>>);

// The largest: it fits, one more does not.
constexpr std::size_t most = nk::max_batch<small, step_of>;
static_assert(most > 1 && nk::fits<small, step_of<most>> && !nk::fits<small, step_of<most + 1>>);
static_assert(nk::max_batch<exact, step_of> == 37);
static_assert(nk::max_batch<one_less, step_of> == 36);
static_assert(nk::max_batch<tiny, step_of> == 0);
static_assert(nk::max_batch<small, step_of, 8> == 8);
constexpr std::size_t largest = nk::max_batch<nk::h100_sxm, step_of>;  // no round number ends the search
static_assert(largest > 1'000'000 && nk::fits<nk::h100_sxm, step_of<largest>> &&
              !nk::fits<nk::h100_sxm, step_of<largest + 1>>);

// A budget that values made again keep: more fits, and what fits is as constant as before.
template <std::size_t Batch>
struct deep {
  using batch = nk::dim<"batch", Batch>;
  BOOST_HANA_DEFINE_STRUCT(deep, (nk::param<feature, hidden>, first), (nk::param<hidden, feature>, second),
                           (nk::param<feature, hidden>, third), (nk::param<hidden>, down));

  constexpr auto loss(nk::input<nk::f32, batch, feature> x) const {
    const auto a = nk::tanh(nk::dot<"feature">(x, first));
    const auto b = nk::tanh(nk::dot<"hidden">(a, second));
    const auto y = nk::dot<"hidden">(nk::tanh(nk::dot<"feature">(b, third)), down);
    return nk::mean(y * y);
  }
};
template <std::size_t Batch>
using deep_step = nk::train_step<deep<Batch>, nk::sgd>;
constexpr std::size_t budget = deep_step<64>::memory.peak / 10 * 9;
constexpr nk::device tight = with_memory(budget);
template <std::size_t Batch>
using thrifty = nk::train_step<deep<Batch>, nk::sgd, nk::recompute_to_fit<budget>>;

static_assert(!nk::fits<tight, deep_step<64>> && nk::fits<tight, thrifty<64>>);
static_assert(nk::max_batch<tight, thrifty, 64> == 64);
static_assert(thrifty<64>::recomputed.fits && thrifty<64>::recomputed.choice > 0);
static_assert(thrifty<64>::memory.peak + thrifty<64>::recomputed.saved == deep_step<64>::memory.peak);
static_assert(thrifty<64>::cost.flops.recomputed == thrifty<64>::recomputed.flops);
static_assert(thrifty<64>::cost.flops.total() - thrifty<64>::recomputed.flops ==
              deep_step<64>::cost.flops.total());
static_assert(!thrifty<256>::recomputed.fits && !nk::fits<tight, thrifty<256>>);
// What the budget allows without is left as it is, to the type of its plan.
static_assert(thrifty<16>::recomputed.choice == 0 && thrifty<16>::recomputed.saved == 0);
static_assert(std::is_same_v<thrifty<16>::gradient_plan, deep_step<16>::gradient_plan>);

}  // namespace
