// The model of nn/ itself at GPT-2's sizes: what it costs in PyTorch's convention is the published integer.
#include <string_view>

#include "napkin/cost/conventions.hpp"
#include "napkin/nn/transformer.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/passes/differentiate.hpp"

namespace nk = napkin;

namespace {

struct gpt2_small {
  struct batch : nk::dim<"batch", 1> {};
  struct seq : nk::dim<"seq", 1'024> {};
  struct vocab : nk::dim<"vocab", 50'257> {};
  struct embed : nk::dim<"embed", 768> {};
  struct heads : nk::dim<"heads", 12> {};
  struct hidden : nk::dim<"hidden", 64> {};
  struct ffn : nk::dim<"ffn", 3'072> {};
  static constexpr std::size_t layers = 12;
};
using model = nk::nn::gpt<gpt2_small>;
using traced = nk::model_graph<model>;

struct with_gradients {
  static constexpr nk::buffer<std::int32_t> wanted() {
    nk::buffer<std::int32_t> parameters;
    for (std::size_t i = 0; i < nk::parameter_table<model>.size(); ++i)
      parameters.push_back(static_cast<std::int32_t>(i));
    return parameters;
  }
  static constexpr nk::graph make() {
    return nk::passes::differentiate(nk::frozen<traced>::view(), wanted());
  }
};

constexpr std::uint64_t forward = 291'648'307'200;
/// Query by key, all heads and layers; once as squares, once as triangles.
constexpr std::uint64_t scores = 12 * 2 * 768ull * 1'024 * 1'024,
                        triangles = 12 * 2 * 768ull * (1'024 * 1'025 / 2);

constexpr auto torch = nk::conventions::torch_of(nk::frozen<traced>::view(), with_gradients::wanted());
static_assert(torch == nk::conventions::counts{forward, 2 * forward + scores});

constexpr auto exact =
    nk::conventions::exact_of(nk::frozen<traced>::view(), nk::frozen<with_gradients>::view());
static_assert(exact.forward == forward - 2 * scores + 2 * triangles && exact.backward == 2 * exact.forward);

}  // namespace
