// expect: a traced function (a loss, what fn or grad are given) mixes its own values with a tensor
// facts: hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};

const auto scale = nk::ones<nk::f32, hidden>();

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<hidden>, gain));
#ifdef MISTAKE
  constexpr auto loss(nk::input<nk::f32, batch, hidden> x) const { return nk::mean(x * gain * scale); }
#else
  constexpr auto loss(nk::input<nk::f32, batch, hidden> x, nk::input<nk::f32, hidden> by) const {
    return nk::mean(x * gain * by);
  }
#endif
};

int main() { nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1}); }
