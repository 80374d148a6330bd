// expect: compute_in: behind the dtype stands nothing, or, of f8 alone, fast_accumulation
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
nk::trainer<nk::train_step<model, nk::adamw, nk::compute_in<nk::bf16, nk::fast_accumulation>>> trainer(
    nk::seed{1});
#else
nk::trainer<nk::train_step<model, nk::adamw, nk::compute_in<nk::f8, nk::fast_accumulation>>> trainer(nk::seed{
    1});
#endif
int main() {}
