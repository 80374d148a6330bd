// expect: micro_batches: batches that lie behind one another are of one size
// facts: model
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", nk::up_to<4>> {};
struct embed : nk::dim<"embed", 16> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<embed>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, embed> x) const { return nk::mean(x * weight); }
};

#ifdef MISTAKE
using step = nk::train_step<model, nk::adamw, nk::micro_batches<2>>;
nk::trainer<step> trainer(nk::seed{1});
#else
using step = nk::train_step<model, nk::adamw>;
nk::trainer<step> trainer(nk::seed{1});
#endif
