// K7: twelve ways to lay out (64, 1,024, 12, 64) in bf16 anew.
#include "rung.hpp"

namespace nk = napkin;

namespace {

using b = nk::dim<"b", nk::benched::sized(64, 3)>;
using t = nk::dim<"t", nk::benched::sized(1024, 40)>;
using h = nk::dim<"h", nk::benched::sized(12, 5)>;
using d = nk::dim<"d", nk::benched::sized(64, 16)>;

template <nk::fixed_string To>
struct as {
  constexpr auto operator()(const auto& x) const {
    return nk::rearrange<nk::fixed_string("b t h d -> ") + To>(x);
  }
};
template <nk::fixed_string To>
nk::benched::rung_case laid_out() {
  return nk::benched::function_case<as<To>, nk::input<nk::bf16, b, t, h, d>>("to " + std::string(To.view()));
}

}  // namespace

std::vector<nk::benched::rung_case> nk::benched::cases() {
  return {laid_out<"b h t d">(), laid_out<"b t d h">(), laid_out<"b h d t">(), laid_out<"b d t h">(),
          laid_out<"b d h t">(), laid_out<"t b h d">(), laid_out<"h b t d">(), laid_out<"d b t h">(),
          laid_out<"t h d b">(), laid_out<"h d b t">(), laid_out<"h t b d">(), laid_out<"d h t b">()};
}
