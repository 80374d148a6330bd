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
struct layout {
  static nk::benched::rung_case make() {
    return nk::benched::function_case<as<To>, nk::input<nk::bf16, b, t, h, d>>("to " +
                                                                               std::string(To.view()));
  }
};
struct all
    : nk::benched::case_list<layout<"b h t d">, layout<"b t d h">, layout<"b h d t">, layout<"b d t h">,
                             layout<"b d h t">, layout<"t b h d">, layout<"h b t d">, layout<"d b t h">,
                             layout<"t h d b">, layout<"h d b t">, layout<"h t b d">, layout<"d h t b">> {};

}  // namespace

std::vector<nk::benched::rung_case> nk::benched::cases() { return all::make(); }
