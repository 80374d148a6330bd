// Convolution as a layer, of one axis or several: windows along each (ops/window.hpp), contracted with a
// weight.
#pragma once

#include "napkin/nn/mistakes.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/ops/window.hpp"

namespace napkin {

namespace rule {
/// call<"conv">, types<In, Out, what stands behind them...>
template <class... Facts>
struct conv_says_along_what {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "conv: behind the channels stand the axes that windows move along, each with the taps of its kernel: "
      "conv<channel, feature, nn::along<height, kernel_h>, nn::along<width, kernel_w>>");
};
}  // namespace rule

namespace nn {

/// What a convolution does along one axis: the axis, the kernel's taps on it, and how the window moves. By
/// default the axis keeps its size where Taps is odd; {.before = Taps - 1, .after = 0} sees nothing later.
template <class Axis, class Taps, std::size_t Step = 1, std::size_t Before = (Taps::size - 1) / 2,
          std::size_t After = Before, std::size_t Dilation = 1>
struct along {
  using taps = Taps;
  template <class X>
  static constexpr auto windows(const X& x) {
    return window<Axis::name, Taps, Step, Before, After, Dilation>(x);
  }
  template <class X>
  using seen = napkin::detail::windowed<"conv", Axis::name, Taps, X, Step, Before, After, Dilation>;
};

namespace detail {
/// Says an axis and a kernel's taps on it, as `along` does.
template <class W>
concept SaysTaps = requires {
  typename W::taps;
};

/// The axes of x seen through their windows, one after another.
template <class... Windows>
struct all_windows {
  template <class X>
  static constexpr auto of(const X& x) {
    return x;
  }
};
template <class First, class... Rest>
struct all_windows<First, Rest...> {
  template <class X>
  static constexpr auto of(const X& x) {
    return all_windows<Rest...>::of(First::windows(x));
  }
};

/// What is wrong with an X seen through these windows, one after another, and with what is summed then.
template <class Weight, class In, class... Windows>
struct convolution_of {
  template <class X, class First, class... Rest>
  static constexpr auto find_mistake() {
    if constexpr (is_failed<X>) {
      return std::type_identity<silent>{};
    } else {
      using mistake = typename First::template seen<X>::mistake;
      if constexpr (is_mistake<mistake>) {
        return std::type_identity<mistake>{};
      } else {
        using next = decltype(First::windows(std::declval<const X&>()));
        if constexpr (sizeof...(Rest) == 0)
          return std::type_identity<
              napkin::detail::product_layer_mistake<"conv", next, Weight, typename Windows::taps..., In>>{};
        else
          return find_mistake<next, Rest...>();
      }
    }
  }
};
}  // namespace detail

/// (..., axes, In) -> (..., axes, Out): 1-D along one axis, 2-D along two. Channels lie innermost in what it
/// gives; of what it takes, where they lie is a question of speed alone.
///
/// Cost     2 * Out * In * taps FLOPs for each position; windows are views, no copy of them is made
/// Example  nk::nn::conv<channel, feature, nk::nn::along<height, kernel_h>, nk::nn::along<width, kernel_w>>
template <class In, class Out, class... Windows>
struct conv {
  using checked = decltype(napkin::detail::wrong_axes<typename Windows::taps..., In, Out>::raise());
  BOOST_HANA_DEFINE_STRUCT(conv, (napkin::detail::layer_param<typename Windows::taps..., In, Out>, weight),
                           (param<Out>, bias));

  constexpr conv() {
    weight.initial = init::fan_in(In::size * (Windows::taps::size * ...));
    bias.initial = init::zeros();
  }
  template <class X>
  using mistake =
      typename decltype(detail::convolution_of<decltype(weight), In,
                                               Windows...>::template find_mistake<X, Windows...>())::type;

  template <class X>
  constexpr auto operator()(const X& x) const {
    if constexpr (is_mistake<mistake<X>>)
      return mistake<X>::raise(napkin::detail::by<X>);
    else
      return dot<Windows::taps::name..., In::name>(detail::all_windows<Windows...>::of(x), weight) + bias;
  }
};
/// Axes and taps that are not said together, or none: refused.
template <class In, class Out, class... Wrong>
requires(sizeof...(Wrong) == 0 || !(detail::SaysTaps<Wrong> && ...)) struct conv<In, Out, Wrong...> {
  using mistake = rule::conv_says_along_what<fact::call<"conv">, fact::types<In, Out, Wrong...>>;
  using checked = decltype(mistake::raise());
  BOOST_HANA_DEFINE_STRUCT(conv, (param<Out>, bias));

  template <class X>
  constexpr auto operator()(const X&) const {
    return failed{};
  }
};

}  // namespace nn
}  // namespace napkin
