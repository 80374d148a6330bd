// G2: products with something behind them, as a training step has it: a bias; a bias and GELU, what went into
// it kept; back through GELU to its input and its bias; a residual added; a gradient added to a sum.
#include "products.hpp"

namespace nk = napkin;

namespace {

using nk::benched::function_case;
using nk::benched::in_arguments;

struct with_bias {
  constexpr auto operator()(const auto& x, const auto& w, const auto& bias) const {
    return nk::benched::forward{}(x, w) + bias;
  }
};
struct with_gelu {
  constexpr auto operator()(const auto& x, const auto& w, const auto& bias) const {
    const auto h = nk::benched::forward{}(x, w) + bias;
    return std::tuple(h, nk::gelu(h));
  }
};
/// Its gradients in `before` and `bias` are those of an MLP's hidden layer.
struct behind_gelu {
  constexpr auto operator()(const auto& before, const auto& bias, const auto& w, const auto& dy) const {
    const auto y = nk::benched::forward{}(nk::gelu(before + bias), w);
    return nk::sum(nk::cast<nk::f32>(y) * nk::cast<nk::f32>(dy));
  }
};
struct with_residual {
  constexpr auto operator()(const auto& x, const auto& w, const auto& bias, const auto& residual) const {
    return residual + (nk::benched::forward{}(x, w) + bias);
  }
};
struct accumulated {
  constexpr auto operator()(const auto& x, const auto& dy, const auto& sum) const {
    return sum + nk::cast<nk::f32>(nk::benched::weight_gradient{}(x, dy));
  }
};

template <std::size_t Tokens>
void add_layers(std::vector<nk::benched::rung_case>& to) {
  using qkv = nk::benched::layer<Tokens, 768, 3 * 768>;
  using fc1 = nk::benched::layer<Tokens, 768, 4 * 768>;
  using fc2 = nk::benched::layer<Tokens, 4 * 768, 768>;
  const std::string behind = " " + std::to_string(Tokens);
  to.push_back(
      function_case<with_bias, typename qkv::x, typename qkv::weight, typename qkv::bias>("bias" + behind));
  to.push_back(
      function_case<with_gelu, typename fc1::x, typename fc1::weight, typename fc1::bias>("gelu" + behind));
  to.push_back(nk::benched::case_of<nk::benched::gradient_graph<
                   behind_gelu, 1, in_arguments<0, 1>, typename fc2::x, nk::input<nk::bf16, typename fc2::in>,
                   typename fc2::weight, typename fc2::y>>("dgelu" + behind));
  to.push_back(function_case<with_residual, typename fc2::x, typename fc2::weight, typename fc2::bias,
                             typename fc2::y>("residual" + behind));
  to.push_back(function_case<accumulated, typename fc1::x, typename fc1::y,
                             nk::input<nk::f32, typename fc1::in, typename fc1::out>>("accumulate" + behind));
}

}  // namespace

std::vector<nk::benched::rung_case> nk::benched::cases() {
  std::vector<rung_case> all;
  add_layers<65536>(all);
  add_layers<8192>(all);
  return all;
}
