// expect: train_step: after model and optimizer stand policies: groups<list>, micro_batches<4>
// expect: micro_batches<4>, compute_in<bf16>, recompute_to_fit<bytes>, cuda
// facts: adamw
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
nk::trainer<nk::train_step<model, nk::muon, nk::adamw>> trainer(nk::seed{1});
#else
nk::trainer<nk::train_step<model, nk::muon, nk::micro_batches<2>>> trainer(nk::seed{1});
#endif
int main() {}
