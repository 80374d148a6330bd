// expect: the tensor has no axis of this name
// facts: embed | batch, seq, vocab
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct embed : nk::dim<"embed", 24> {};
struct vocab : nk::dim<"vocab", 32> {};

struct model {
  using head_layer = nk::nn::linear<embed, vocab>;
  BOOST_HANA_DEFINE_STRUCT(model, (nk::nn::layer_norm<embed>, norm), (head_layer, head));
  constexpr auto loss(nk::input<nk::f32, batch, seq, embed> x) const {
#ifdef MISTAKE
    return nk::mean(norm(head(x)));
#else
    return nk::mean(head(norm(x)));
#endif
  }
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
