// The graph of a training step's gradient, of which its plan is made: what is done to a model's loss before it is
// differentiated, how few of its equal layers are enough, and which inputs and outputs are whose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "napkin/ops/reflect.hpp"
#include "napkin/passes/accumulate.hpp"
#include "napkin/passes/find_attention.hpp"
#include "napkin/passes/merge_products.hpp"
#include "napkin/passes/repeat_scales.hpp"
#include "napkin/passes/take_copies.hpp"
#include "napkin/train/compute_in.hpp"

namespace napkin {

// ---- what is done to a loss before it is differentiated

// Of a loss, traced from Graph (a model's function, or one with few of its layers), that has Parameters as its
// first nodes when it is rewritten: of<Loss, Graph, Parameters, Together>. Together: some of Graph's parameters
// are stored as one, as stored<Loss, Graph>() says, where `joins_parameters`; others are inputs each.

namespace detail {
/// Parameters are the first nodes of a model's graph.
constexpr buffer<std::int32_t> first_nodes(std::size_t count) {
  buffer<std::int32_t> nodes;
  for (std::size_t i = 0; i < count; ++i) nodes.push_back(static_cast<std::int32_t>(i));
  return nodes;
}
}  // namespace detail

/// Attention as it was traced, matrix products and a softmax.
struct attention_as_traced {
  struct fits {
    constexpr passes::attention_fit operator()(const row::attention_form&, dtype) const {
      return passes::attention_fit::products_are_faster;
    }
  };
  static constexpr bool joins_parameters = false;
  template <class Loss, class, std::size_t, bool>
  using of = Loss;
};

/// Attention as one operation where `Fits` says that the backend does it so (passes/find_attention.hpp).
template <class Fits>
struct attention_as_one {
  using fits = Fits;
  static constexpr bool joins_parameters = false;
  template <class Loss, std::size_t Parameters>
  struct found {
    static constexpr graph_sizes capacity = frozen<Loss>::view().sizes();
    static constexpr graph make() {
      return passes::find_attention(frozen<Loss>::view(), Fits{}, detail::first_nodes(Parameters));
    }
  };
  template <class Loss, class, std::size_t Parameters, bool>
  using of = found<Loss, Parameters>;
};

/// Products that share an operand as one (passes/merge_products.hpp), before what `Then` does.
template <class Then>
struct products_as_one {
  using fits = typename Then::fits;
  static constexpr bool joins_parameters = true;
  template <class Loss, class Graph, bool Together>
  struct merged {
    static constexpr graph_sizes capacity =
        room_for(frozen<Loss>::view().sizes(), 2, frozen<Loss>::view().output_count);
    static constexpr graph make() {
      return passes::merge_products(frozen<Loss>::view(),
                                    Together ? passes::storing_rule_of<Graph>() : passes::storing_rule{});
    }
  };
  template <class Loss, class Graph, std::size_t Parameters, bool Together>
  using of = typename Then::template of<merged<Loss, Graph, Together>, Graph, Parameters, Together>;
  template <class Loss, class Graph>
  static constexpr auto stored() {
    return passes::as_array<Graph::parameters>(
        passes::stored_parameters_of(frozen<Loss>::view(), passes::storing_rule_of<Graph>()));
  }
};

// ---- the gradient

namespace detail {
/// Of the inputs of a gradient's graph with so many parameters: parameters, data, what the loss is scaled by;
/// behind these come, of 8-bit floats, scales, and then sums.
template <class Model, class Compute>
constexpr std::size_t first_sum_input(std::size_t parameters) {
  return parameters + model_graph<Model>::data_inputs + needs_scaled_loss<Compute>;
}
/// Of a 16-bit float: behind the sums, if there are any.
template <class Model, class Compute, std::size_t Batches>
constexpr std::int32_t first_copy_input(std::size_t parameters) {
  return static_cast<std::int32_t>(first_sum_input<Model, Compute>(parameters) +
                                   (Batches > 1 ? parameters : 0));
}
}  // namespace detail

/// The graph of Model's loss, computed in Compute and as Rewrite leaves it, and its gradient. Inputs: the
/// parameters, or, Together, the tensors that they are stored as, `stored`; then the loss's data. Outputs:
/// the loss, then the gradient of each of those parameters or tensors, called parameters here. Of a loss that
/// is scaled the scale is an input behind the others; of 8-bit floats, inputs and outputs behind the others
/// are as passes::quantize_products says. With several batches to a step each batch's share of the gradient
/// is added to what lies there: the sums so far are inputs behind those, in the order of the parameters.
/// Where the step keeps copies of its parameters, these are inputs behind all others, in that order too
/// (passes/take_copies.hpp). One type for all optimizers, but for Together, so that its plan is made once.
template <class Model, class Compute = f32, class Rewrite = attention_as_traced, std::size_t Batches = 1,
          bool TakesCopies = false, bool Together = false>
struct gradient_graph {
  using whole = model_graph<Model>;
  using traced_loss = detail::loss_computed_in<whole, Compute, whole::parameters>;

  /// The same of a few of the model's equal layers.
  template <std::int32_t Kept>
  struct shortened;
  using fewest = shortened<passes::few_layers>;

  /// Where each parameter of the model is.
  static constexpr auto find_stored() {
    if constexpr (!Together)
      return passes::stored_apart(parameter_table<Model>);
    else if constexpr (fewest::is_shortened)
      return passes::as_array<whole::parameters>(
          passes::with_layers_left_out(fewest::stored, fewest::few::cut, whole::parameters));
    else
      return Rewrite::template stored<traced_loss, whole>();
  }
  static constexpr std::array<passes::stored_parameter, whole::parameters> stored = find_stored();
  static constexpr std::size_t parameters = passes::count_tensors(stored);

  using loss = typename Rewrite::template of<traced_loss, whole, parameters, Together>;
  static constexpr bool simplified = true;  // the model's builder and differentiation's both do
  static constexpr graph_sizes capacity =
      detail::room_for_gradients<Compute>(frozen<loss>::view(), parameters, Batches);
  static constexpr graph make() { return of(frozen<loss>::view(), parameters); }
  static constexpr graph of(const graph_view& loss_graph, std::size_t first) {
    graph gradients = detail::gradients_in<Compute>(loss_graph, detail::first_nodes(first),
                                                    1.0 / static_cast<double>(Batches));
    if constexpr (Batches > 1) gradients = passes::accumulate(gradients.view(), 1, first);
    if constexpr (TakesCopies)
      return passes::take_copies(gradients.view(), first, dtype_of<Compute>,
                                 detail::first_copy_input<Model, Compute, Batches>(first));
    else
      return gradients;
  }
  /// The first of the copies among the inputs; -1: there are none.
  static constexpr std::int32_t first_copy =
      TakesCopies ? detail::first_copy_input<Model, Compute, Batches>(parameters) : -1;
};

template <class Model, class Compute, class Rewrite, std::size_t Batches, bool TakesCopies, bool Together>
template <std::int32_t Kept>
struct gradient_graph<Model, Compute, Rewrite, Batches, TakesCopies, Together>::shortened {
  using few = passes::shortened_graph<whole, Kept>;
  using traced_loss = detail::loss_computed_in<few, Compute, few::parameters>;
  /// Asked for Together, of a graph that is shortened.
  static constexpr auto find_stored() { return Rewrite::template stored<traced_loss, few>(); }
  static constexpr std::array<passes::stored_parameter, few::parameters> stored = find_stored();
  /// Where parameters are stored as one, what a graph with the fewest layers says is said of all.
  static constexpr bool find_shortened() {
    if constexpr (!Together || few::cut.copies == 0)
      return few::cut.copies > 0;
    else if constexpr (passes::shortened_graph<whole, passes::few_layers>::cut.copies == 0)
      return false;
    else
      return passes::layers_are_alike(stored, few::cut);
  }
  static constexpr bool is_shortened = find_shortened();
  static constexpr std::size_t count_parameters() {
    if constexpr (Together && is_shortened)
      return passes::count_tensors(stored);
    else
      return few::parameters;
  }
  static constexpr std::size_t parameters = count_parameters();
  static constexpr std::int32_t first_copy =
      TakesCopies ? detail::first_copy_input<Model, Compute, Batches>(parameters) : -1;
  using loss = typename Rewrite::template of<traced_loss, few, parameters, Together>;
  static constexpr bool simplified = true;
  static constexpr passes::left_out find_cut() {
    if constexpr (!is_shortened) {
      return {};
    } else {
      passes::left_out made = few::cut;
      if constexpr (Together) made.inputs[0] = passes::layered_tensors_of(stored, made.origins[0]);
      made = passes::with_gradients(made);
      if constexpr (detail::is_quantized<Compute>)
        made = passes::with_scales(made, frozen<shortened>::view(),
                                   static_cast<std::int32_t>(parameters + whole::data_inputs), parameters);
      if (made.copies == 0) return made;
      const std::size_t scales = frozen<shortened>::view().output_count - 1 - parameters;
      if (Batches > 1)
        made = passes::with_one_each(made, detail::first_sum_input<Model, Compute>(parameters) + 2 * scales);
      if (TakesCopies) made = passes::with_one_each(made, static_cast<std::size_t>(first_copy));
      return made;
    }
  }
  static constexpr graph_sizes capacity =
      detail::room_for_gradients<Compute>(frozen<loss>::view(), parameters, Batches);
  static constexpr graph make() { return of(frozen<loss>::view(), parameters); }
  static constexpr passes::left_out cut = find_cut();
};

}  // namespace napkin
