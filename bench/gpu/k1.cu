// K1: an elementwise function in one kernel, d = gelu(a*b + c): three reads, one write.
#include "rung.hpp"

namespace nk = napkin;

namespace {

using element = nk::dim<"element", nk::benched::sized(1 << 28, 1 << 12)>;

struct gelu_of {
  constexpr auto operator()(const auto& a, const auto& b, const auto& c) const { return nk::gelu(a * b + c); }
};
/// Rounded once, as a compiler of fused kernels does by itself.
struct gelu_in_f32 {
  constexpr auto operator()(const auto& a, const auto& b, const auto& c) const {
    return nk::cast<nk::bf16>(gelu_of{}(nk::cast<nk::f32>(a), nk::cast<nk::f32>(b), nk::cast<nk::f32>(c)));
  }
};
template <class F, class T>
nk::benched::rung_case elementwise(const char* name) {
  using x = nk::input<T, element>;
  return nk::benched::function_case<F, x, x, x>(name);
}

}  // namespace

std::vector<nk::benched::rung_case> nk::benched::cases() {
  return {elementwise<gelu_in_f32, nk::bf16>("gelu bf16"),
          elementwise<gelu_of, nk::bf16>("gelu bf16, each operation rounded"),
          elementwise<gelu_of, nk::f32>("gelu f32")};
}
