// K2: a residual added, and the sum's layer norm: two reads, two writes.
#include "normed.hpp"

namespace nk = napkin;

namespace {

struct residual_and_norm {
  constexpr auto operator()(const auto& x, const auto& residual, const auto& gain, const auto& bias) const {
    const auto h = x + residual;
    return std::tuple(h, nk::benched::norm(h, gain, bias));
  }
};
template <std::size_t Width>
nk::benched::rung_case of_width(const char* name) {
  using w = nk::benched::rows<Width>;
  return nk::benched::function_case<residual_and_norm, typename w::stream, typename w::stream,
                                    typename w::weight, typename w::weight>(name);
}

}  // namespace

std::vector<nk::benched::rung_case> nk::benched::cases() {
  return {of_width<768>("norm 768"), of_width<1600>("norm 1600"), of_width<4096>("norm 4096")};
}
