// From a model, a struct that BOOST_HANA_DEFINE_STRUCT describes, to its parameters: names from the members,
// numbers depth-first through them and through std::array; and to the graph of its loss.
#pragma once

#include <array>
#include <boost/hana/accessors.hpp>
#include <boost/hana/concept/struct.hpp>
#include <boost/hana/define_struct.hpp>
#include <boost/hana/first.hpp>
#include <boost/hana/length.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/unpack.hpp>
#include <string_view>

#include "napkin/graph/bind_run_time_sizes.hpp"
#include "napkin/graph/constants_first.hpp"
#include "napkin/ops/expression.hpp"
#include "napkin/ops/init.hpp"

namespace napkin {

namespace rule {
/// type<Member>
template <class... Facts>
struct not_reflected {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "not reflected: a member of the model is a class whose own members nothing lists; write "
      "BOOST_HANA_DEFINE_STRUCT(name, (type, member)...) in it");
};
/// type<Model or layer>, expected<members that hold parameters>, given<those listed>
template <class... Facts>
struct parameter_is_not_listed {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "not reflected: a parameter or a layer is declared beside BOOST_HANA_DEFINE_STRUCT, which does "
      "not list it; move it in as (type, member)");
};
/// type<Model>
template <class... Facts>
struct model_has_no_loss {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "the model has no constexpr auto loss(input<T, axes...>...) const, which is one function, const "
      "and no template");
};
/// type<Model>
template <class... Facts>
struct model_function_is_no_constant {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "the compiler cannot compute the model's function (its loss): a constexpr is missing, of it, of what "
      "it calls or of a constructor, or it prints, or does what is undefined, as an index past the end is");
};
/// type<Model>, axes<Ds...>, of_type<T>
template <class... Facts>
struct loss_is_no_number {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "the loss of a model must be one floating-point number: reduce it, by mean or sum, first");
};
/// type<what the function gives>
template <class... Facts>
struct model_function_gives_no_value {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "a function of a model (its loss) must return what operations on its inputs and parameters "
      "give");
};
}  // namespace rule

/// A parameter of a model.
struct parameter_info {
  std::string_view name;  // "blocks.3.mlp.up"
  shape sizes;
  std::size_t count = 0;  // elements
  init initial;
};

/// Give a parameter its first values: a pure function of the seed and its name.
inline void initialise(const parameter_info& p, std::uint64_t seed, float* out) {
  p.initial.fill(seed, p.name, out, p.count);
}

namespace detail {

template <class M>
inline constexpr bool is_array = false;
template <class M, std::size_t N>
inline constexpr bool is_array<std::array<M, N>> = true;

/// Where names are not asked for.
struct no_path {
  constexpr std::size_t enter(std::size_t) { return 0; }
  constexpr std::size_t enter(const auto&) { return 0; }
  constexpr void leave(std::size_t) {}
};

/// The way to a member, spelled out: entering one lengthens it, leaving cuts it back.
struct spelled_path {
  std::array<char, 256> text{};
  std::size_t size = 0;

  constexpr std::size_t enter(const auto& name) {
    return extend(name.c_str(), decltype(boost::hana::length(name))::value);
  }
  constexpr std::size_t enter(std::size_t i) {
    char digits[20]{};
    std::size_t at = sizeof digits;
    do {
      digits[--at] = static_cast<char>('0' + i % 10);
      i /= 10;
    } while (i > 0);
    return extend(digits + at, sizeof digits - at);
  }
  constexpr void leave(std::size_t before) { size = before; }

 private:
  constexpr std::size_t extend(const char* part, std::size_t length) {
    const std::size_t before = size;
    if (before + length + 1 > text.size()) throw "the path to a parameter of the model exceeds 256 letters";
    if (before > 0) text[size++] = '.';
    for (std::size_t i = 0; i < length; ++i) text[size++] = part[i];
    return before;
  }
};

template <class M, class Path, class Record>
constexpr void walk_parameters(M& m, Path& path, Record& record);

template <class M, class Path, class Record>
constexpr void walk_member(M& m, const auto& name, Path& path, Record& record) {
  const std::size_t before = path.enter(name);
  walk_parameters(m, path, record);
  path.leave(before);
}

/// Number the parameters of m, depth-first, and record(parameter, path) each; one reached twice counts once.
/// Members that hold no parameters, numbers and empty structs, are passed over.
template <class M, class Path, class Record>
constexpr void walk_parameters(M& m, Path& path, Record& record) {
  if constexpr (Parameter<M>) {
    if (m.id >= 0) return;  // reached before
    m.id = record.next++;
    record(m, path);
  } else if constexpr (is_array<M>) {
    for (std::size_t i = 0; i < m.size(); ++i) walk_member(m[i], i, path, record);
  } else if constexpr (boost::hana::Struct<M>::value) {
    boost::hana::unpack(boost::hana::accessors<M>(), [&](const auto&... members) {
      (walk_member(boost::hana::second(members)(m), boost::hana::first(members), path, record), ...);
    });
  }
}

template <class M, class Accessor>
using member_type =
    std::remove_cvref_t<decltype(boost::hana::second(std::declval<const Accessor&>())(std::declval<M&>()))>;

/// Parameters may be in it.
template <class M>
inline constexpr bool holds_parameters = Parameter<M> || boost::hana::Struct<M>::value;
template <class M, std::size_t N>
inline constexpr bool holds_parameters<std::array<M, N>> = holds_parameters<M>;

// What converts to every member, or to those only that hold parameters: how the members of an aggregate are
// counted that nothing lists. Declared only.
struct any_member {
  template <class M>
  operator M() const;
};
struct holding_member {
  template <class M>
  requires(holds_parameters<M>) operator M() const;
};
template <class M, std::size_t... Before, std::size_t... After>
constexpr bool holds_at(std::index_sequence<Before...>, std::index_sequence<After...>) {
  return requires { M{(void(Before), any_member{})..., holding_member{}, (void(After), any_member{})...}; };
}
template <class M, std::size_t... I>
constexpr bool has_members(std::index_sequence<I...>) {
  return requires { M{(void(I), any_member{})...}; };
}
template <class M, std::size_t N>
constexpr std::size_t count_members() {
  if constexpr (has_members<M>(std::make_index_sequence<N + 1>{}))
    return count_members<M, N + 1>();
  else
    return N;
}
template <class M, std::size_t... I>
constexpr std::size_t count_holding(std::index_sequence<I...>) {
  return (static_cast<std::size_t>(
              holds_at<M>(std::make_index_sequence<I>{}, std::make_index_sequence<sizeof...(I) - 1 - I>{})) +
          ... + 0);
}

/// The members of a struct with a constructor are not counted like that. Whether it, or one of its members,
/// has room for a parameter that is not listed.
template <class M>
constexpr bool may_hide_parameters();
template <class M, class... Members>
constexpr bool may_hide_beside() {
  std::size_t listed = 0;
  ((listed = (listed + alignof(Members) - 1) / alignof(Members) * alignof(Members) + sizeof(Members)), ...);
  return (!std::is_aggregate_v<M> && sizeof(M) >= listed + sizeof(param<>)) ||
         (may_hide_parameters<Members>() || ...);
}
template <class M>
constexpr bool may_hide_parameters() {
  if constexpr (is_array<M>) {
    return may_hide_parameters<typename M::value_type>();
  } else if constexpr (boost::hana::Struct<M>::value) {
    return decltype(boost::hana::unpack(boost::hana::accessors<M>(), []<class... Members>(const Members&...) {
      return std::bool_constant<may_hide_beside<M, member_type<M, Members>...>()>{};
    }))::value;
  } else {
    return false;
  }
}

/// What is wrong with how M lists its members, or one of them its own.
template <class M>
constexpr auto find_reflection_mistake();
template <class First, class... Rest>
constexpr auto find_first_reflection_mistake() {
  using first = decltype(find_reflection_mistake<First>());
  if constexpr (sizeof...(Rest) == 0 || found_mistake<first>)
    return first{};
  else
    return find_first_reflection_mistake<Rest...>();
}
template <class M, class... Members>
constexpr auto find_listing_mistake() {
  constexpr std::size_t listed = sizeof...(Members);
  constexpr std::size_t holding = (static_cast<std::size_t>(holds_parameters<Members>) + ... + 0);
  constexpr std::size_t declared = [] {  // listed first, since counting costs the compiler more
    if constexpr (std::is_aggregate_v<M> && has_members<M>(std::make_index_sequence<listed + 1>{}))
      return count_holding<M>(std::make_index_sequence<count_members<M, listed + 1>()>{});
    else
      return holding;
  }();
  if constexpr (declared > holding)
    return std::type_identity<
        rule::parameter_is_not_listed<fact::type<M>, fact::expected<declared>, fact::given<holding>>>{};
  else if constexpr (listed == 0)
    return std::type_identity<accepted>{};
  else
    return find_first_reflection_mistake<Members...>();
}
template <class M>
constexpr auto find_reflection_mistake() {
  if constexpr (is_array<M>)
    return find_reflection_mistake<typename M::value_type>();
  else if constexpr (boost::hana::Struct<M>::value)
    return decltype(boost::hana::unpack(boost::hana::accessors<M>(), []<class... Members>(const Members&...) {
      return find_listing_mistake<M, member_type<M, Members>...>();
    })){};
  else if constexpr (std::is_class_v<M> && !std::is_empty_v<M> && !Parameter<M>)
    return std::type_identity<rule::not_reflected<fact::type<M>>>{};
  else
    return std::type_identity<accepted>{};
}
template <class M>
using reflection_mistake = typename decltype(find_reflection_mistake<M>())::type;

// What a walk records. Classes, not lambdas: nvcc 13 fails on generic lambdas that call one another here.

struct record_of_totals {
  std::int32_t next = 0;
  std::size_t letters = 0;
  constexpr void operator()(const auto&, const spelled_path& path) { letters += path.size; }
};
template <class Model>
constexpr record_of_totals count_names() {
  Model m{};
  spelled_path path;
  record_of_totals totals;
  walk_parameters(m, path, totals);
  return totals;
}
template <class Model>
inline constexpr record_of_totals totals_of = count_names<Model>();

template <std::size_t Letters>
struct record_of_letters {
  std::int32_t next = 0;
  std::size_t at = 0;
  std::array<char, Letters> letters{};
  constexpr void operator()(const auto&, const spelled_path& path) {
    for (std::size_t i = 0; i < path.size; ++i) letters[at++] = path.text[i];
  }
};
template <class Model>
constexpr auto spell_names() {
  Model m{};
  spelled_path path;
  record_of_letters<totals_of<Model>.letters> names;
  walk_parameters(m, path, names);
  return names.letters;
}
template <class Model>
inline constexpr auto parameter_letters = spell_names<Model>();

template <std::size_t Parameters>
struct record_of_parameters {
  const char* letters;
  std::int32_t next = 0;
  std::array<parameter_info, Parameters> table{};
  template <class P>
  constexpr void operator()(const P& p, const spelled_path& path) {
    parameter_info& info = table[static_cast<std::size_t>(p.id)];
    info.name = {letters, path.size};
    letters += path.size;
    info.sizes = shape_over<axes_of<P>>;
    info.count = numel(info.sizes);
    info.initial = p.initial;
  }
};
template <class Model, class Checked>
constexpr auto make_parameter_table() {
  Model m{};
  spelled_path path;
  record_of_parameters<static_cast<std::size_t>(totals_of<Model>.next)> parameters{
      parameter_letters<Model>.data()};
  walk_parameters(m, path, parameters);
  return parameters.table;
}

}  // namespace detail

/// The parameters of a model, in order: name, sizes, number of elements, first values.
template <class Model>
inline constexpr auto parameter_table =
    detail::make_parameter_table<Model, decltype(detail::reflection_mistake<Model>::raise())>();

namespace detail {
template <class Model>
constexpr std::size_t count_elements() {
  std::size_t n = 0;
  for (const parameter_info& p : parameter_table<Model>) n += p.count;
  return n;
}
}  // namespace detail

/// Elements of all parameters together.
template <class Model>
inline constexpr std::size_t count_parameters = detail::count_elements<Model>();

namespace detail {

struct record_of_nodes {
  builder& b;
  std::int32_t next = 0;
  template <class P>
  constexpr void operator()(P& p, const no_path&) {
    p.graph = &b;
    b.input(p.id, dtype_of<typename P::element>, shape_over<axes_of<P>>);
  }
};

/// Parameters as values of no graph: what is computed of them builds none.
struct parameters_of_no_graph {
  std::int32_t next = 0;
  template <class P>
  constexpr void operator()(P& p, const no_path&) {
    p.id = mistaken_node;
  }
};

/// The inputs of a member function of a model, from its type.
template <class Function>
struct inputs_of_member;
template <class Model, class Result, class... Inputs>
struct inputs_of_member<Result (Model::*)(Inputs...) const> {
  using result = Result;
  static constexpr std::size_t count = sizeof...(Inputs);
  static constexpr bool all_traced = (Traced<std::remove_cvref_t<Inputs>> && ...);
  /// Different axes of theirs that are sized at run time.
  static constexpr std::size_t count_run_time_sizes() {
    buffer<std::size_t> found;
    [[maybe_unused]] const auto look = [&found](const shape& s) {
      for (const std::size_t size : s) {
        bool is_new = is_run_time_size(size);
        for (const std::size_t known : found) is_new = is_new && known != size;
        if (is_new) found.push_back(size);
      }
    };
    (look(traced_shape_over<axes_of<Inputs>>()), ...);
    return found.size();
  }
  template <std::size_t I>
  using input = std::tuple_element_t<I, std::tuple<std::remove_cvref_t<Inputs>...>>;

  /// A constant expression where `trace` is one, at a small part of its cost: no graph is built.
  template <auto Function>
  static constexpr bool try_out() {
    Model m{};
    no_path path;
    parameters_of_no_graph parameters;
    walk_parameters(m, path, parameters);
    (void)(m.*Function)(std::remove_cvref_t<Inputs>(failed{})...);
    return true;
  }
  /// After an error the value is a constant, so that nobody finds a second one. Who runs it lays an input's
  /// last position behind the end of an axis again.
  template <auto Function, bool Fails = false>
  static constexpr graph trace() {
    return constants_first(
        bind_run_time_sizes(trace_unbound<Function, Fails>(), true, behind_the_end::benign));
  }
  template <auto Function, bool Fails = false>
  static constexpr graph trace_unbound() {
    return trace<Function, Fails>(std::index_sequence_for<Inputs...>{});
  }

 private:
  template <auto Function, bool Fails, std::size_t... I>
  static constexpr graph trace(std::index_sequence<I...>) {
    builder b;
    b.simplify = true;  // so that no later pass need look for equal nodes again
    b.reserve(8 * static_cast<std::size_t>(totals_of<Model>.next) + 128);
    Model m{};
    no_path path;
    record_of_nodes parameters{b};
    walk_parameters(m, path, parameters);
    const std::int32_t data[] = {b.input(parameters.next + static_cast<std::int32_t>(I),
                                         dtype_of<typename std::remove_cvref_t<Inputs>::element>,
                                         traced_shape_over<axes_of<Inputs>>())...,
                                 0};
    if constexpr (Fails)
      b.output(b.constant(0, dtype::f32, {}));
    else
      b.output(node_of(b, (m.*Function)(std::remove_cvref_t<Inputs>(&b, data[I])...)));
    return b.take();
  }
};

template <class Model, class Result, class... Inputs>
struct inputs_of_member<Result (Model::*)(Inputs...) const noexcept>
    : inputs_of_member<Result (Model::*)(Inputs...) const> {};

template <class Function>
concept Traceable = requires {
  typename std::bool_constant<(Function::make().sizes().nodes > 0)>;
};
template <class Inputs, auto Function>
concept Computable = requires {
  typename std::bool_constant<Inputs::template try_out<Function>()>;
};
template <auto Function>
struct trial_graph {
  static constexpr graph make() { return inputs_of_member<decltype(Function)>::template trace<Function>(); }
};

/// What can be told of a model and of what its function gives without tracing it, or by trying where that is
/// doubtful. `silent` where the function's own line has the error.
template <class Model, auto Function>
constexpr auto find_function_mistake() {
  using result = typename inputs_of_member<decltype(Function)>::result;
  if constexpr (is_failed<result>) {
    return std::type_identity<silent>{};
  } else if constexpr (!std::is_default_constructible_v<Model>) {
    return std::type_identity<rule::model_function_is_no_constant<fact::type<Model>>>{};
  } else if constexpr (is_mistake<reflection_mistake<Model>>) {
    return std::type_identity<reflection_mistake<Model>>{};
  } else if constexpr (!Traced<result>) {
    return std::type_identity<rule::model_function_gives_no_value<fact::type<result>>>{};
  } else if constexpr (may_hide_parameters<Model>()) {
    if constexpr (!Traceable<trial_graph<Function>>)
      return std::type_identity<rule::parameter_is_not_listed<fact::type<Model>>>{};
    else
      return std::type_identity<accepted>{};
  } else if constexpr (!Computable<inputs_of_member<decltype(Function)>, Function>) {
    return std::type_identity<rule::model_function_is_no_constant<fact::type<Model>>>{};
  } else {
    return std::type_identity<accepted>{};
  }
}
template <class Model, auto Function>
using function_mistake = typename decltype(find_function_mistake<Model, Function>())::type;

}  // namespace detail

/// The graph of one function of a model. Inputs: its parameters, slot and node 0 on, then the function's own
/// arguments, then the sizes (i32) of their axes that are sized at run time, each once. Output: its value.
/// Checked is `failed` where an error is out already.
template <class Model, auto Function,
          class Checked = decltype(detail::function_mistake<Model, Function>::raise())>
struct model_function_graph {
  using inputs = detail::inputs_of_member<decltype(Function)>;
  /// How many arguments the function takes, and sizes of theirs.
  static constexpr std::size_t data_inputs = inputs::count + inputs::count_run_time_sizes();
  static constexpr auto parameters = static_cast<std::size_t>(detail::totals_of<Model>.next);
  /// Layers of the usual kinds take some 15 nodes a parameter; a model that takes more is traced twice.
  static constexpr graph_sizes capacity{24 * parameters + 256, 4 * parameters + 64, 120 * parameters + 1024,
                                        1};
  static constexpr graph make() { return inputs::template trace<Function, is_failed<Checked>>(); }
  /// Of axes that are sized at run time; only of a function whose arguments have some.
  static constexpr run_time_slots find_slots() {
    return slots_of_run_time_sizes(inputs::template trace_unbound<Function, is_failed<Checked>>().view());
  }
  static constexpr run_time_slots slots = data_inputs > inputs::count ? find_slots() : run_time_slots{};
};

namespace detail {

/// In the place of a loss that is not there.
template <class Model>
struct no_loss : Model {
  constexpr traced<f32> loss() const { return {}; }
};

template <class Model, auto Function>
constexpr auto find_loss_mistake() {
  using result = typename inputs_of_member<decltype(Function)>::result;
  using mistake = function_mistake<Model, Function>;
  if constexpr (is_mistake<mistake>)
    return std::type_identity<mistake>{};
  else if constexpr (result::axes_type::rank != 0 || !is_floating(dtype_of<typename result::element>))
    return std::type_identity<rule::loss_is_no_number<fact::type<Model>, typename result::axes_type,
                                                      fact::of_type<dtype_of<typename result::element>>>>{};
  else
    return std::type_identity<accepted>{};
}
template <class Model>
concept HasLoss = requires {
  requires inputs_of_member<decltype(&Model::loss)>::all_traced;
};
template <class Model>
constexpr auto find_model_mistake() {
  if constexpr (HasLoss<Model>)
    return find_loss_mistake<Model, &Model::loss>();
  else
    return std::type_identity<rule::model_has_no_loss<fact::type<Model>>>{};
}
/// What is wrong with a model that is to be trained. Whoever raises it does so before the model is traced.
template <class Model>
using model_mistake = typename decltype(find_model_mistake<Model>())::type;

template <class Model, class Checked>
constexpr auto graph_of_loss() {
  if constexpr (HasLoss<Model>) {
    return std::type_identity<model_function_graph<Model, &Model::loss, Checked>>{};
  } else {
    using lossless = no_loss<Model>;
    return std::type_identity<model_function_graph<lossless, &lossless::loss, Checked>>{};
  }
}

}  // namespace detail

/// The graph of a model's loss, `constexpr auto loss(input<...>...) const`.
///
/// Rules  model_has_no_loss, loss_is_no_number, and those of what it holds and does
template <class Model>
struct model_graph
    : decltype(detail::graph_of_loss<Model, decltype(detail::model_mistake<Model>::raise())>())::type {};

}  // namespace napkin
