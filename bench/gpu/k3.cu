// K3: back through a layer norm into the residual stream, whose own adjoint is added, and to its weights:
// three reads, one write.
#include "normed.hpp"

namespace nk = napkin;

namespace {

/// Its gradient in h is the norm's, of dy, with d added.
struct weighted {
  constexpr auto operator()(const auto& h, const auto& gain, const auto& bias, const auto& dy,
                            const auto& d) const {
    const auto f = [](const auto& x) { return nk::cast<nk::f32>(x); };
    const auto y = nk::layer_norm<"embed">(f(h), gain, bias);
    return nk::sum(y * f(dy)) + nk::sum(f(h) * f(d));
  }
};
template <std::size_t Width>
nk::benched::rung_case of_width(const char* name) {
  using w = nk::benched::rows<Width>;
  using nk::benched::in_arguments;
  return nk::benched::case_of<
      nk::benched::gradient_graph<weighted, 1, in_arguments<0, 1, 2>, typename w::stream, typename w::weight,
                                  typename w::weight, typename w::stream, typename w::stream>>(name);
}

}  // namespace

std::vector<nk::benched::rung_case> nk::benched::cases() {
  return {of_width<768>("norm backward 768"), of_width<1600>("norm backward 1600"),
          of_width<4096>("norm backward 4096")};
}
