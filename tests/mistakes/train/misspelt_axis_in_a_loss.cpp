// expect: the tensor has no axis of this name: the likely one stands in perhaps
// facts: im | in
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct in : nk::dim<"in", 6> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<in>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, in> x, nk::input<nk::f32, batch> y) const {
#ifdef MISTAKE
    return nk::mse(nk::dot<"im">(x, weight), y);
#else
    return nk::mse(nk::dot<"in">(x, weight), y);
#endif
  }
};
using step = nk::train_step<model, nk::adamw>;
static_assert(step::memory.peak < 1'000'000);

double train(nk::checkpoint_folder& folder, nk::file_system& files, const nk::sampler_state& sampler) {
  nk::trainer<step> t(nk::seed{1}, {.weight_decay = 0});
  const nk::resumed_run run = nk::load_checkpoint(folder, t);
  const nk::run_state before = nk::load_checkpoint(files, "run", t);
  t.set_steps(static_cast<std::int64_t>(run.state.step + before.step));
  const std::vector<float> x(24), y(4);
  const nk::step_result r = t.step(1e-3, x, y);
  nk::require_applied(t, r);
  nk::require_finite(t);
  std::vector<double> seconds(t.timed_kernels);
  t.step_timed(seconds, 1e-3, x, y);
  t.apply_gradients(1e-3, t.gradient_norm());
  nk::save_checkpoint(folder, t, sampler);
  nk::save_checkpoint(files, "run", t, sampler);
  nk::predictor<model, &model::loss> predict(t.value_pointers());
  double sum = r.loss + t.evaluate(x, y) + predict(x, y)[0] + t.gradient(0).data[0] + t.state(0, 0).data[0];
  for (std::size_t i = 0; i != t.parameters; ++i) sum += t.value(i).data[0];
  return nk::find_nonfinite(t).empty() ? sum : static_cast<double>(t.steps());
}
