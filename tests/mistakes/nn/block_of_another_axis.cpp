// expect: the tensor has no axis of this name
// facts: seq | batch, place, embed
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct place : nk::dim<"place", 6> {};
struct embed : nk::dim<"embed", 24> {};
struct heads : nk::dim<"heads", 2> {};
struct hidden : nk::dim<"hidden", 8> {};
struct ffn : nk::dim<"ffn", 32> {};

struct model {
  using attention = nk::nn::attention<seq, embed, heads, hidden>;
  using block = nk::nn::block<nk::nn::layer_norm<embed>, attention, nk::nn::mlp<embed, ffn>>;
  BOOST_HANA_DEFINE_STRUCT(model, (block, first), (block, second));
#ifdef MISTAKE
  constexpr auto loss(nk::input<nk::f32, batch, place, embed> x) const { return nk::mean(second(first(x))); }
#else
  constexpr auto loss(nk::input<nk::f32, batch, seq, embed> x) const { return nk::mean(second(first(x))); }
#endif
};
nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1});
