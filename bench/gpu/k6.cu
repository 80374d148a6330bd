// K6: sums and maxima over each axis of 64 x 1,024 x 768, and the sum of 2^28 elements, bf16 to f32.
#include "rung.hpp"

namespace nk = napkin;

namespace {

using batch = nk::dim<"batch", nk::benched::sized(64, 6)>;
using seq = nk::dim<"seq", nk::benched::sized(1024, 40)>;
using embed = nk::dim<"embed", nk::benched::sized(768, 96)>;

using tensor = nk::input<nk::bf16, batch, seq, embed>;

template <nk::fixed_string Axis>
struct sum_over {
  constexpr auto operator()(const auto& x) const { return nk::sum<Axis>(nk::cast<nk::f32>(x)); }
};
template <nk::fixed_string Axis>
struct max_over {
  constexpr auto operator()(const auto& x) const { return nk::cast<nk::f32>(nk::max<Axis>(x)); }
};
struct sum_all {
  constexpr auto operator()(const auto& x) const { return nk::sum(nk::cast<nk::f32>(x)); }
};
using line = nk::dim<"line", nk::benched::sized(std::size_t{1} << 28, 100'000)>;

template <nk::fixed_string Name, class F, class From = tensor>
struct reduction {
  static nk::benched::rung_case make() {
    return nk::benched::function_case<F, From>(std::string(Name.view()));
  }
};
struct all : nk::benched::case_list<
                 reduction<"sum axis 0", sum_over<"batch">>, reduction<"sum axis 1", sum_over<"seq">>,
                 reduction<"sum axis 2", sum_over<"embed">>, reduction<"max axis 0", max_over<"batch">>,
                 reduction<"max axis 1", max_over<"seq">>, reduction<"max axis 2", max_over<"embed">>,
                 reduction<"sum of all", sum_all, nk::input<nk::bf16, line>>> {};

}  // namespace

std::vector<nk::benched::rung_case> nk::benched::cases() { return all::make(); }
