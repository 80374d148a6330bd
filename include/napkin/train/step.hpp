// A whole training step as constants: the model's graph, its gradients, the optimizer, the memory they take.
// Nothing here runs; train/trainer.hpp does.
#pragma once

#include <array>
#include <cstddef>

#include "napkin/cpu/cost.hpp"
#include "napkin/cpu/plan.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/optim/optimizer.hpp"
#include "napkin/passes/differentiate.hpp"

namespace napkin {

namespace detail {

/// Biases and gains do not decay: they scale or shift, and pulling them to zero would too.
constexpr bool decays(std::string_view parameter) {
  return !(parameter.ends_with("bias") || parameter.ends_with("gain"));
}

/// Where each parameter lies among the flat vectors: those that decay, then the rest; each aligned to 64
/// bytes, the groups to flat_block.
template <std::size_t N>
struct parameter_layout {
  std::array<std::size_t, N> offset{};  // elements
  std::size_t decayed = 0, rest = 0;    // elements of the groups, padding included
  constexpr std::size_t length() const { return decayed + rest; }
};
template <std::size_t N>
constexpr parameter_layout<N> lay_out(const std::array<parameter_info, N>& table) {
  parameter_layout<N> l;
  std::size_t at = 0;
  for (int pass = 0; pass < 2; ++pass) {
    const bool group = pass == 0;
    const std::size_t begin = at;
    for (std::size_t i = 0; i < N; ++i) {
      if (decays(table[i].name) != group) continue;
      l.offset[i] = at;
      at += (table[i].count + 15) / 16 * 16;
    }
    at = begin + flat_length(at - begin);
    (group ? l.decayed : l.rest) = at - begin;
  }
  return l;
}

/// Parameters are the first nodes of a model's graph.
constexpr buffer<std::int32_t> first_nodes(std::size_t count) {
  buffer<std::int32_t> nodes;
  for (std::size_t i = 0; i < count; ++i) nodes.push_back(static_cast<std::int32_t>(i));
  return nodes;
}

}  // namespace detail

/// Bytes of a step, by what they are for.
struct step_memory {
  std::size_t parameters = 0;  // with the padding that aligns them
  std::size_t gradients = 0;
  std::size_t optimizer_state = 0;
  std::size_t inputs = 0;         // the batch, and the numbers that the optimizer is given
  std::size_t intermediates = 0;  // activations, their gradients and workspace: the planned arena
  std::size_t intermediates_lower_bound = 0;
  std::size_t peak = 0;  // all of it: the one allocation of a trainer
};

/// What a step costs: in all, and by phase. `forward` is what the loss needs, so that a value which the
/// forward pass computes for the backward pass alone counts as backward.
struct step_cost : cost_sheet {
  cost_sheet forward, backward, optimizer;
};

/// Model's loss, its gradient, and Optimizer's update of every parameter.
///
/// Model      a struct that BOOST_HANA_DEFINE_STRUCT describes, with `constexpr auto loss(input<...>...)
/// const` Optimizer  adamw
template <class Model, class Optimizer>
struct train_step {
  using model = Model;
  using optimizer = Optimizer;

  /// Outputs: the loss, then the gradient of each parameter.
  struct gradients {
    static constexpr bool simplified = true;  // the model's builder and differentiation's both do
    static constexpr graph_sizes capacity =
        room_for(frozen<model_graph<Model>>::view().sizes(), 3, parameter_table<Model>.size() + 1);
    static constexpr graph make() {
      return of(frozen<model_graph<Model>>::view(), parameter_table<Model>.size());
    }
    static constexpr graph of(const graph_view& loss, std::size_t parameters) {
      return passes::differentiate(loss, detail::first_nodes(parameters));
    }

    /// The same of a few of the model's equal layers.
    template <std::int32_t Kept>
    struct shortened {
      using loss = passes::shortened_graph<model_graph<Model>, Kept>;
      static constexpr bool simplified = true;
      static constexpr passes::left_out find_cut() {
        passes::left_out with_gradients = loss::cut;
        with_gradients.first_gradient = 1;
        return with_gradients;
      }
      static constexpr passes::left_out cut = find_cut();
      static constexpr graph_sizes capacity = room_for(frozen<loss>::view().sizes(), 3, loss::parameters + 1);
      static constexpr graph make() { return of(frozen<loss>::view(), loss::parameters); }
    };
  };

  static constexpr auto layout = detail::lay_out(parameter_table<Model>);
  static constexpr std::size_t data_inputs = model_graph<Model>::data_inputs;

  using gradient_plan = on_cpu::frozen_plan<gradients>;
  using decayed_plan = on_cpu::frozen_plan<optimizer_graph<Optimizer, f32, layout.decayed>>;
  using rest_plan = on_cpu::frozen_plan<optimizer_graph<Optimizer, f32, layout.rest>>;
  using norm_plan = on_cpu::frozen_plan<squared_norm_graph<f32, layout.length()>>;

  /// Bytes of data input i of the loss.
  static constexpr std::size_t input_bytes(std::size_t i) {
    const graph_view g = frozen<model_graph<Model>>::view();
    const auto slot = static_cast<int>(parameter_table<Model>.size() + i);
    for (int id = 0; id < static_cast<int>(g.size()); ++id)
      if (g[id].kind == op::input && g.attribute(id, 0) == slot)
        return numel(g.shape_of(id)) * size_of(g[id].type);
    return 0;
  }

  // What conventions.hpp asks of a step.
  static constexpr graph_view forward_graph() { return frozen<model_graph<Model>>::view(); }
  static constexpr graph_view differentiated_graph() { return frozen<gradients>::view(); }
  static constexpr buffer<std::int32_t> wanted() {
    return detail::first_nodes(parameter_table<Model>.size());
  }
  static constexpr std::size_t parameter_count = count_parameters<Model>;

 private:  // functions, not lambdas called at once: g++ evaluates those twice
  static constexpr std::size_t find_tokens() {
    const graph_view g = frozen<model_graph<Model>>::view();
    for (int id = 0; id < static_cast<int>(g.size()); ++id)
      if (g[id].kind == op::input && g.attribute(id, 0) == static_cast<int>(parameter_table<Model>.size()))
        return numel(g.shape_of(id));
    return std::size_t{0};
  }

  static constexpr step_cost find_cost() {
    step_cost c;
    const on_cpu::plan_view plan = gradient_plan::view();
    on_cpu::instruction_costs costs(plan, gradient_plan::graph());
    for (std::size_t i = 0; i < plan.count.instructions; ++i)
      (plan.instructions[i].first_output ? c.forward : c.backward) += costs.of(i);
    c.optimizer += on_cpu::cost_of(norm_plan::view(), norm_plan::graph());
    c.optimizer += on_cpu::cost_of(decayed_plan::view(), decayed_plan::graph());
    c.optimizer += on_cpu::cost_of(rest_plan::view(), rest_plan::graph());
    const cost_sheet phases[] = {c.forward, c.backward, c.optimizer};
    for (const cost_sheet& phase : phases) static_cast<cost_sheet&>(c) += phase;
    return c;
  }

  static constexpr step_memory find_memory() {
    step_memory m;
    m.parameters = layout.length() * sizeof(f32);
    m.gradients = m.parameters;
    m.optimizer_state = Optimizer::states * m.parameters;
    for (std::size_t i = 0; i < data_inputs; ++i) m.inputs += passes::aligned(input_bytes(i));
    m.inputs += passes::aligned(2 * Optimizer::scalars * sizeof(f32)) + 2 * passes::alignment;  // loss, norm
    const std::size_t peaks[] = {gradient_plan::value.peak, decayed_plan::value.peak, rest_plan::value.peak,
                                 norm_plan::value.peak};  // nvcc 13 takes no braced list in the loop itself
    for (const std::size_t peak : peaks)
      if (peak > m.intermediates) m.intermediates = peak;
    m.intermediates_lower_bound = gradient_plan::value.lower_bound;
    m.peak = m.parameters + m.gradients + m.optimizer_state + m.inputs + m.intermediates;
    return m;
  }

 public:
  /// Elements of the loss's first input: tokens of a language model.
  static constexpr std::size_t tokens = find_tokens();

  static constexpr step_cost cost = find_cost();

  /// f(plan_line) for each kernel and library call, in order.
  template <class F>
  static constexpr void for_each_line(F&& f) {
    const auto visit = [&f](const on_cpu::plan_view& plan, const graph_view& lowered) {
      for (const plan_line& line : on_cpu::lines_of(plan, lowered)) f(line);
    };
    visit(gradient_plan::view(), gradient_plan::graph());
    visit(norm_plan::view(), norm_plan::graph());
    visit(decayed_plan::view(), decayed_plan::graph());
    visit(rest_plan::view(), rest_plan::graph());
  }
  static constexpr step_memory memory = find_memory();
};

}  // namespace napkin
