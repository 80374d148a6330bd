// A deep linear network, and what every optimizer makes of it: the same model, the same data, nine ways to
// update. What a step computes and holds is known before it runs, so the ladder of memory is printed first.
#include <cstdio>
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

/// x through Layers square matrices, then one number: no bias, nothing between.
template <std::size_t Batch, std::size_t Width, std::size_t Layers>
struct cruncher {
  using batch = nk::dim<"batch", Batch>;
  using hidden = nk::dim<"hidden", Width>;
  using matrix = nk::param<hidden, nk::primed<hidden>>;
  using matrices = std::array<matrix, Layers>;
  BOOST_HANA_DEFINE_STRUCT(cruncher, (matrices, layers), (nk::param<hidden>, head));

  constexpr cruncher() {
    for (auto& layer : layers) layer.initial = nk::init::normal(1 / nk::math::sqrt(double{Width}));
    head.initial = nk::init::normal(1 / nk::math::sqrt(double{Width}));
  }
  constexpr auto loss(nk::input<nk::f32, batch, hidden> x, nk::input<nk::f32, batch> y) const {
    for (const auto& layer : layers) x = nk::rename<"hidden'", "hidden">(nk::dot<"hidden">(x, layer));
    return nk::mse(nk::dot<"hidden">(x, head), y);
  }
};

// The one that a lecture works out by hand, B = 2, D = 4, L = 2: 36 parameters. Forward 2 B D D L + 2 B D
// FLOPs; backward as many for the weights, and 2 B D D for what flows back through a layer: nobody wants the
// gradient of x, and what the head hands back is an outer product, which sums nothing. The rule of 6 N D says
// 432.
using small = nk::train_step<cruncher<2, 4, 2>, nk::adagrad>;
static_assert(nk::count_parameters<cruncher<2, 4, 2>> == 36);
static_assert(nk::conventions::exact<small> == nk::conventions::counts{144, 144 + 64});
static_assert(nk::conventions::rule_6nd_of(36, 2).total() == 432);

constexpr std::size_t batch = 16, width = 32;
using model = cruncher<batch, width, 3>;

/// Trains, prints a line, and says whether the loss fell to a hundredth.
template <class Optimizer, class... Policies>
bool train(double rate, const typename Optimizer::options& options) {
  using step = nk::train_step<model, Optimizer, Policies...>;
  nk::trainer<step> trainer(nk::seed{1}, {.optimizer = options, .clip_norm = 1});
  const nk::warmup_linear schedule{.peak = rate, .warmup_steps = 10, .total_steps = 400};
  std::vector<float> x(batch * width), y(batch);
  float first = 0, last = 0;
  for (std::int64_t s = 0; s < schedule.total_steps; ++s) {
    const nk::random_stream stream = nk::stream_of(2, "data", static_cast<std::uint64_t>(s));
    for (std::size_t b = 0; b < batch; ++b) {
      y[b] = 0;  // learnt is the mean of the first half less that of the second
      for (std::size_t i = 0; i < width; ++i) {
        x[b * width + i] = nk::normal<float>(stream, b * width + i);
        y[b] += x[b * width + i] * (i < width / 2 ? 0.25f : -0.25f);
      }
    }
    last = trainer.step(schedule(s), x, y).loss;
    if (s == 0) first = last;
  }
  std::printf("%-9s state %6zu bytes  update %6llu FLOPs  loss %.4f -> %.6f\n", Optimizer::name,
              step::memory.optimizer_state,
              static_cast<unsigned long long>(step::cost.optimizer.flops.total()), static_cast<double>(first),
              static_cast<double>(last));
  return last < 0.01f * first;
}

int main() {
  std::printf("%zu parameters, %zu bytes with their padding\n", nk::count_parameters<model>,
              nk::train_step<model, nk::sgd>::memory.parameters);
  bool all = train<nk::sgd>(0.05, {});
  all &= train<nk::momentum>(0.01, {});
  all &= train<nk::nesterov>(0.01, {});
  all &= train<nk::adagrad>(0.05, {});
  all &= train<nk::rmsprop>(0.003, {});
  all &= train<nk::adam>(0.01, {});
  all &= train<nk::adamw>(0.01, {.weight_decay = 0.01});
  all &= train<nk::lion>(0.003, {.weight_decay = 0.01});
  all &= train<nk::muon>(0.02, {.weight_decay = 0.01, .others = {.weight_decay = 0.01}});
  return all ? 0 : 1;
}
