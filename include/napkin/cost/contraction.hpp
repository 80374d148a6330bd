// contraction_of<E>: in which order an einsum's operands are contracted, what comes in between and what each
// step costs, as a constant. What is shown is what passes/contract.hpp chooses; nothing is chosen here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "napkin/ops/einsum.hpp"
#include "napkin/passes/contract.hpp"

namespace napkin {

namespace rule {
/// type<E>
template <class... Facts>
struct no_single_einsum {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "contraction_of: the expression must be an einsum, or hold exactly one: give the type of the "
      "einsum itself");
};
}  // namespace rule

/// Axes of an operand or of a step's result, in order: their labels in the pattern and their sizes. A label
/// without a name, of an axis without one under `...`, is "".
struct labelled_shape {
  inplace_vector<std::string_view, max_rank> labels;
  shape sizes;
};

/// Two terms become one; or, of one operand, labels that stand in it alone are summed away first.
struct contraction_line {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::size_t left = 0, right = none;  ///< terms: 0 to n - 1 the operands, n + i what step i gives
  labelled_shape from_left, from_right, result;
  std::uint64_t flops = 0;     ///< 2 for each point of a step that sums, 1 of one that does not
  std::uint64_t elements = 0;  ///< of the result

  constexpr bool sums_alone() const { return right == none; }
};

/// The order of an einsum of so many steps. A step that sums within one operand counts among them; its result
/// takes the operand's place and number.
template <std::size_t Steps>
struct contraction_summary {
  std::string_view pattern;
  objective order = objective::least_time;
  std::size_t operands = 0;
  std::array<contraction_line, Steps> steps{};
  std::uint64_t flops = 0;                 ///< of all steps
  std::uint64_t direct_flops = 0;          ///< of one loop over all labels: n - 1 multiplications, 1 addition
  std::uint64_t largest_intermediate = 0;  ///< elements; 0 where there is none
};

/// A line for each step.
///
///   "a b, b c, c d -> a d", least_time: 2 steps, 2,000 FLOPs (directly 30,000)
///     0  (1) b c, (2) c d -> (3) b d    [10, 5]    1,000 FLOPs
///     1  (0) a b, (3) b d -> (4) a d    [10, 5]    1,000 FLOPs
std::string to_string(std::string_view pattern, objective order, std::size_t operands,
                      std::span<const contraction_line> steps, std::uint64_t flops,
                      std::uint64_t direct_flops);
template <std::size_t Steps>
std::string to_string(const contraction_summary<Steps>& s) {
  return to_string(s.pattern, s.order, s.operands, std::span<const contraction_line>(s.steps), s.flops,
                   s.direct_flops);
}

namespace detail {

/// The einsums of an expression's type.
template <class... Es>
struct einsums {
  static constexpr std::size_t count = sizeof...(Es);
};
template <class... As, class... Bs>
constexpr einsums<As..., Bs...> operator+(einsums<As...>, einsums<Bs...>) {
  return {};
}
template <class E>
struct einsums_in {
  static constexpr auto find() { return einsums<>{}; }
};
template <class Op, class T, class Axes, class... Xs>
struct einsums_in<expression<Op, T, Axes, Xs...>> {
  static constexpr auto find() { return (einsums<>{} + ... + einsums_in<Xs>::find()); }
};
template <class Binding, objective Order, class T, class Axes, class... Xs>
struct einsums_in<expression<einsum_op<Binding, Order>, T, Axes, Xs...>> {
  using here = expression<einsum_op<Binding, Order>, T, Axes, Xs...>;
  static constexpr auto find() { return (einsums<here>{} + ... + einsums_in<Xs>::find()); }
};

/// The order of one einsum, traced from its type.
template <class E>
struct contraction_shown;
template <class Binding, objective Order, class T, class Axes, class... Xs>
struct contraction_shown<expression<einsum_op<Binding, Order>, T, Axes, Xs...>> {
  using label_set = passes::detail::label_set;
  using lines = inplace_vector<contraction_line, 2 * max_einsum_operands>;

  /// An einsum of leaves of these shapes.
  static constexpr graph leaves() {
    builder b;
    std::int32_t next = 0;
    const std::int32_t xs[] = {(b.input(next++, dtype_of<T>, shape_over<axes_of<Xs>>))...};
    std::int32_t root = einsum_op<Binding, Order>::emit(b, xs);
    while (b[root].kind == op::reshape) root = b.operand(root, 0);
    b.output(root);
    return b.take();
  }

  struct term {
    inplace_vector<std::int32_t, max_rank> labels;
    constexpr ids list() const { return {labels.data(), labels.size()}; }
  };
  static constexpr labelled_shape shown(const passes::detail::contraction_problem& p, const term& t) {
    labelled_shape s;
    for (const std::int32_t l : t.labels) {
      s.labels.push_back(Binding::value.labels[static_cast<std::size_t>(l)].name);
      s.sizes.push_back(static_cast<std::size_t>(p.size[static_cast<std::size_t>(l)]));
    }
    return s;
  }

  static constexpr lines make(objective order) {
    const graph g = leaves();
    const std::int32_t root = g.outputs[0];
    const row::einsum_labels labels(g.view(), root);
    passes::detail::contraction_problem p(g.view(), root, order);
    const std::size_t n = labels.arity();
    lines out;
    buffer<term> terms;
    const passes::detail::contraction_problem whole = p;
    for (std::size_t k = 0; k < n; ++k) {
      const label_set lone = whole.lone(k);
      term before, after;
      for (const std::int32_t l : labels.operand(k)) {
        if (before.labels.contains(l)) continue;
        before.labels.push_back(l);
        if ((lone >> l & 1) == 0) after.labels.push_back(l);
      }
      p.operands[k] = passes::detail::set_of(after.list());
      terms.push_back(after);
      if (whole.points(lone) == 1) continue;
      contraction_line line;
      line.left = k;
      line.from_left = shown(p, before);
      line.result = shown(p, after);
      line.flops = p.points(whole.operands[k]);
      line.elements = p.points(p.operands[k]);
      out.push_back(line);
    }
    if (n == 1) return out;
    for (const auto& step : passes::detail::order_of(p)) {
      label_set needed = p.result;
      for (std::size_t k = 0; k < terms.size(); ++k)
        if (k != step.left && k != step.right && !used(out, k))
          needed |= passes::detail::set_of(terms[k].list());
      const term &x = terms[step.left], &y = terms[step.right];
      term made;
      if (terms.size() == 2 * n - 2) {
        for (const std::int32_t l : labels.result()) made.labels.push_back(l);
      } else {
        for (const std::int32_t l : x.labels)
          if (needed >> l & 1) made.labels.push_back(l);
        for (const std::int32_t l : y.labels)
          if (needed >> l & 1 && !x.labels.contains(l)) made.labels.push_back(l);
      }
      const label_set all = passes::detail::set_of(x.list()) | passes::detail::set_of(y.list());
      const label_set kept = passes::detail::set_of(made.list());
      contraction_line line;
      line.left = step.left;
      line.right = step.right;
      line.from_left = shown(p, x);
      line.from_right = shown(p, y);
      line.result = shown(p, made);
      line.flops = p.flops(all, kept);
      line.elements = p.points(kept);
      out.push_back(line);
      terms.push_back(made);
    }
    return out;
  }
  /// Whether term k is an operand of a step listed.
  static constexpr bool used(const lines& steps, std::size_t k) {
    for (const contraction_line& s : steps)
      if (!s.sums_alone() && (s.left == k || s.right == k)) return true;
    return false;
  }

  static constexpr auto summary() {
    constexpr std::size_t count = make(Order).size();
    contraction_summary<count> s;
    s.pattern = Binding::text;
    s.order = Order;
    s.operands = sizeof...(Xs);
    const lines steps = make(Order);
    for (std::size_t i = 0; i < count; ++i) {
      s.steps[i] = steps[i];
      s.flops = passes::detail::plus(s.flops, steps[i].flops);
      const bool last = i + 1 == count;
      if (!last && steps[i].elements > s.largest_intermediate) s.largest_intermediate = steps[i].elements;
    }
    const graph g = leaves();
    const passes::detail::contraction_problem p(g.view(), g.outputs[0], Order);
    label_set all = 0;
    for (const label_set one : p.operands) all |= one;
    s.direct_flops = passes::detail::times(p.points(all), sizeof...(Xs) - 1 + (all == p.result ? 0 : 1));
    return s;
  }
};

struct no_contraction {
  static constexpr contraction_summary<0> summary() { return {}; }
};
template <class E>
constexpr auto contraction_in() {
  using found = decltype(einsums_in<E>::find());
  if constexpr (found::count == 1) {
    return []<class Only>(einsums<Only>) { return contraction_shown<Only>{}; }(found{});
  } else {
    return no_contraction{};
  }
}
template <class E>
using contraction_mistake = std::conditional_t<decltype(einsums_in<E>::find())::count == 1, accepted,
                                               rule::no_single_einsum<fact::type<E>>>;
/// Raised is what raising the mistake gave: so that the variable itself raises it.
template <class E, class Raised>
using contraction_asked_for = decltype(contraction_in<E>());

}  // namespace detail

/// How the einsum that E is, or holds, is contracted: `contraction_of<decltype(y)>.steps[0].result.sizes`,
/// `.flops`, `to_string(contraction_of<decltype(y)>)`.
///
/// Rules  no_single_einsum
template <class E>
inline constexpr auto contraction_of = detail::contraction_asked_for<
    std::remove_cvref_t<E>,
    decltype(detail::contraction_mistake<std::remove_cvref_t<E>>::raise())>::summary();

}  // namespace napkin
