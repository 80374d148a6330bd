// K6: sums and maxima over each axis of 64 x 1,024 x 768, bf16 to f32.
#include "rung.hpp"

namespace nk = napkin;

namespace {

using batch = nk::dim<"batch", nk::benched::sized(64, 6)>;
using seq = nk::dim<"seq", nk::benched::sized(1024, 40)>;
using embed = nk::dim<"embed", nk::benched::sized(768, 96)>;

template <nk::fixed_string Axis>
struct sum_over {
  constexpr auto operator()(const auto& x) const { return nk::sum<Axis>(nk::cast<nk::f32>(x)); }
};
template <nk::fixed_string Axis>
struct max_over {
  constexpr auto operator()(const auto& x) const { return nk::cast<nk::f32>(nk::max<Axis>(x)); }
};
template <class F>
nk::benched::rung_case reduced(const char* name) {
  return nk::benched::function_case<F, nk::input<nk::bf16, batch, seq, embed>>(name);
}

}  // namespace

std::vector<nk::benched::rung_case> nk::benched::cases() {
  return {reduced<sum_over<"batch">>("sum axis 0"), reduced<sum_over<"seq">>("sum axis 1"),
          reduced<sum_over<"embed">>("sum axis 2"), reduced<max_over<"batch">>("max axis 0"),
          reduced<max_over<"seq">>("max axis 1"),   reduced<max_over<"embed">>("max axis 2")};
}
