// expect: the tensor has no axis of this name
// facts: embed | batch, seq, hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct embed : nk::dim<"embed", 24> {};

struct model {
  using layer = nk::nn::linear<embed, hidden>;
  BOOST_HANA_DEFINE_STRUCT(model, (layer, down));
#ifdef MISTAKE
  constexpr auto loss(nk::input<nk::f32, batch, seq, hidden> x) const { return nk::mean(down(x)); }
#else
  constexpr auto loss(nk::input<nk::f32, batch, seq, embed> x) const { return nk::mean(down(x)); }
#endif
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
