// What an expression costs is counted without a plan that could run: the same as the plan's own cost, for
// products that are their own plan, products with kernels behind them, and kernels alone.
#include <napkin/cuda/cost.hpp>
#include <napkin/napkin.hpp>

namespace nk = napkin;

namespace {

struct batch : nk::dim<"batch", 6> {};
struct in : nk::dim<"in", 20> {};
struct hidden : nk::dim<"hidden", 48> {};
struct out : nk::dim<"out", 9> {};
struct none : nk::dim<"none", 0> {};

using x = nk::tensor<nk::f32, batch, in>;
using w = nk::tensor<nk::f32, in, hidden>;
using v = nk::tensor<nk::f32, hidden, out>;
using bias = nk::tensor<nk::f32, hidden>;
using nothing = nk::tensor<nk::f32, batch, none>;
using to_nothing = nk::tensor<nk::f32, none, out>;

template <class E, class Backend>
constexpr bool is_as_planned() {
  using frozen = typename nk::lowering<E, Backend>::frozen;
  return nk::cost<E, Backend> == nk::planning::cost_of(frozen::view(), frozen::graph());
}
template <class F, class... Xs>
constexpr bool holds(F) {
  using E = std::invoke_result_t<F, const Xs&...>;
  return is_as_planned<E, nk::cpu>() && is_as_planned<E, nk::cuda>();
}

constexpr auto product = [](const auto& a, const auto& b) { return nk::matmul(a, b); };
static_assert(holds<decltype(product), x, w>(product));
static_assert(holds<decltype(product), nothing, to_nothing>(product));  // sums of nothing
constexpr auto gram = [](const auto& a) {
  return nk::einsum<"batch in, other in -> batch other">(a, nk::rename<"batch", "other">(a));
};
static_assert(holds<decltype(gram), x>(gram));
constexpr auto sliced = [](const auto& a, const auto& b) {
  return nk::matmul(nk::slice<"batch", 1, 4>(a), b);
};
static_assert(holds<decltype(sliced), x, w>(sliced));
constexpr auto chain = [](const auto& a, const auto& b, const auto& c) {
  return nk::einsum<"batch in, in hidden, hidden out -> batch out">(a, b, c);
};
static_assert(holds<decltype(chain), x, w, v>(chain));
constexpr auto layer = [](const auto& a, const auto& b, const auto& c) {
  return nk::relu(nk::matmul(a, b) + c);
};
static_assert(holds<decltype(layer), x, w, bias>(layer));
constexpr auto summed = [](const auto& a, const auto& b) { return nk::sum<"hidden">(nk::matmul(a, b)); };
static_assert(holds<decltype(summed), x, w>(summed));
constexpr auto soft = [](const auto& a) { return nk::softmax<"in">(a) * 2.0f; };
static_assert(holds<decltype(soft), x>(soft));
constexpr auto turned = [](const auto& a) { return nk::rearrange<"batch in -> in batch">(a * a); };
static_assert(holds<decltype(turned), x>(turned));

}  // namespace
