// expect: not reflected: a member of the model is a class whose own members nothing lists
#include "napkin/nn/layers.hpp"

namespace nk = napkin;

struct embed : nk::dim<"embed", 4> {};

struct scale {
#ifdef MISTAKE
  nk::param<embed> by;
#else
  BOOST_HANA_DEFINE_STRUCT(scale, (nk::param<embed>, by));
#endif
};
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (scale, layer));
};
std::size_t n = nk::parameter_table<model>.size();
