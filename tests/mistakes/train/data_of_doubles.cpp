// expect: the data has elements of another type
// facts: double | f32
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 16> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<embed>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, embed> x) const { return nk::mean(x * weight); }
};
using step = nk::train_step<model, nk::adamw>;

#ifdef MISTAKE
void f(nk::trainer<step>& trainer, const std::vector<double>& x) { trainer.evaluate(x); }
#else
void f(nk::trainer<step>& trainer, const std::vector<float>& x) { trainer.evaluate(x); }
#endif
