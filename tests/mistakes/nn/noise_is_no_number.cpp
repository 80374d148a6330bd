// expect: dropout: the noise is one number of i64, an input<i64> of the loss
// facts: f32 | batch
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<hidden>, weight));
#ifdef MISTAKE
  constexpr auto loss(nk::input<nk::f32, batch, hidden> x, nk::input<nk::f32, batch> noise) const {
    return nk::mean(nk::dropout(x * weight, 0.1, noise));
  }
#else
  constexpr auto loss(nk::input<nk::f32, batch, hidden> x, nk::input<nk::i64> noise) const {
    return nk::mean(nk::dropout(x * weight, 0.1, noise));
  }
#endif
};
int main() { nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1}); }
