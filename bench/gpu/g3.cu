// G3: a linear layer in 8-bit floats as a step of compute_in<f8> has it, all that it takes to round included:
// activations in bf16, the weight's master in f32, scales that are given, largest magnitudes that are said.
// Forward; and forward and backward, which share what the first rounds. Both also with the forward product added up
// fast.
#include <napkin/passes/differentiate.hpp>
#include <napkin/passes/quantize.hpp>

#include "rung.hpp"

namespace nk = napkin;

namespace {

constexpr std::int32_t parameters = 1, all_axes[] = {0, 1};

/// (token, in) times (in, out). On the host too by sixteens: else products are of what 8 bits are widened to.
template <std::size_t Tokens, std::size_t In, std::size_t Out>
struct layer {
  static constexpr std::size_t tokens = nk::benched::sized(Tokens, Tokens / 1024),
                               in = nk::benched::sized(In, In / 16), out = nk::benched::sized(Out, Out / 16);

  /// The parameter, x, and perhaps dy: then a loss of which dy is the product's adjoint comes before y.
  static constexpr nk::graph make_marked(bool with_adjoint) {
    const std::int32_t labels[] = {0, 1, 1, 2}, result[] = {0, 2};
    nk::builder b;
    b.simplify = true;
    const std::int32_t w = b.input(0, nk::dtype::f32, {in, out}),
                       x = b.input(1, nk::dtype::bf16, {tokens, in});
    const std::int32_t xs[] = {x, b.cast(w, nk::dtype::bf16)};
    const std::int32_t y = b.einsum(xs, labels, result);
    if (with_adjoint) {
      const std::int32_t dy = b.input(2, nk::dtype::bf16, {tokens, out}),
                         product = b.mul(b.cast(y, nk::dtype::f32), b.cast(dy, nk::dtype::f32));
      b.output(b.reduce(nk::op::sum, product, all_axes));
    }
    b.output(y);
    return nk::passes::mark_quantized(b.take(), parameters);
  }

  /// Gives y and the largest magnitudes of x and w by rows.
  struct forward {
    static constexpr nk::graph make() {
      const nk::graph g = layer::make_marked(false);
      return nk::passes::quantize_products(g.view(), g.nodes.size(), nk::dtype::bf16);
    }
  };
  /// Gives y, dw in f32, dx, and the largest magnitudes of x, w and dy.
  struct step {
    static constexpr nk::graph make() {
      const nk::graph loss = layer::make_marked(true);
      const std::int32_t wanted[] = {0, 1};
      nk::graph g = nk::passes::differentiate(loss.view(), wanted);
      nk::buffer<std::int32_t> kept;
      for (std::size_t o = 1; o < g.outputs.size(); ++o) kept.push_back(g.outputs[o]);  // not the loss
      g.outputs = std::move(kept);
      // what comes behind y, dy too, counts as what comes back from the loss
      const auto forward = static_cast<std::size_t>(loss.outputs[1]) + 1;
      return nk::passes::quantize_products(g.view(), forward, nk::dtype::bf16);
    }
  };
};

template <class Make>
using added_fast = nk::planning::multiplying<Make, false, true>;

}  // namespace

std::vector<nk::benched::rung_case> nk::benched::cases() {
  using wide = layer<65536, 768, 3072>;
  using square = layer<16384, 4096, 4096>;
  return {case_of<wide::forward>("forward 65536 x 768 x 3072 f8"),
          case_of<wide::step>("step 65536 x 768 x 3072 f8"),
          case_of<square::forward>("forward 16384 x 4096 x 4096 f8"),
          case_of<square::step>("step 16384 x 4096 x 4096 f8"),
          case_of<added_fast<wide::forward>>("forward 65536 x 768 x 3072 f8, fast accumulation"),
          case_of<added_fast<wide::step>>("step 65536 x 768 x 3072 f8, fast accumulation"),
          case_of<added_fast<square::forward>>("forward 16384 x 4096 x 4096 f8, fast accumulation"),
          case_of<added_fast<square::step>>("step 16384 x 4096 x 4096 f8, fast accumulation")};
}
