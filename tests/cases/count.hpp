// What a generated case of FLOP counts includes: an operation of the library on tensors of given types is
// asked what PyTorch's counter says of it, forward and backward. Nothing is run.
#pragma once

#include <string>

#include "case.hpp"
#include "napkin/cost/contraction.hpp"
#include "napkin/cost/gradient.hpp"
#include "napkin/cost/opt_einsum.hpp"
#include "napkin/cost/torch.hpp"
#include "napkin/nn/softmax.hpp"

namespace cases {

/// FLOPs of an operation: forward; of its backward pass for the wanted operands; and if but one is wanted, of
/// which there may be several answers.
struct counted {
  nk::conventions::counts flops;
  std::vector<std::uint64_t> one_operand{};
};

/// Throws std::runtime_error where two numbers differ.
void expect_count(const std::string& of_what, std::uint64_t found, std::uint64_t expected);
/// An operation of a row: what it alone costs, and how often it is done.
struct counted_operation {
  counted cost;
  std::uint64_t flops = 0, count = 1;
};
/// What a row says of all its operations together.
struct count_row {
  std::uint64_t forward = 0, total = 0;
  std::optional<std::uint64_t> backward{}, one_operand{};
};
void compare_counts(const count_row& r, const std::vector<counted_operation>& operations);

template <class Call, std::size_t... Wanted, class... Xs>
constexpr std::uint64_t backward_of(std::index_sequence<Wanted...>, std::type_identity<Xs>...) {
  if constexpr (sizeof...(Wanted) == 0) {
    return 0;
  } else {
    using weights = in_f64<result_of<Call, Xs...>>;
    using gradient = decltype(nk::grad<(Wanted + 1)...>(weighted_sum_of<Call>{}));
    return nk::conventions::torch<nk::gradient_of<gradient, weights, Xs...>>.backward;
  }
}

/// Of Call on operands of types Xs, of which the wanted need a gradient.
template <class Call, class Wanted, class... Xs>
counted count_of() {
  counted c;
  c.flops.forward = nk::conventions::torch<result_of<Call, Xs...>>.forward;
  c.flops.backward = backward_of<Call>(Wanted{}, std::type_identity<Xs>{}...);
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    (c.one_operand.push_back(backward_of<Call>(std::index_sequence<K>{}, std::type_identity<Xs>{}...)), ...);
  }
  (Wanted{});
  return c;
}
inline counted count_of_convolution(const nk::shape& x, const nk::shape& w,
                                    const nk::conventions::convolution& c, bool of_x, bool of_w) {
  return {nk::conventions::torch_convolution(x, w, c, of_x, of_w),
          {nk::conventions::torch_convolution(x, w, c, true, false).backward,
           nk::conventions::torch_convolution(x, w, c, false, true).backward}};
}

/// Attention as an expression and by its formula, which must agree. The formula's backward pass is that of
/// the fused kernel.
template <class Call, class Q, class K, class V, bool Fused>
counted count_of_attention() {
  counted c = count_of<Call, std::index_sequence<0, 1, 2>, Q, K, V>();
  const auto sizes = [](const auto& array) {
    nk::shape s;
    for (const std::size_t size : array) s.push_back(size);
    return s;
  };
  const auto formula = nk::conventions::torch_attention(sizes(nk::shape_of<Q>), sizes(nk::shape_of<K>),
                                                        sizes(nk::shape_of<V>));
  expect_count("attention by its formula, forward", formula.forward, c.flops.forward);
  if (Fused) expect_count("attention by its formula, backward", formula.backward, c.flops.backward);
  c.one_operand.clear();
  return c;
}

/// An einsum as others count it who count all that is multiplied and added.
template <class Call, class... Xs>
void compare_conventions(std::uint64_t naive, std::uint64_t torch, std::uint64_t oe_naive,
                         std::uint64_t oe_optimal) {
  using result = result_of<Call, Xs...>;
  expect_count("one loop over all labels", nk::contraction_of<result>.direct_flops, naive);
  expect_count("PyTorch's count", nk::conventions::torch<result>.forward, torch);
  const nk::graph g = nk::expression_graph<result>::make();
  int id = static_cast<int>(g.nodes.size()) - 1;
  while (id > 0 && g.view()[id].kind != nk::op::einsum) --id;
  const auto oe = nk::conventions::opt_einsum_of(g.view(), id);
  expect_count("opt_einsum's naive cost", oe.naive, oe_naive);
  expect_count("opt_einsum's optimal cost", oe.optimal, oe_optimal);
}

}  // namespace cases
