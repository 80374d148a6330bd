// The choice for a budget: of few it is the one that trying all of them finds, for every budget at which that is
// another; of many it is one that fits, though their peaks do not fall with what they keep.
#include <algorithm>
#include <array>
#include <utility>

#include "napkin/optim/adamw.hpp"
#include "napkin/train/step.hpp"
#include "support/three_layers.hpp"

namespace nk = napkin;

namespace {

/// Five layers, no two alike.
struct rows : nk::dim<"rows", 256> {};
struct a0 : nk::dim<"a", 64> {};
struct a1 : nk::dim<"b", 96> {};
struct a2 : nk::dim<"c", 48> {};
struct a3 : nk::dim<"d", 112> {};
struct a4 : nk::dim<"e", 80> {};
struct a5 : nk::dim<"f", 72> {};
struct five_layers {
  BOOST_HANA_DEFINE_STRUCT(five_layers, (nk::param<a0, a1>, first), (nk::param<a1, a2>, second),
                           (nk::param<a2, a3>, third), (nk::param<a3, a4>, fourth),
                           (nk::param<a4, a5>, fifth), (nk::param<a5>, last));
  constexpr auto loss(nk::input<nk::f32, rows, a0> x) const {
    const auto b = nk::gelu(nk::dot<"a">(x, first));
    const auto c = nk::gelu(nk::dot<"b">(b, second));
    const auto d = nk::gelu(nk::dot<"c">(c, third));
    const auto e = nk::gelu(nk::dot<"d">(d, fourth));
    const auto y = nk::dot<"f">(nk::gelu(nk::dot<"e">(e, fifth)), last);
    return nk::mean(y * y);
  }
};

template <class Model, std::size_t Bytes, class... Policies>
using search =
    nk::detail::recompute_search<Bytes, Model, nk::adamw, nk::recompute_to_fit<Bytes>, Policies...>;

template <class Model, class... Policies>
struct tried {
  using any = search<Model, 0, Policies...>;
  static constexpr int count = any::list().count;
  using all = std::make_integer_sequence<int, count>;

  template <int... Choices>
  static constexpr auto peaks_of(std::integer_sequence<int, Choices...>) {
    return std::array<std::size_t, sizeof...(Choices)>{any::template peak<Choices>...};
  }
  static constexpr std::array<std::size_t, count> peaks = peaks_of(all{});
  static constexpr int first_within(std::size_t bytes) {
    int k = 0;
    while (peaks[static_cast<std::size_t>(k)] > bytes) ++k;
    return k;
  }
  static constexpr std::size_t least = std::ranges::min(peaks);

  template <std::size_t Bytes>
  static constexpr auto found = search<Model, Bytes, Policies...>::value;
  template <std::size_t Bytes>
  static constexpr bool keeps = found<Bytes>.fits&& peaks[found<Bytes>.choice] <= Bytes;
  template <int... Choices>
  static constexpr bool all_are_kept(std::integer_sequence<int, Choices...>) {
    return (keeps<peaks[Choices]> && ...);
  }
  template <int... Choices>
  static constexpr bool all_are_cheapest(std::integer_sequence<int, Choices...>) {
    return ((found<peaks[Choices]>.choice == first_within(peaks[Choices])) && ...);
  }
  static constexpr bool kept = all_are_kept(all{});
  static constexpr bool cheapest = all_are_cheapest(all{});
  static constexpr bool refuses = !found<least - 1>.fits && found<least - 1>.choice == first_within(least);
};

using few = tried<nk::testing::three_layers>;
using few_in_bf16 = tried<nk::testing::three_layers, nk::compute_in<nk::bf16>, nk::micro_batches<2>>;
using many = tried<five_layers>;
static_assert(few::count > 3 && few_in_bf16::count > 3 && few::any::few >= few_in_bf16::count);
static_assert(few::kept && few::cheapest && few::refuses);
static_assert(few_in_bf16::kept && few_in_bf16::cheapest && few_in_bf16::refuses);
static_assert(many::count > many::any::few && many::kept && many::refuses);

}  // namespace
