// expect: the tensor has no axis of this name: the likely one stands in perhaps
// facts: im | in
#include <napkin/cuda.hpp>
#include <napkin/train/batch_steps.hpp>
#include <napkin/train/validation.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct in : nk::dim<"in", 6> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<in>, weight));
  constexpr auto loss(nk::input<nk::u16, batch> x, nk::input<nk::u16, batch> y) const {
#ifdef MISTAKE
    const auto scale = nk::dot<"im">(weight, weight);
#else
    const auto scale = nk::dot<"in">(weight, weight);
#endif
    return nk::mse(scale * nk::cast<nk::f32>(x), nk::cast<nk::f32>(y));
  }
};

double train(nk::batch_prefetcher& batches, const nk::validation_set& validation) {
#ifdef MISTAKE  // of a step on the GPU, which the twin is to compile without its compiler
  using step = nk::train_step<model, nk::adamw, nk::cuda>;
#else
  using step = nk::train_step<model, nk::adamw>;
#endif
  nk::trainer<step> t(nk::seed{1}, {.optimizer = {.weight_decay = 0}, .clip_norm = 0});
  nk::batch_steps steps(t, batches);
  const nk::step_result r = steps.step(1e-3, {}, [] {});
#ifdef MISTAKE
  const std::vector<nk::u16> tokens(4);
  t.stage(tokens, tokens);
  t.launch(1e-3);
  t.wait();
  t.fetch();
  t.store();
  if (t.order() == nk::launch_order::by_data && t.use_algorithms(t.algorithms())) t.set_steps(0);
#endif
  return r.loss + validation.loss(t) + static_cast<double>(t.steps());
}
