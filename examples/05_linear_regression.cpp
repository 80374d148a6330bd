// A model and its training step: parameters are members of a plain struct, its loss is traced once in the
// compiler, and forward pass, gradients, update and memory are fixed before the program starts. What is
// learnt are the 16 numbers that made the data: 0, 1, ..., 15.
#include <cmath>
#include <cstdio>
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

struct batch : nk::dim<"batch", 16> {};
struct feature : nk::dim<"feature", 16> {};

// A model owns no memory: it says which parameters there are, how they begin, and what is done with them.
// The members' names are the parameters'.
struct regression {
  BOOST_HANA_DEFINE_STRUCT(regression, (nk::param<feature>, weight), (nk::param<>, bias));

  constexpr regression() { weight.initial = bias.initial = nk::init::zeros(); }
  constexpr auto loss(nk::input<nk::f32, batch, feature> x, nk::input<nk::f32, batch> y) const {
    const auto error = nk::dot<"feature">(x, weight) + bias - y;  // [batch]
    return nk::mean(error * error);
  }
};

using step = nk::train_step<regression, nk::adamw>;
static_assert(nk::count_parameters<regression> == 17);
static_assert(nk::parameter_table<regression>[0].name == "weight");
static_assert(step::memory.peak < 64'000);  // bytes: all that training needs

int main() {
  // One allocation, here; none in a step. The weights are far apart, so the decay that AdamW adds is left
  // out.
  nk::trainer<step> trainer(nk::seed{1}, {.optimizer = {.weight_decay = 0}, .clip_norm = 0});
  const nk::warmup_cosine rate{.peak = 0.5, .warmup_steps = 10, .total_steps = 400, .final_fraction = 0};

  std::vector<float> x(batch::size * feature::size), y(batch::size);
  for (std::int64_t i = 0; i < rate.total_steps; ++i) {
    // Data are a function of the seed and the step, so that every run is the same.
    const nk::random_stream stream = nk::stream_of(static_cast<std::uint64_t>(i), "data");
    for (std::size_t b = 0; b < batch::size; ++b) {
      y[b] = 0;
      for (std::size_t f = 0; f < feature::size; ++f) {
        x[b * feature::size + f] = nk::normal<float>(stream, b * feature::size + f);
        y[b] += x[b * feature::size + f] * static_cast<float>(f);
      }
    }
    const nk::step_result r = trainer.step(rate(trainer.steps()), x, y);
    if (i % 50 == 0) std::printf("step %3d  loss %.6f\n", static_cast<int>(i), static_cast<double>(r.loss));
  }

  float worst = 0;
  const nk::named_memory weight = trainer.value(0);
  std::printf("%s:", std::string(weight.name).c_str());
  for (std::size_t f = 0; f < weight.count; ++f) {
    std::printf(" %.3f", static_cast<double>(weight.data[f]));
    worst = std::fmax(worst, std::abs(weight.data[f] - static_cast<float>(f)));
  }
  std::printf("\nthe largest error is %.6f\n", static_cast<double>(worst));
  return worst < 1e-2f ? 0 : 1;
}
