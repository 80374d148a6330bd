// expect: indices must be integers
// facts: f32
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct vocab : nk::dim<"vocab", 32> {};
struct embed : nk::dim<"embed", 24> {};

struct model {
  using layer = nk::nn::embedding<vocab, embed>;
  BOOST_HANA_DEFINE_STRUCT(model, (layer, tokens));
#ifdef MISTAKE
  constexpr auto loss(nk::input<nk::f32, batch, seq> text) const { return nk::mean(tokens(text)); }
#else
  constexpr auto loss(nk::input<nk::u16, batch, seq> text) const { return nk::mean(tokens(text)); }
#endif
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
