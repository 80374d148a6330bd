// expect: groups: this pattern is no parameter's name, or only of those that an earlier group has already
// facts: norm.* | model
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct hidden : nk::dim<"hidden", 8> {};
struct out : nk::dim<"out", 5> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<hidden, out>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, hidden> x) const { return nk::mean(nk::matmul(x, weight)); }
};
struct slow {
#ifdef MISTAKE
  static constexpr nk::parameter_group value[] = {{.pattern = "weight|norm.*", .rate_scale = 0.1}};
};
nk::trainer<nk::train_step<model, nk::adamw, nk::groups<slow>>> trainer(nk::seed{1});
#else
  static constexpr nk::parameter_group value[] = {{.pattern = "weight", .rate_scale = 0.1}};
};
nk::trainer<nk::train_step<model, nk::adamw, nk::groups<slow>>> trainer(nk::seed{1});
#endif
int main() {}
