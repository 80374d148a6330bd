// expect: a traced function (a loss, what fn or grad are given) cannot branch on its values
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};
struct out : nk::dim<"out", 5> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<hidden, out>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, hidden> x) const {
    const auto l = nk::mean(nk::matmul(x, weight));
#ifdef MISTAKE
    if (l > 1) return l * 2;
    return l;
#else
    return nk::where(l > 1, l * 2, l);
#endif
  }
};

int main() { nk::trainer<nk::train_step<model, nk::adamw>> trainer(nk::seed{1}); }
