// expect: nothing says under which names this model's parameters stand in files
// facts: type<model
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct in : nk::dim<"in", 6> {};
struct out : nk::dim<"out", 3> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<in, out>, weight));
  constexpr auto loss(nk::input<nk::f32, in> x) const { return nk::sum(nk::dot<"in">(x, weight)); }
};
void f(nk::trainer<nk::train_step<model, nk::adamw>>& t) {
#ifdef MISTAKE
  nk::save_pretrained("exported", t);
#else
  const nk::named_memory parameters[] = {t.value(0)};
  const nk::weight_map map{.names = {{"weight", "fc.weight", 1, true}}};
  nk::save_weights(nk::posix_file_system(), "exported", map, parameters);
#endif
}
