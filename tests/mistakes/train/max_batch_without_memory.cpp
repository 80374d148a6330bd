// expect: this device does not say how many bytes of memory it has
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
constexpr nk::device board{.name = "a board", .bandwidth = 1'000'000'000};
constexpr std::size_t batch = nk::max_batch<board, step_of, 64>;
#else
constexpr nk::device board{.name = "a board", .memory = 200'000, .bandwidth = 1'000'000'000};
constexpr std::size_t batch = nk::max_batch<board, step_of, 64>;
#endif
