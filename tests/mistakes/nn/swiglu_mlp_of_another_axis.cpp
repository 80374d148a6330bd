// expect: the tensor has no axis of this name
// facts: embed | batch, seq, ffn
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct embed : nk::dim<"embed", 24> {};
struct ffn : nk::dim<"ffn", 32> {};

struct model {
  using mlp = nk::nn::swiglu_mlp<embed, ffn>;
  BOOST_HANA_DEFINE_STRUCT(model, (mlp, feed));
#ifdef MISTAKE
  constexpr auto loss(nk::input<nk::f32, batch, seq, ffn> x) const { return nk::mean(feed(x)); }
#else
  constexpr auto loss(nk::input<nk::f32, batch, seq, embed> x) const { return nk::mean(feed(x)); }
#endif
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
