// What a gradient costs before it is asked for: from a function's type and its arguments' types alone.
#pragma once

#include "napkin/cost/conventions.hpp"
#include "napkin/cost/cost.hpp"
#include "napkin/passes/find_attention.hpp"
#include "napkin/passes/grad.hpp"

namespace napkin {

namespace rule {
/// type<what was given>
template <class... Facts>
struct gradient_of_no_gradient {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "gradient_of: the first type must be a gradient's, decltype(grad<1>(f)) or "
      "decltype(value_and_grad<1>(f)), and those of f's arguments follow");
};
}  // namespace rule

namespace detail {

template <class Gradient>
struct gradient_parts {
  static constexpr bool is_gradient = false;
};
template <class F, bool WithValue, std::size_t... Chosen>
struct gradient_parts<gradient_function<F, WithValue, std::index_sequence<Chosen...>>> {
  static constexpr bool is_gradient = true;
  template <class... Xs>
  using graphs = gradient_graph<F, WithValue, std::index_sequence<Chosen...>, Xs...>;
};

template <class Gradient, class... Xs>
constexpr auto find_cost_mistake() {
  if constexpr (is_failed<Gradient>)
    return std::type_identity<silent>{};
  else if constexpr (!gradient_parts<Gradient>::is_gradient)
    return std::type_identity<rule::gradient_of_no_gradient<fact::type<Gradient>>>{};
  else
    return Gradient::template find_call_mistake<Xs...>();
}

template <class Gradient, class... Xs>
using cost_mistake = typename decltype(find_cost_mistake<Gradient, Xs...>())::type;

/// After an error the graphs are of one number, so that nobody finds a second one.
template <class Gradient, class... Xs>
struct gradient_costs {
  struct forward {
    static constexpr graph make() {
      if constexpr (std::is_same_v<cost_mistake<Gradient, Xs...>, accepted>)
        return unmasked(
            gradient_parts<Gradient>::template graphs<Xs...>::forward(std::index_sequence_for<Xs...>{}));
      else
        return one_number();
    }
  };
  struct differentiated {
    static constexpr graph make() {
      if constexpr (std::is_same_v<cost_mistake<Gradient, Xs...>, accepted>)
        return unmasked(gradient_parts<Gradient>::template graphs<Xs...>::differentiated());
      else
        return one_number();
    }
  };
  static constexpr graph_view forward_graph() { return frozen<forward>::view(); }
  static constexpr graph_view differentiated_graph() { return frozen<differentiated>::view(); }
  /// What the gradient, and the value if it is asked for, needs of the function.
  static constexpr graph needed_graph() {
    graph g = passes::same_graph(forward_graph());
    const graph_view whole = differentiated_graph();
    const auto own = static_cast<std::int32_t>(g.nodes.size());
    const buffer<bool> live = passes::live_nodes(whole);
    g.outputs.clear();
    for (const std::int32_t out : whole.output_ids())
      if (out < own) g.outputs.push_back(out);
    for (std::int32_t id = own; id < static_cast<std::int32_t>(whole.size()); ++id)
      for (const std::int32_t x : whole.operands(id))
        if (live[static_cast<std::size_t>(id)] && x < own) g.outputs.push_back(x);
    return g;
  }
  static constexpr buffer<std::int32_t> wanted() {
    if constexpr (std::is_same_v<cost_mistake<Gradient, Xs...>, accepted>)
      return gradient_parts<Gradient>::template graphs<Xs...>::wanted(forward_graph());
    else
      return {};
  }
  /// What is lowered.
  static constexpr graph make() {
    if constexpr ((has_dynamic_axis<Xs> || ...))
      if constexpr (std::is_same_v<cost_mistake<Gradient, Xs...>, accepted>)
        return gradient_parts<Gradient>::template graphs<Xs...>::make();
    return passes::simplify(differentiated_graph());
  }
  /// The same where a backend has the function's graph rewritten, as the gradient_graph's.
  template <class Rewrite>
  struct rewritten {
    static constexpr graph make() {
      if constexpr (std::is_same_v<cost_mistake<Gradient, Xs...>, accepted>)
        if (passes::detail::may_have_attention(forward_graph()))
          return gradient_parts<Gradient>::template graphs<Xs...>::template rewritten<Rewrite>::make();
      return gradient_costs::make();
    }
  };

 private:
  static constexpr graph unmasked(graph&& g) {
    return bind_run_time_sizes(static_cast<graph&&>(g), false, behind_the_end::nothing);
  }
  static constexpr graph one_number() {
    builder b;
    b.output(b.constant(0, dtype::f32, {}));
    return b.take();
  }
};
template <class Gradient, class... Xs>
inline constexpr bool is_lowered<gradient_costs<Gradient, Xs...>> = true;
/// Raised is what raising the mistake gave: so that the alias itself raises it.
template <class Raised, class Costs>
using costs_asked_for = Costs;

}  // namespace detail

/// Gradients, with the value of value_and_grad, as a thing that has costs, as an expression or a training
/// step has: `cost<gradient_of<...>>`, `conventions::torch<gradient_of<...>>`, forward and backward.
///
/// Rules    gradient_of_no_gradient, and those of grad
/// Example  using step = nk::gradient_of<decltype(nk::grad<1>(loss)), inputs, weights>;
///          static_assert(nk::conventions::exact<step>.backward <= 2 * nk::conventions::exact<step>.forward);
template <class Gradient, class... Xs>
using gradient_of = detail::costs_asked_for<decltype(detail::cost_mistake<Gradient, Xs...>::raise()),
                                            detail::gradient_costs<Gradient, Xs...>>;

}  // namespace napkin
