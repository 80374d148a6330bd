// Where each parameter, and what its optimizer keeps for it, lies among flat vectors; and a step's update as
// a list of runs over them. Constants: whatever trains walks the list, on the CPU or elsewhere.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "napkin/core/fixed_string.hpp"
#include "napkin/cost/backend.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/optim/groups.hpp"
#include "napkin/optim/optimizer.hpp"
#include "napkin/passes/stored_parameters.hpp"
#include "napkin/train/compute_in.hpp"
#include "napkin/train/stored_tensor.hpp"

namespace napkin {

namespace rule {
/// type<Model>, named<"pattern">
template <class... Facts>
struct group_is_empty {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "groups: this pattern is no parameter's name, or only of those that an earlier group has already; "
      "parameter_table<model> lists the names");
};
/// type<what was given>
template <class... Facts>
struct not_a_policy {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "train_step: after model and optimizer stand policies: groups<list>, micro_batches<4>, "
      "compute_in<bf16>, recompute_to_fit<bytes>, cuda");
};
/// type<what stands there>
template <class... Facts>
struct no_optimizer {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "train_step: behind the model stands an optimizer, train_step<model, adamw>: sgd, momentum, nesterov, "
      "adagrad, rmsprop, adam, adamw, lion, muon or a class of one's own that has their states, scalars and "
      "options; a schedule's rate is what trainer.step is given");
};
/// type<Model>, given<0>
template <class... Facts>
struct no_micro_batch {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "micro_batches: a step takes one batch or more: micro_batches<4>, or none is said");
};
/// type<Model>
template <class... Facts>
struct micro_batches_of_run_time_sizes {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "micro_batches: batches that lie behind one another are of one "
                                         "size, which the compiler knows, and an input of "
                                         "this model has an axis that is sized at run time");
};
/// type<Policies>...
template <class... Facts>
struct policy_said_twice {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "train_step: two policies say the same thing: one list of groups, one number of micro-batches, one "
      "dtype to compute in, one budget, one place to run");
};
}  // namespace rule

/// Parameters that one rule updates by one set of numbers, behind one another in every flat vector.
struct update_group {
  std::size_t begin = 0, length = 0;  // elements, padding included: a multiple of flat_block
  std::size_t numbers = 0, first_number = 0;
  double rate_scale = 1, decay_scale = 1;
  std::size_t span = 0;
};

/// Groups that one rule updates at once, behind one another in every flat vector, their numbers too.
struct update_span {
  std::size_t begin = 0, length = 0;  // elements
  std::size_t states = 0;             // the span's own, each as long as it
  std::size_t first_state = 0;        // elements, among the states of all spans
  std::size_t first_group = 0, groups = 0;
  bool matrices = false;  // by Optimizer::matrices
};

/// What a run of the update reads or writes.
struct update_operand {
  enum class vector { value, gradient, state } of = vector::value;
  std::size_t offset = 0;  // elements
};

/// One run: its plan's inputs are these vectors, then the first of the numbers, and all of them.
struct update_run {
  std::size_t span = 0;
  int parameter = -1;            // of a run of one matrix
  std::size_t first_number = 0;  // of its groups
  std::size_t check = 0;         // where a GPU's says whether all is finite (train/cuda_step.hpp): elements
  inplace_vector<update_operand, 6> inputs, outputs;
};

namespace detail {

template <class Policy>
inline constexpr bool is_groups = requires {
  typename Policy::group_list;
};
template <class Policy>
inline constexpr bool is_micro_batches = requires {
  Policy::batches;
};

/// Says what is made again: a budget, or the choice that one led to (train/recompute_to_fit.hpp).
template <class Policy>
inline constexpr bool is_recompute = requires {
  Policy::recompute_budget;
}
|| requires { Policy::recompute_choice; };

/// Says where a step runs.
template <class Policy>
inline constexpr bool is_backend = std::is_same_v<Policy, cpu> || std::is_same_v<Policy, cuda>;

/// The policy that says so; cpu if none does.
template <class... Policies>
struct backend_among {
  using type = cpu;
};
template <class Policy, class... Rest>
struct backend_among<Policy, Rest...> : backend_among<Rest...> {};
template <class Policy, class... Rest>
requires(is_backend<Policy>) struct backend_among<Policy, Rest...> {
  using type = Policy;
};

template <class Policy>
inline constexpr bool is_policy = is_backend<Policy> || is_groups<Policy> || is_micro_batches<Policy> ||
                                  is_compute_in<Policy> || is_recompute<Policy>;

struct no_groups {
  static constexpr std::array<parameter_group, 0> value{};
};

/// The list of the policy that has one.
template <class... Policies>
struct groups_among {
  using list = no_groups;
};
template <class Policy, class... Rest>
struct groups_among<Policy, Rest...> : groups_among<Rest...> {};
template <class Policy, class... Rest>
requires(is_groups<Policy>) struct groups_among<Policy, Rest...> {
  using list = typename Policy::group_list;
};
template <class Policy>
constexpr std::size_t batches_of() {
  if constexpr (is_micro_batches<Policy>)
    return Policy::batches == 0 ? 1 : Policy::batches;
  else
    return 1;
}
template <class Policy>
inline constexpr bool says_no_batch = false;
template <class Policy>
requires(is_micro_batches<Policy>) inline constexpr bool says_no_batch<Policy> = Policy::batches == 0;
template <class... Policies>
constexpr std::size_t find_micro_batches() {
  return (batches_of<Policies>() * ... * 1);
}

/// The first group, of `count`, that has a parameter; `count` if none has.
template <class List>
constexpr std::size_t group_of(std::string_view name, std::size_t count) {
  std::size_t g = 0;
  while (g < count && !matches(List::value[g].pattern, name)) ++g;
  return g;
}

/// An alternative of a pattern that chooses nothing: in which group, and where its text begins.
struct empty_pattern {
  std::size_t group = 0, begin = 0, size = 0;
  bool found = false;
};
template <class Model, class List>
constexpr empty_pattern find_empty_pattern() {
  std::size_t g = 0;
  for (const parameter_group& group : List::value) {
    for (std::size_t at = 0; at <= group.pattern.size();) {
      const std::string_view one = alternative_at(group.pattern, at);
      bool used = false;
      for (const parameter_info& p : parameter_table<Model>)
        used = used || (matches_one(one, p.name) && group_of<List>(p.name, g) == g);
      if (!used) return {g, at, one.size(), true};
      at += one.size() + 1;
    }
    ++g;
  }
  return {};
}
template <class Model, class List>
struct group_complaint {
  static constexpr empty_pattern empty = find_empty_pattern<Model, List>();
  static constexpr auto spell() {
    fixed_string<empty.size + 1> text;
    for (std::size_t i = 0; i < empty.size; ++i)
      text.text[i] = std::data(List::value)[empty.group].pattern[empty.begin + i];
    return text;
  }
  static constexpr auto find() {
    if constexpr (empty.found)
      return std::type_identity<rule::group_is_empty<fact::type<Model>, fact::named<spell()>>>{};
    else
      return std::type_identity<accepted>{};
  }
};
template <class Policy>
constexpr auto find_stranger() {
  if constexpr (is_policy<Policy>)
    return std::type_identity<accepted>{};
  else
    return std::type_identity<rule::not_a_policy<fact::type<Policy>>>{};
}
template <class... Policies>
inline constexpr bool says_once = (std::size_t{is_groups<Policies>} + ... + 0) <= 1 &&
                                  (std::size_t{is_micro_batches<Policies>} + ... + 0) <= 1 &&
                                  (std::size_t{is_compute_in<Policies>} + ... + 0) <= 1 &&
                                  (std::size_t{is_recompute<Policies>} + ... + 0) <= 1 &&
                                  (std::size_t{is_backend<Policies>} + ... + 0) <= 1;

template <class Model, class... Policies>
constexpr auto find_step_mistake() {
  if constexpr (is_mistake<model_mistake<Model>>)
    return std::type_identity<model_mistake<Model>>{};
  else if constexpr (!(is_policy<Policies> && ...))
    return detail::first_of(find_stranger<Policies>()...);
  else if constexpr (!says_once<Policies...>)
    return std::type_identity<rule::policy_said_twice<fact::type<Policies>...>>{};
  else if constexpr ((says_no_batch<Policies> || ...))
    return std::type_identity<rule::no_micro_batch<fact::type<Model>, fact::given<0>>>{};
  else if constexpr (find_micro_batches<Policies...>() > 1 &&
                     inputs_of_member<decltype(&Model::loss)>::count_run_time_sizes() > 0)
    return std::type_identity<rule::micro_batches_of_run_time_sizes<fact::type<Model>>>{};
  else if constexpr (!is_compute_dtype<typename compute_among<Policies...>::type>)
    return std::type_identity<
        rule::not_a_compute_dtype<fact::type<typename compute_among<Policies...>::type>>>{};
  else if constexpr (!is_accumulation<Policies...>)
    return std::type_identity<
        rule::not_added_fast<fact::type<typename compute_among<Policies...>::type>,
                             fact::type<typename compute_among<Policies...>::accumulation>>>{};
  else
    return group_complaint<Model, typename groups_among<Policies...>::list>::find();
}
/// What an optimizer says of itself (optim/optimizer.hpp).
template <class X>
concept Optimizes = OptimizerOfMatrices<X> || requires {
  X::states;
  X::scalars;
  typename X::options;
};
template <class Optimizer>
using optimizer_mistake = mistake_unless<Optimizes<Optimizer>, rule::no_optimizer<fact::type<Optimizer>>>;

/// What is wrong with a step that is to be run. Whoever runs steps raises it before anything of them is made.
template <class Model, class... Policies>
using step_mistake = typename decltype(find_step_mistake<Model, Policies...>())::type;

/// The rule of a group's parameters: of matrices, or of all else.
template <class Optimizer, bool Matrices>
constexpr auto find_rule() {
  if constexpr (!OptimizerOfMatrices<Optimizer>)
    return std::type_identity<Optimizer>{};
  else if constexpr (Matrices)
    return std::type_identity<typename Optimizer::matrices>{};
  else
    return std::type_identity<typename Optimizer::others>{};
}
template <class Optimizer, bool Matrices>
using rule_of = typename decltype(find_rule<Optimizer, Matrices>())::type;

/// Group i of the list; behind its end what is so without a group.
template <class List>
constexpr parameter_group listed_group(std::size_t i) {
  for (const parameter_group& group : List::value)
    if (i-- == 0) return group;
  return {};
}

template <std::size_t Parameters, std::size_t Groups>
struct parameter_layout {
  std::array<std::size_t, Parameters> offset{};  // elements, on the host
  inplace_vector<stored_tensor, Parameters> tensors;
  std::array<std::size_t, Parameters> group{};
  std::array<std::size_t, Parameters> rows{};  // of a matrix; 0: it is none
  std::array<bool, Parameters> rows_are_outputs{};
  inplace_vector<update_group, Groups> groups;
  inplace_vector<update_span, Groups> spans;
  std::size_t length = 0;        // of a flat vector of all, elements
  std::size_t state_length = 0;  // of all states
  std::size_t numbers = 0;       // of all groups
  std::size_t matrices = 0;      // that are updated one by one

  constexpr std::size_t runs() const { return spans.size() + matrices; }
  /// What a GPU's runs say: a number for each block of the flat vectors, and for each matrix.
  constexpr std::size_t checks() const {
    return matrices > 0 ? first_matrix_check() + matrices : length / flat_block;
  }
  /// Those of matrices are an input of their own: they begin at a multiple of 16 bytes.
  constexpr std::size_t first_matrix_check() const { return (length / flat_block + 3) / 4 * 4; }
};

/// Of parameter i, by the order in which they lie: matrices first, then all else; of either the groups in the
/// order of their list, then the rest; of each those that decay first.
template <class Model, class Optimizer, class List>
constexpr std::size_t kind_of(std::size_t i) {
  constexpr std::size_t listed = std::size(List::value);
  const parameter_info& p = parameter_table<Model>[i];
  const std::size_t group = group_of<List>(p.name, listed);
  const parameter_group said = listed_group<List>(group);
  const bool decays = said.decay_scale.is_said || !is_bias_or_gain(p.name);
  const bool matrix = OptimizerOfMatrices<Optimizer> && said.as_matrices && said.row_axes > 0 &&
                      said.row_axes < p.sizes.size() && !is_bias_or_gain(p.name);
  return 2 * (group + (matrix ? 0 : listed + 1)) + !decays;
}

/// Whether all parameters that Gradients has as one tensor are updated as one: by one group's numbers, and
/// not by matrix.
template <class Model, class Optimizer, class List, class Gradients>
constexpr bool stores_together() {
  if constexpr (Gradients::parameters == Gradients::stored.size()) return false;  // there are none
  buffer<std::size_t> kinds;  // by tensor: the first parameter's
  for (std::size_t i = 0; i < Gradients::stored.size(); ++i) {
    const auto tensor = static_cast<std::size_t>(Gradients::stored[i].tensor);
    const std::size_t kind = kind_of<Model, Optimizer, List>(i);
    if (tensor == kinds.size())
      kinds.push_back(kind);
    else if (kinds[tensor] != kind || kind / 2 <= std::size(List::value))
      return false;
  }
  return true;
}

/// In the order that kind_of says, so that all that one rule updates lies together, in spans of `Most` groups
/// at most. Tensors that parameters are stored as are aligned to 64 bytes, groups to flat_block.
template <class Model, class Optimizer, class List, std::size_t Most, std::size_t Count>
constexpr auto lay_out(const std::array<passes::stored_parameter, Count>& stored) {
  constexpr std::size_t listed = std::size(List::value);
  parameter_layout<Count, 4 * (listed + 1)> l;
  for (std::size_t i = 0; i < Count; ++i) {
    const auto tensor = static_cast<std::size_t>(stored[i].tensor);
    if (tensor == l.tensors.size()) l.tensors.push_back({0, stored[i].rows, {}});
  }
  std::array<std::size_t, Count> kinds{};
  for (std::size_t i = 0; i < Count; ++i) kinds[i] = kind_of<Model, Optimizer, List>(i);
  for (std::size_t kind = 0; kind < 4 * (listed + 1); ++kind) {
    const bool matrices = kind / 2 <= listed;
    const parameter_group said = listed_group<List>(kind / 2 % (listed + 1));
    update_group g;
    g.begin = l.length;
    g.first_number = l.numbers;
    g.rate_scale = said.rate_scale;
    g.decay_scale = said.decay_scale.is_said ? said.decay_scale.number : kind % 2 == 0 ? 1 : 0;
    std::size_t members = 0;
    for (std::size_t i = 0; i < Count; ++i) {
      if (kinds[i] != kind) continue;
      const parameter_info& p = parameter_table<Model>[i];
      l.group[i] = l.groups.size();
      if (matrices) {
        l.rows[i] = 1;
        for (std::size_t k = 0; k < said.row_axes; ++k) l.rows[i] *= p.sizes[k];
        l.rows_are_outputs[i] = said.rows_are_outputs;
      }
      ++members;
      stored_tensor& t = l.tensors[static_cast<std::size_t>(stored[i].tensor)];
      if (!t.pieces.empty()) continue;  // with the first of its parameters
      t.offset = g.begin + g.length;
      std::size_t elements = 0;
      do {  // in the order of their pieces
        std::size_t k = i;
        while (stored[k].tensor != stored[i].tensor || stored[k].start * stored[k].rows != elements) ++k;
        l.offset[k] = t.offset + elements;
        elements += parameter_table<Model>[k].count;
        t.pieces.push_back(parameter_table<Model>[k].count / stored[k].rows);
      } while (elements < stored[i].stride * stored[i].rows);
      g.length += (elements + 15) / 16 * 16;
    }
    if (members == 0) continue;
    g.length = flat_length(g.length);
    l.length += g.length;
    g.numbers = matrices ? rule_of<Optimizer, true>::scalars : rule_of<Optimizer, false>::scalars;
    l.numbers += g.numbers;
    if (matrices) l.matrices += members;
    if (l.spans.size() == 0 || l.spans.back().matrices != matrices || l.spans.back().groups == Most) {
      const std::size_t states =
          matrices ? rule_of<Optimizer, true>::states : rule_of<Optimizer, false>::states;
      l.spans.push_back({g.begin, 0, states, l.state_length, l.groups.size(), 0, matrices});
    }
    update_span& span = l.spans.back();
    g.span = l.spans.size() - 1;
    span.length += g.length;
    ++span.groups;
    l.state_length += span.states * g.length;
    l.groups.push_back(g);
  }
  return l;
}

/// Each span's run over all of it; of matrices, that of the direction, then one for each matrix.
template <std::size_t Runs, class Layout>
constexpr std::array<update_run, Runs> list_runs(const Layout& l) {
  using of = update_operand::vector;
  std::array<update_run, Runs> runs{};
  std::size_t at = 0, check = l.first_matrix_check();
  for (std::size_t k = 0; k < l.spans.size(); ++k) {
    const update_span& s = l.spans[k];
    update_run& whole = runs[at++];
    whole.span = k;
    whole.first_number = l.groups[s.first_group].first_number;
    whole.check = s.begin / flat_block;
    if (!s.matrices) {
      whole.inputs.push_back({of::value, s.begin});
      whole.outputs.push_back({of::value, s.begin});
    } else {
      whole.outputs.push_back({of::gradient, s.begin});
    }
    whole.inputs.push_back({of::gradient, s.begin});
    for (std::size_t n = 0; n < s.states; ++n) {
      whole.inputs.push_back({of::state, s.first_state + n * s.length});
      whole.outputs.push_back({of::state, s.first_state + n * s.length});
    }
    if (!s.matrices) continue;
    for (std::size_t i = 0; i < l.group.size(); ++i) {
      const update_group& group = l.groups[l.group[i]];
      if (group.span != k) continue;
      update_run& one = runs[at++];
      one.span = k;
      one.parameter = static_cast<int>(i);
      one.first_number = group.first_number;
      one.check = check++;
      one.inputs = {{of::value, l.offset[i]}, {of::gradient, l.offset[i]}};
      one.outputs = {{of::value, l.offset[i]}};
    }
  }
  return runs;
}

}  // namespace detail

}  // namespace napkin
