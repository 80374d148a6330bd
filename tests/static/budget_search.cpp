// The choice for a budget is found in a few plans: it is the one that trying all of them finds, for every budget at
// which that is another.
#include <utility>

#include "napkin/optim/adamw.hpp"
#include "napkin/train/step.hpp"
#include "support/three_layers.hpp"

namespace nk = napkin;

namespace {

template <std::size_t Bytes, class... Policies>
using search = nk::detail::recompute_search<Bytes, nk::testing::three_layers, nk::adamw,
                                            nk::recompute_to_fit<Bytes>, Policies...>;

template <class... Policies>
struct tried {
  using any = search<0, Policies...>;
  static constexpr int count = any::list().count;
  static_assert(count > 3);

  template <int Choice>
  static constexpr std::size_t peak = any::template peak<Choice>;
  template <int... Choices>
  static constexpr int first_within(std::size_t bytes, std::integer_sequence<int, Choices...>) {
    int first = -1;
    ((first = first < 0 && peak<Choices> <= bytes ? Choices : first), ...);
    return first;
  }
  template <int... Choices>
  static constexpr std::size_t least(std::integer_sequence<int, Choices...>) {
    std::size_t least = peak<0>;
    ((least = peak<Choices> < least ? peak<Choices> : least), ...);
    return least;
  }
  using all = std::make_integer_sequence<int, count>;

  template <std::size_t Bytes>
  static constexpr bool is_found() {
    constexpr auto found = search<Bytes, Policies...>::value;
    return found.fits && found.choice == first_within(Bytes, all{});
  }
  template <int... Choices>
  static constexpr bool are_found(std::integer_sequence<int, Choices...>) {
    return (is_found<peak<Choices>>() && ...);
  }
  static constexpr bool right = are_found(all{});

  static constexpr auto of_too_little = search<least(all{}) - 1, Policies...>::value;
  static constexpr bool refuses =
      !of_too_little.fits && of_too_little.choice == first_within(least(all{}), all{});
};

static_assert(tried<>::right && tried<>::refuses);
static_assert(tried<nk::compute_in<nk::bf16>, nk::micro_batches<2>>::right);
static_assert(tried<nk::compute_in<nk::bf16>, nk::micro_batches<2>>::refuses);

}  // namespace
