// expect: the tensor has no axis of this name
// facts: embed | batch, seq, vocab
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct vocab : nk::dim<"vocab", 32> {};
struct embed : nk::dim<"embed", 24> {};
struct kv_heads : nk::dim<"kv_heads", 2> {};
struct group : nk::dim<"group", 2> {};
struct hidden : nk::dim<"hidden", 8> {};

struct model {
  using attention = nk::nn::grouped_attention<seq, embed, kv_heads, group, hidden>;
  BOOST_HANA_DEFINE_STRUCT(model, (attention, mix));
#ifdef MISTAKE
  constexpr auto loss(nk::input<nk::f32, batch, seq, vocab> x) const { return nk::mean(mix(x)); }
#else
  constexpr auto loss(nk::input<nk::f32, batch, seq, embed> x) const { return nk::mean(mix(x)); }
#endif
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
