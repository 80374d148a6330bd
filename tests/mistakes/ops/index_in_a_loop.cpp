// expect: what is not computed yet is indexed by a constant
// facts: seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

struct sums {
#ifdef MISTAKE
  constexpr auto operator()(nk::input<nk::f32, batch, seq> x) const {
    auto total = nk::index<"seq", 0>(x);
    for (int t = 1; t < 6; ++t) total = total * 0.5f + nk::index<"seq">(x, t);
    return nk::sum(total);
  }
#else
  template <std::size_t... T>
  static constexpr auto total_of(nk::input<nk::f32, batch, seq> x, std::index_sequence<T...>) {
    auto total = nk::index<"seq", 0>(x) * 1.0f;
    ((total = total * 0.5f + nk::index<"seq", T + 1>(x)), ...);
    return total;
  }
  constexpr auto operator()(nk::input<nk::f32, batch, seq> x) const {
    return nk::sum(total_of(x, std::make_index_sequence<5>{}));
  }
#endif
};
