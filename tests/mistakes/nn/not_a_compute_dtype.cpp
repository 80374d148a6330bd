// expect: compute_in: a model is computed in f32, tf32, bf16, f16 or f8
// facts: type<
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};
struct out : nk::dim<"out", 5> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<hidden, out>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, hidden> x) const { return nk::mean(nk::matmul(x, weight)); }
};
#ifdef MISTAKE
nk::trainer<nk::train_step<model, nk::adamw, nk::compute_in<nk::i32>>> trainer(nk::seed{1});
#else
nk::trainer<nk::train_step<model, nk::adamw, nk::compute_in<nk::bf16>>> trainer(nk::seed{1});
#endif
int main() {}
