// What K2 and K3 normalise: rows of a residual stream in bf16, statistics and weights in f32.
#pragma once

#include "rung.hpp"

namespace napkin::benched {

template <std::size_t Width>
struct rows {
  using token = dim<"token", sized(65536, 48)>;
  using embed = dim<"embed", sized(Width, Width / 16)>;
  using stream = input<bf16, token, embed>;
  using weight = input<f32, embed>;
};

constexpr auto norm(const auto& h, const auto& gain, const auto& bias) {
  return cast<bf16>(layer_norm<"embed">(cast<f32>(h), gain, bias));
}

}  // namespace napkin::benched
