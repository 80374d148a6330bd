// expect: this is asked of a training step's type
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct embed : nk::dim<"embed", 16> {};

template <std::size_t Batch>
struct model {
  using batch = nk::dim<"batch", Batch>;
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<embed>, weight));
  constexpr auto loss(nk::input<nk::f32, batch, embed> x) const { return nk::mean(x * weight); }
};
template <std::size_t Batch>
using step_of = nk::train_step<model<Batch>, nk::adamw>;

#ifdef MISTAKE
constexpr std::size_t batch = nk::max_batch<nk::h100_sxm, model, 64>;
#else
constexpr std::size_t batch = nk::max_batch<nk::h100_sxm, step_of, 64>;
#endif
