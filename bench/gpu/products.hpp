// The matrix products of a GPT-2 124M step, of which G1 takes the plain ones and G2 those with something
// behind them: (token, in) times (in, out), forward, and for the gradients of either operand.
#pragma once

#include "rung.hpp"

namespace napkin::benched {

template <std::size_t Tokens, std::size_t In, std::size_t Out>
struct layer {
  using token = dim<"token", sized(Tokens, Tokens / 1024)>;
  using in = dim<"in", sized(In, In / 48)>;
  using out = dim<"out", sized(Out, Out / 48)>;
  using x = input<bf16, token, in>;
  using weight = input<bf16, in, out>;
  using bias = input<bf16, out>;
  using y = input<bf16, token, out>;
};

struct forward {
  constexpr auto operator()(const auto& x, const auto& w) const {
    return einsum<"token in, in out -> token out">(x, w);
  }
};
struct input_gradient {
  constexpr auto operator()(const auto& dy, const auto& w) const {
    return einsum<"token out, in out -> token in">(dy, w);
  }
};
struct weight_gradient {
  constexpr auto operator()(const auto& x, const auto& dy) const {
    return einsum<"token in, token out -> in out">(x, dy);
  }
};

}  // namespace napkin::benched
