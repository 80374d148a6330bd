// A whole training step as constants: the model's graph, its gradients, the optimizer, the memory they take.
// Nothing here runs; train/trainer.hpp does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "napkin/cpu/attention.hpp"
#include "napkin/cpu/cost.hpp"
#include "napkin/cpu/plan.hpp"
#include "napkin/cpu/tables.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/optim/muon.hpp"
#include "napkin/tensor/storage.hpp"
#include "napkin/train/delayed_scaling.hpp"
#include "napkin/train/gradient_graph.hpp"
#include "napkin/train/loss_scale.hpp"
#include "napkin/train/parameter_layout.hpp"
#include "napkin/train/recompute_to_fit.hpp"

namespace napkin {

namespace rule {
/// type<what was given>
template <class... Facts>
struct no_training_step {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "this is asked of a training step's type, using step = train_step<model, optimizer>, not of a model's "
      "or an expression's");
};
}  // namespace rule

namespace detail {
/// Asked of train_step by its arguments: the class would say what is wrong in it, and clang take fifteen
/// lines to say that this was a constraint.
template <class X>
inline constexpr bool is_training_step = requires {
  typename X::gradient_plan;
};
template <class Model, class Optimizer, class... Policies>
inline constexpr bool is_training_step<train_step<Model, Optimizer, Policies...>> =
    !is_mistake<optimizer_mistake<Optimizer>>;
template <class X>
concept TrainingStep = is_training_step<X>;
template <class X>
using step_mistake_of =
    mistake_unless<TrainingStep<X> || is_failed<X>, rule::no_training_step<fact::type<X>>>;
/// Of what is none: silent where another rule has refused it.
template <class X>
struct misfit_of_step {
  using type = unless_failed<rule::no_training_step<fact::type<X>>, X>;
};
template <class Model, class Optimizer, class... Policies>
struct misfit_of_step<train_step<Model, Optimizer, Policies...>> {
  using type = optimizer_mistake<Optimizer>;
};
template <class X>
using step_misfit = typename misfit_of_step<X>::type;
}  // namespace detail

/// What a step has on a backend beside the model's own graph: the graph that asks whether the update may be
/// made, those that update parameters, and the bytes of what goes in and comes out. train/cuda_step.hpp has
/// the GPU's.
template <class Backend>
struct step_parts;

template <>
struct step_parts<cpu> {
  using loss_rewrite = attention_as_one<on_cpu::attention_fits>;
  template <std::size_t Length, std::size_t StateLength, std::size_t Matrices, std::size_t Batches,
            std::size_t Quantized>
  using norm = squared_norm_graph<f32, Length, StateLength>;
  /// Whether the update writes copies of parameters in Compute beside them: there is no launch to save.
  template <class Compute>
  static constexpr bool keeps_copies = false;
  static constexpr bool has_product_options = false;
  /// Groups that one run updates: rows are as long as a group.
  static constexpr std::size_t groups_at_once = 1;
  template <class Optimizer, class Groups, class Copy>
  using update = optimizer_graph<Optimizer, f32, Groups>;
  /// Of an optimizer of matrices: of all at once, then of each.
  template <class Optimizer, class Groups>
  using direction = typename Optimizer::template direction_graph<f32, Groups>;
  template <class Optimizer, std::size_t Rows, std::size_t Columns, bool RowsAreOutputs, class Copy>
  using matrix = typename Optimizer::template matrix_graph<f32, Rows, Columns, RowsAreOutputs>;
  /// Of data inputs of so many bytes, so many numbers for the optimizer, so many that the update says of what
  /// it wrote, and so many micro-batches: with them the loss and the norm.
  static constexpr std::size_t input_bytes(std::size_t data, std::size_t numbers, std::size_t /*checks*/,
                                           std::size_t /*batches*/) {
    return data + passes::aligned(numbers * sizeof(f32)) + 2 * passes::alignment;
  }
  /// Of what the loss is multiplied by, if it is, and of the scales of tensors that are rounded to 8 bits.
  static constexpr std::size_t scale_bytes(bool scales_loss, std::span<const std::size_t> quantized_rows) {
    return (scales_loss ? passes::alignment : 0) + delayed_scales::bytes(quantized_rows);
  }
  /// Of those, where data lie.
  static constexpr std::size_t staging_bytes(std::size_t data, std::size_t) { return data; }
  /// What running a plan of these sizes takes beside its arena, and what the allocation itself does.
  static constexpr std::size_t table_bytes(const planning::plan_sizes& n) { return on_cpu::tables::bytes(n); }
  static constexpr std::size_t header_bytes = storage::header_bytes;
};

/// Bytes of a step, by what they are for. Parameters are f32 and updated as they are: where a step computes
/// in a narrower dtype they are the master copies; what a product multiplies is an intermediate, or on a GPU,
/// in a 16-bit float, a copy that the update has written.
struct step_memory {
  std::size_t parameters = 0;     // with the padding that aligns them
  std::size_t master_copies = 0;  // of the parameters: all, where the model computes in a narrower dtype
  std::size_t narrow_copies = 0;  // beside them: in that dtype, as the update writes them, where it does
  std::size_t gradients = 0;      // with micro-batches: their sum
  std::size_t optimizer_state = 0;
  std::size_t inputs = 0;         // the batch, the numbers that the optimizer is given, scales of f16 and f8,
                                  // what the step reports
  std::size_t staging = 0;        // of the inputs: what a program's batch is copied into
  std::size_t intermediates = 0;  // the planned arena: its size, by the lives of what is put there
  std::size_t intermediates_lower_bound = 0;  // the most of it that is alive at once
  std::size_t activations = 0;  // of the intermediates: alive where the loss is known, and read after that
  std::size_t workspace = 0;    // of the intermediates: the most that one instruction takes beside operands
  std::size_t tables = 0;       // what running the plans looks up; of the trainer on the CPU
  std::size_t peak = 0;  // parameters and their copies, gradients, state, inputs, intermediates and tables
                         // together: the one allocation of a trainer
};

/// What a step costs: in all, and by phase; the sum over micro-batches counts as backward. `forward` is what
/// the loss needs, so that a value which the forward pass computes for the backward pass alone counts as
/// backward.
struct step_cost : cost_sheet {
  cost_sheet forward, backward, optimizer;
};

namespace detail {

/// Of each output behind the loss and the gradients the elements: of the whole graph, of however few layers a
/// plan was made.
template <class Gradients, class Plan>
constexpr buffer<std::size_t> list_quantized_rows() {
  if constexpr (Plan::layers > 0) {
    using few = typename Gradients::template shortened<Plan::layers>;
    return passes::elements_in_whole(frozen<few>::view(), few::cut, 1 + few::parameters);
  } else {
    return passes::elements_in_whole(frozen<Gradients>::view(), {}, 1 + Gradients::parameters);
  }
}
/// Which of a list's axes parameters have, by name.
template <std::size_t N>
struct record_of_axes {
  const std::array<axis_info, N>& list;
  std::int32_t next = 0;
  std::array<bool, N> found{};
  template <class P>
  constexpr void operator()(const P&, const no_path&) {
    for (const axis_info& axis : axis_infos_of(axes_of<P>{}))
      if (const int at = find_axis(list, axis.name); at >= 0) found[static_cast<std::size_t>(at)] = true;
  }
};
template <class Model, class Input, class... Ds>
constexpr std::size_t count_tokens_of(axes<Ds...>) {
  record_of_axes<sizeof...(Ds)> parameters{axis_infos<Ds...>};
  if constexpr (!is_integer(dtype_of<typename Input::element>)) {
    Model m{};
    no_path path;
    walk_parameters(m, path, parameters);
  }
  std::size_t n = 1;
  for (std::size_t i = 0; i < sizeof...(Ds); ++i)
    if (!parameters.found[i]) n *= axis_infos<Ds...>[i].size.bound;
  return n;
}
/// Of a loss's first input: elements that are indices, or else along the axes that no parameter has.
template <class Model, class Input>
constexpr std::size_t count_tokens() {
  return count_tokens_of<Model, Input>(axes_of<Input>{});
}
/// Throws `error`: a number of the optimizer's is not finite.
[[noreturn]] void throw_nonfinite_number(double learning_rate);

template <class Gradients, class Plan, class Compute>
constexpr std::size_t count_quantized() {
  if constexpr (is_quantized<Compute>)
    return list_quantized_rows<Gradients, Plan>().size();
  else
    return 0;
}
template <class Gradients, class Plan, std::size_t Count>
constexpr std::array<std::size_t, Count> quantized_rows_of() {
  std::array<std::size_t, Count> rows{};
  if constexpr (Count > 0) copy_run(list_quantized_rows<Gradients, Plan>().data(), Count, rows.data());
  return rows;
}

template <class Step, std::size_t Span, std::size_t... I>
constexpr auto find_lengths(std::index_sequence<I...>)
    -> group_lengths<Step::layout.groups[Step::layout.spans[Span].first_group + I].length...>;
template <class Step, std::size_t Span>
using lengths_of_span =
    decltype(find_lengths<Step, Span>(std::make_index_sequence<Step::layout.spans[Span].groups>{}));

/// The graph of one run of a step's update.
template <class Step, std::size_t Run>
constexpr auto find_update_graph() {
  using optimizer = typename Step::optimizer;
  constexpr update_run run = Step::updates[Run];
  using groups = lengths_of_span<Step, run.span>;
  if constexpr (!Step::layout.spans[run.span].matrices) {
    return std::type_identity<
        typename Step::parts::template update<rule_of<optimizer, false>, groups, typename Step::copy_type>>{};
  } else if constexpr (run.parameter < 0) {
    return std::type_identity<typename Step::parts::template direction<optimizer, groups>>{};
  } else {
    constexpr auto i = static_cast<std::size_t>(run.parameter);
    constexpr std::size_t rows = Step::layout.rows[i];
    constexpr std::size_t columns = parameter_table<typename Step::model>[i].count / rows;
    constexpr bool rows_are_outputs = Step::layout.rows_are_outputs[i];
    return std::type_identity<typename Step::parts::template matrix<
        optimizer, rows, columns, rows_are_outputs, typename Step::copy_type>>{};
  }
}

}  // namespace detail

/// Model's loss, its gradient, and Optimizer's update of every parameter.
///
/// Model      a struct that BOOST_HANA_DEFINE_STRUCT describes, with a const member function loss(inputs...)
/// Optimizer  sgd, momentum, nesterov, adagrad, rmsprop, adam, adamw, lion, muon (optim/)
/// Policies   groups<list>, micro_batches<n> (optim/groups.hpp), compute_in<T> (train/compute_in.hpp),
///            recompute_to_fit<bytes> (train/recompute_to_fit.hpp), and where it runs: cpu, or cuda (with
///            napkin/cuda.hpp)
/// Rules      no_optimizer, group_is_empty, no_micro_batch, not_a_compute_dtype, not_added_fast,
///            not_a_policy, policy_said_twice
template <class Model, class Optimizer, class... Policies>
struct train_step {
  using model = Model;
  using optimizer = Optimizer;
  using backend = typename detail::backend_among<Policies...>::type;
  using parts = step_parts<backend>;

  /// What the model is computed in, and how its products may be.
  using compute_type = detail::compute_dtype_among<Policies...>;
  static constexpr passes::product_options products =
      parts::has_product_options ? detail::products_among<Policies...>() : passes::product_options{};

  /// The loss is multiplied by a number, loss_scale, that is one input more of the gradient's plan.
  static constexpr bool scales_loss = detail::needs_scaled_loss<compute_type>;

  using raised = decltype(detail::step_mistake<Model, Policies...>::raise());

  /// The gradient's plan reads copies of the parameters in compute_type, which the update writes.
  static constexpr bool keeps_copies = parts::template keeps_copies<compute_type>;
  using copy_type = std::conditional_t<keeps_copies, compute_type, f32>;  // f32: there are none

  static constexpr std::size_t micro_batches = detail::find_micro_batches<Policies...>();

 private:
  using groups = typename detail::groups_among<Policies...>::list;
  using rewrite = typename parts::loss_rewrite;
  template <bool Together>
  using gradients_of = gradient_graph<Model, compute_type, rewrite, micro_batches, keeps_copies, Together>;
  static constexpr bool together =
      detail::stores_together<Model, Optimizer, groups, gradients_of<rewrite::joins_parameters>>();

 public:
  using gradients = planning::with_products<gradients_of<together>, products>;

  static constexpr auto layout =
      detail::lay_out<Model, Optimizer, groups, parts::groups_at_once>(gradients::stored);
  static constexpr std::size_t data_inputs = model_graph<Model>::data_inputs;

  using recompute = detail::recompute_among<Model, Optimizer, Policies...>;
  using gradient_plan = typename detail::recomputed_plan<backend, gradients, recompute::choice>::type;

  /// Tensors that are rounded to 8-bit floats: as many scales, and their reciprocals, are inputs of the
  /// gradient's plan, and as many outputs say what it saw of their rows.
  static constexpr std::size_t quantized_tensors =
      detail::count_quantized<gradients, gradient_plan, compute_type>();
  static constexpr std::array<std::size_t, quantized_tensors> quantized_rows =
      detail::quantized_rows_of<gradients, gradient_plan, quantized_tensors>();
  static constexpr std::size_t scale_bytes = parts::scale_bytes(scales_loss, quantized_rows);

  /// What several micro-batches add their gradients to; of one there is nothing to be added to.
  static constexpr bool adds_gradients = micro_batches > 1;
  using zero_plan = typename plan_for<backend, zero_graph<f32, layout.length>>::type;

  using norm_plan =
      typename plan_for<backend,
                        typename parts::template norm<layout.length, layout.state_length, layout.matrices,
                                                      micro_batches, quantized_tensors>>::type;

  /// The update: these runs, in this order. Runs of equal size share a plan.
  static constexpr std::size_t update_runs = layout.runs();
  static constexpr std::array<update_run, update_runs> updates = detail::list_runs<update_runs>(layout);
  template <std::size_t Run>
  using update_plan =
      typename plan_for<backend, typename decltype(detail::find_update_graph<train_step, Run>())::type>::type;

  /// The numbers of all groups: layout.numbers of them. Contract of `fill` in optim/optimizer.hpp. Throws
  /// `error` where one is not finite, of a learning rate that is not; the factor of clipping may be anything.
  template <class T>
  static void fill(const typename Optimizer::options& o, double learning_rate, std::int64_t step, double clip,
                   T* to) {
    for (const update_group& g : layout.groups) {
      const double rate = learning_rate * g.rate_scale;
      T* const numbers = to + g.first_number;
      if constexpr (!OptimizerOfMatrices<Optimizer>)
        Optimizer::fill(o, rate, g.decay_scale, step, clip, numbers);
      else if (layout.spans[g.span].matrices)
        Optimizer::matrices::fill(o, rate, g.decay_scale, step, clip, numbers);
      else
        Optimizer::others::fill(o.others, rate * o.others_rate, g.decay_scale, step, clip, numbers);
      for (std::size_t n = 1; n < g.numbers; ++n)
        if (!(numbers[n] - numbers[n] == 0)) detail::throw_nonfinite_number(learning_rate);
    }
  }

  /// What the optimizer keeps for parameter i: how many vectors, and what each is called.
  static constexpr std::size_t states_of(std::size_t i) { return span_of(i).states; }
  static constexpr std::string_view state_name(std::size_t s, std::size_t i) {
    if (span_of(i).matrices) return detail::rule_of<Optimizer, true>::state_names[s];
    return detail::rule_of<Optimizer, false>::state_names[s];
  }
  /// Where state s of parameter i begins, in elements, among all states.
  static constexpr std::size_t state_offset(std::size_t s, std::size_t i) {
    const update_span& span = span_of(i);
    return span.first_state + s * span.length + (layout.offset[i] - span.begin);
  }

  /// Bytes of data input i of the loss; behind its arguments, of the size of an axis.
  static constexpr std::size_t input_bytes(std::size_t i) {
    if (i >= model_graph<Model>::inputs::count) return sizeof(std::int32_t);
    const graph_view g = frozen<model_graph<Model>>::view();
    const auto slot = static_cast<int>(parameter_table<Model>.size() + i);
    for (int id = 0; id < static_cast<int>(g.node_count); ++id)
      if (g[id].kind == op::input && g.attribute(id, 0) == slot)
        return numel(g.shape_of(id)) * size_of(g[id].type);
    return 0;
  }

  // What conventions.hpp asks of a step: of the model as it was traced, however it is lowered. Rounding to 8
  // bits adds no product, so that a graph which does not round is asked.
  static constexpr graph_view forward_graph() { return frozen<model_graph<Model>>::view(); }
  static constexpr graph_view differentiated_graph() {
    return frozen<gradient_graph<Model, detail::wider_than<compute_type>>>::view();
  }
  static constexpr buffer<std::int32_t> wanted() {
    return detail::first_nodes(parameter_table<Model>.size());
  }
  static constexpr std::size_t parameter_count = count_parameters<Model>;

 private:  // functions, not lambdas called at once: g++ evaluates those twice
  static constexpr const update_span& span_of(std::size_t i) {
    return layout.spans[layout.groups[layout.group[i]].span];
  }
  static constexpr std::size_t find_tokens() {
    using inputs = typename model_graph<Model>::inputs;
    if constexpr (inputs::count == 0)
      return std::size_t{0};
    else
      return detail::count_tokens<Model, typename inputs::template input<0>>();
  }

  static constexpr step_cost find_cost() {
    step_cost c;
    const auto plan = gradient_plan::view();
    planning::instruction_costs costs(plan, gradient_plan::graph());
    for (std::size_t i = 0; i < plan.count.instructions; ++i)
      for (std::size_t k = 0; k < micro_batches; ++k)
        (plan.instructions[i].first_output ? c.forward : c.backward) += costs.of(i);
    if constexpr (adds_gradients) c.backward += planning::cost_of(zero_plan::view(), zero_plan::graph());
    c.optimizer += planning::cost_of(norm_plan::view(), norm_plan::graph());
    add_update_costs(c.optimizer, std::make_index_sequence<update_runs>{});
    const cost_sheet phases[] = {c.forward, c.backward, c.optimizer};
    for (const cost_sheet& phase : phases) static_cast<cost_sheet&>(c) += phase;
    return c;
  }

  template <std::size_t... Run>
  static constexpr void add_update_costs(cost_sheet& c, std::index_sequence<Run...>) {
    ((c += planning::cost_of(update_plan<Run>::view(), update_plan<Run>::graph())), ...);
  }
  /// The arena is one for all plans, the tables are each plan's own.
  static constexpr void add_plan(step_memory& m, const auto& plan) {
    const auto raise = [](std::size_t& most, std::size_t bytes) {
      if (bytes > most) most = bytes;
    };
    raise(m.intermediates, plan.peak);
    raise(m.intermediates_lower_bound, plan.lower_bound);
    raise(m.workspace, planning::workspace_of(plan));
    m.tables += parts::table_bytes(plan.count);
  }
  template <std::size_t... Run>
  static constexpr void add_updates(step_memory& m, std::index_sequence<Run...>) {
    (add_plan(m, update_plan<Run>::view()), ...);
  }

  static constexpr step_memory find_memory() {
    step_memory m;
    m.parameters = layout.length * sizeof(f32);
    if (!std::is_same_v<compute_type, f32>) m.master_copies = m.parameters;
    if (keeps_copies) m.narrow_copies = layout.length * sizeof(copy_type);
    m.gradients = m.parameters;
    m.optimizer_state = layout.state_length * sizeof(f32);
    for (std::size_t i = 0; i < data_inputs; ++i) m.inputs += passes::aligned(input_bytes(i));
    m.staging = parts::staging_bytes(m.inputs, micro_batches);
    m.inputs = parts::input_bytes(m.inputs, layout.numbers, layout.checks(), micro_batches) + scale_bytes;
    if constexpr (adds_gradients) add_plan(m, zero_plan::view());
    add_plan(m, gradient_plan::view());
    add_plan(m, norm_plan::view());
    add_updates(m, std::make_index_sequence<update_runs>{});
    m.activations = planning::kept_after_first_output(gradient_plan::view());
    m.tables += parts::header_bytes;
    m.peak = m.parameters + m.narrow_copies + m.gradients + m.optimizer_state + m.inputs + m.intermediates +
             m.tables;
    return m;
  }

 public:
  /// What the loss is of, in all micro-batches, as its first input says: tokens, where that is indices, which
  /// are its elements; else examples, or positions in them, along the axes of it that no parameter has.
  static constexpr std::size_t tokens = micro_batches * find_tokens();

  static constexpr step_cost cost = find_cost();

  /// f(plan_line) for each kernel and library call, those of each micro-batch among them.
  template <class F>
  static constexpr void for_each_line(F&& f) {
    const auto visit = [&f](const auto& plan, const graph_view& lowered, std::size_t times) {
      const buffer<plan_line> lines = planning::lines_of(plan, lowered);
      for (std::size_t k = 0; k < times; ++k)
        for (const plan_line& line : lines) f(line);
    };
    if constexpr (adds_gradients) visit(zero_plan::view(), zero_plan::graph(), 1);
    visit(gradient_plan::view(), gradient_plan::graph(), micro_batches);
    visit(norm_plan::view(), norm_plan::graph(), 1);
    [&]<std::size_t... Run>(std::index_sequence<Run...>) {
      (visit(update_plan<Run>::view(), update_plan<Run>::graph(), 1), ...);
    }
    (std::make_index_sequence<update_runs>{});
  }

  static constexpr step_memory memory = find_memory();

 private:
  static constexpr recomputation find_recomputation() {
    recomputation r{recompute::found.choice, recompute::found.choices, recompute::budget,
                    recompute::found.fits};
    r.flops = cost.flops.recomputed;
    if constexpr (recompute::choice > 0) {
      using without = train_step<Model, Optimizer, detail::with_choice<Policies, 0>...>;
      r.saved = without::memory.peak - memory.peak;
      if (without::memory.activations > memory.activations)
        r.kept_less = without::memory.activations - memory.activations;
      if (cost.bytes.total() > without::cost.bytes.total())
        r.more_bytes = cost.bytes.total() - without::cost.bytes.total();
    }
    return r;
  }

  template <class Loss, std::size_t Parameters, class Times>
  static constexpr passes::attention_choice attention_in(Times times) {
    return passes::choose_attention(frozen<detail::loss_computed_in<Loss, compute_type, Parameters>>::view(),
                                    typename rewrite::fits{}, detail::first_nodes(Parameters), times);
  }
  static constexpr passes::attention_choice find_attention_choice() {
    if constexpr (gradient_plan::layers > 0) {
      using few = passes::shortened_graph<model_graph<Model>, gradient_plan::layers>;
      return attention_in<few, few::parameters>([](std::int32_t einsum) { return few::times(einsum); });
    } else {
      return attention_in<model_graph<Model>, model_graph<Model>::parameters>([](std::int32_t) { return 1; });
    }
  }

 public:
  /// How many of the model's attentions are one operation, how many are matrix products and a softmax, and
  /// why.
  static constexpr passes::attention_choice attention = find_attention_choice();

  /// What products of the gradient's plan do in their own calls beside multiplying: none on the CPU, where
  /// kernels follow them in cache.
  static constexpr planning::epilogue_counts epilogues = planning::epilogues_of(gradient_plan::view());

  /// Products of the gradient's plan that no library call computes but a kernel of the project's own: zero of
  /// GPT-2 and llama. `plan_line::refused` says of each why.
  static constexpr std::size_t refused_products = planning::refused_products_of(gradient_plan::view());

  static constexpr recomputation recomputed = find_recomputation();
};

namespace detail {
template <class Model, class Optimizer, class... Policies>
struct declared<train_step<Model, Optimizer, Policies...>> {
  static constexpr auto find() {
    if constexpr (is_mistake<optimizer_mistake<Optimizer>>)
      return std::type_identity<optimizer_mistake<Optimizer>>{};
    else
      return std::type_identity<step_mistake<Model, Policies...>>{};
  }
  using mistake = typename decltype(find())::type;
  static constexpr step_cost cost{};
};
}  // namespace detail

// Refused: the optimizer is none.
template <class Model, class Optimizer, class... Policies>
requires(is_mistake<detail::optimizer_mistake<Optimizer>>) struct train_step<Model, Optimizer, Policies...>
    : failed {
  using raised = decltype(detail::optimizer_mistake<Optimizer>::raise());
  static constexpr std::size_t tokens = 0;
  static constexpr step_cost cost{};
  static constexpr step_memory memory{};
};

}  // namespace napkin
