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

#include "napkin/ops/expression.hpp"
#include "napkin/ops/init.hpp"

namespace napkin {

namespace rule {
/// type<Member>
template <class... Facts>
struct not_reflected {
  static_assert(no<Facts...>,
                "not reflected: a member of the model is a class whose own members nothing lists; write "
                "BOOST_HANA_DEFINE_STRUCT(name, (type, member)...) in it");
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

/// Raises the error, if there is one. Asked for its type only: what is constant-evaluated must not raise it.
template <class M>
auto require_reflected() {
  if constexpr (is_array<M>) {
    require_reflected<typename M::value_type>();
  } else if constexpr (boost::hana::Struct<M>::value) {
    boost::hana::unpack(boost::hana::accessors<M>(), []<class... Members>(const Members&...) {
      (require_reflected<std::remove_cvref_t<decltype(boost::hana::second(std::declval<const Members&>())(
           std::declval<M&>()))>>(),
       ...);
    });
  } else if constexpr (std::is_class_v<M> && !std::is_empty_v<M> && !Parameter<M>) {
    (void)sizeof(rule::not_reflected<fact::type<M>>);
  }
}

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
    info.sizes = graph_shape<axes_of<P>>();
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
    detail::make_parameter_table<Model, decltype(detail::require_reflected<Model>())>();

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
    b.input(p.id, dtype_of<typename P::element>, graph_shape<axes_of<P>>());
  }
};

/// The inputs of a member function of a model, from its type.
template <class Function>
struct inputs_of_member;
template <class Model, class Result, class... Inputs>
struct inputs_of_member<Result (Model::*)(Inputs...) const> {
  static constexpr std::size_t count = sizeof...(Inputs);

  template <auto Function, std::size_t... I>
  static constexpr graph trace(std::index_sequence<I...>) {
    builder b;
    b.simplify = true;  // so that no later pass need look for equal nodes again
    Model m{};
    no_path path;
    record_of_nodes parameters{b};
    walk_parameters(m, path, parameters);
    const std::int32_t data[] = {
        b.input(parameters.next + static_cast<std::int32_t>(I),
                dtype_of<typename std::remove_cvref_t<Inputs>::element>, graph_shape<axes_of<Inputs>>())...,
        0};
    b.output((m.*Function)(std::remove_cvref_t<Inputs>(&b, data[I])...).id);
    return b.result;
  }
};

}  // namespace detail

/// The graph of one function of a model. Inputs: its parameters, slot and node 0 on, then the function's own
/// arguments. Output: its value.
template <class Model, auto Function>
struct model_function_graph {
  using checked = decltype(detail::require_reflected<Model>());
  using inputs = detail::inputs_of_member<decltype(Function)>;
  /// How many arguments the function takes.
  static constexpr std::size_t data_inputs = inputs::count;
  static constexpr auto parameters = static_cast<std::size_t>(detail::totals_of<Model>.next);
  /// Layers of the usual kinds take some 15 nodes a parameter; a model that takes more is traced twice.
  static constexpr graph_sizes capacity{24 * parameters + 256, 4 * parameters + 64, 120 * parameters + 1024,
                                        1};
  static constexpr graph make() {
    return inputs::template trace<Function>(std::make_index_sequence<data_inputs>{});
  }
};

/// The graph of a model's loss, `constexpr auto loss(input<...>...) const`.
template <class Model>
struct model_graph : model_function_graph<Model, &Model::loss> {};

}  // namespace napkin
