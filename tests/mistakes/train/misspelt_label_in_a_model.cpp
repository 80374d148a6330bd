// expect: a label stands in one operand only
// facts: embd | embed
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 8> {};
struct hidden : nk::dim<"hidden", 32> {};

#ifdef MISTAKE
struct mlp {
  BOOST_HANA_DEFINE_STRUCT(mlp, (nk::param<embed, hidden>, up), (nk::param<hidden, embed>, down));
  constexpr auto operator()(auto x) const {
    auto h = nk::relu(nk::einsum<"... embd, embed hidden -> ... hidden">(x, up));
    return nk::einsum<"... hidden, hidden embed -> ... embed">(h, down);
  }
};
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (std::array<mlp, 2>, blocks));
  constexpr auto loss(nk::input<nk::f32, batch, embed> x) const {
    for (const mlp& block : blocks) x = x + block(x);
    return nk::mean(x * x);
  }
};
#else
struct mlp {
  BOOST_HANA_DEFINE_STRUCT(mlp, (nk::param<embed, hidden>, up), (nk::param<hidden, embed>, down));
  constexpr auto operator()(auto x) const {
    auto h = nk::relu(nk::einsum<"... embed, embed hidden -> ... hidden">(x, up));
    return nk::einsum<"... hidden, hidden embed -> ... embed">(h, down);
  }
};
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (std::array<mlp, 2>, blocks));
  constexpr auto loss(nk::input<nk::f32, batch, embed> x) const {
    for (const mlp& block : blocks) x = x + block(x);
    return nk::mean(x * x);
  }
};
#endif
static_assert(nk::train_step<model, nk::adamw>::memory.peak > 0);
