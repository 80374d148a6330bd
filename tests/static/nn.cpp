// Models and functions of nn/ as the compiler sees them: parameters by name, graphs, composites.
#include "napkin/nn/transformer.hpp"
#include "napkin/passes/verify.hpp"
#include "support/parity_models.hpp"

namespace nk = napkin;
using nk::op;

namespace {

using gpt = nk::testing::parity_gpt;
using llama = nk::testing::parity_llama;

// ---- parameters: depth-first, named by their members
template <class Model>
constexpr int find(std::string_view name) {
  for (std::size_t i = 0; i < nk::parameter_table<Model>.size(); ++i)
    if (nk::parameter_table<Model>[i].name == name) return static_cast<int>(i);
  return -1;
}
template <class Model>
constexpr const nk::parameter_info& parameter(std::string_view name) {
  return nk::parameter_table<Model>[static_cast<std::size_t>(find<Model>(name))];
}
static_assert(nk::parameter_table<gpt>.size() == 2 + 2 * 16 + 2);
static_assert(nk::parameter_table<llama>.size() == 1 + 2 * 9 + 2);
static_assert(find<gpt>("tokens") == 0 && find<gpt>("positions") == 1);
static_assert(find<gpt>("blocks.0.attention_norm.gain") == 2);
static_assert(find<gpt>("blocks.1.mlp.down") == 32 && find<gpt>("norm.bias") == 35);
static_assert(find<gpt>("blocks.2.mlp.down") == -1);
static_assert(parameter<gpt>("blocks.1.attention.query").sizes == nk::shape{24, 3, 8});
static_assert(parameter<gpt>("positions").count == 16 * 24);
static_assert(parameter<llama>("blocks.0.attention.query").sizes == nk::shape{24, 2, 2, 6});
static_assert(nk::count_parameters<gpt> ==
              (64 + 16) * 24 + 2 * (4 * 24 + 4 * 24 * 24 + 4 * 24 + 2 * 24 * 96 + 96 + 24) + 2 * 24);

static_assert(parameter<gpt>("tokens").initial == nk::init::normal(0.02));
static_assert(parameter<gpt>("blocks.0.mlp.up").initial == nk::init::normal(0.02));
static_assert(parameter<gpt>("blocks.0.mlp.down").initial == nk::init::normal(0.01));
static_assert(parameter<gpt>("blocks.1.attention.output").initial == nk::init::normal(0.01));
static_assert(parameter<gpt>("blocks.1.attention.output_bias").initial == nk::init::zeros());
static_assert(parameter<gpt>("norm.gain").initial == nk::init::ones());

// ---- graphs: parameters first, then the data
template <class Model>
constexpr bool inputs_come_first() {
  const nk::graph_view g = nk::frozen<nk::model_graph<Model>>::view();
  const auto inputs =
      static_cast<int>(nk::parameter_table<Model>.size() + nk::model_graph<Model>::data_inputs);
  for (int id = 0; id < static_cast<int>(g.size()); ++id) {
    if ((g[id].kind == op::input) != (id < inputs)) return false;
    if (id < inputs && g.attribute(id, 0) != id) return false;
  }
  return g[inputs - 1].type == nk::dtype::u16 && g.shape_of(inputs - 1) == nk::shape{4, 16} &&
         g.output_count == 1 && g.shape_of(g.outputs[0]).empty();
}
static_assert(inputs_come_first<gpt>() && inputs_come_first<llama>());
static_assert(nk::passes::verify(nk::frozen<nk::model_graph<gpt>>::view()).sentence.empty());
static_assert(nk::passes::verify(nk::frozen<nk::model_graph<llama>>::view()).sentence.empty());

using gpt_logits = nk::model_function_graph<gpt, &gpt::logits>;
static_assert(gpt_logits::data_inputs == 1);
static_assert(nk::frozen<gpt_logits>::view().shape_of(nk::frozen<gpt_logits>::view().outputs[0]) ==
              nk::shape{4, 16, 64});

constexpr int count(const nk::graph_view& g, op kind, nk::composite of) {
  int n = 0;
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    if (g[id].kind == kind && g[id].composite == static_cast<std::uint16_t>(of)) ++n;
  return n;
}
// Softmax is part of attention, sigmoid of silu; the projections are part of neither.
static_assert(count(nk::frozen<nk::model_graph<llama>>::view(), op::einsum, nk::composite::attention) == 4);
static_assert(count(nk::frozen<nk::model_graph<llama>>::view(), op::exp, nk::composite::attention) == 2);
static_assert(count(nk::frozen<nk::model_graph<llama>>::view(), op::exp, nk::composite::softmax) == 0);
static_assert(count(nk::frozen<nk::model_graph<llama>>::view(), op::exp, nk::composite::silu) == 2);
static_assert(count(nk::frozen<nk::model_graph<llama>>::view(), op::rsqrt, nk::composite::rms_norm) == 5);
static_assert(count(nk::frozen<nk::model_graph<llama>>::view(), op::log, nk::composite::cross_entropy) == 1);
static_assert(count(nk::frozen<nk::model_graph<llama>>::view(), op::einsum, nk::composite::none) ==
              2 * 7 + 1);
static_assert(count(nk::frozen<nk::model_graph<gpt>>::view(), op::tanh, nk::composite::gelu) == 2);

// What a layer makes remembers one of its parameters.
constexpr bool layers_have_origins() {
  const nk::graph_view g = nk::frozen<nk::model_graph<gpt>>::view();
  int last_up = 0;
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    if (g[id].kind == op::einsum && g[id].origin == find<gpt>("blocks.1.mlp.up")) ++last_up;
  return last_up == 1;
}
static_assert(layers_have_origins());

// ---- a parameter that is reached twice is one
struct embed : nk::dim<"embed", 6> {};
struct tied {
  nk::param<embed> first, last;
  struct hana_accessors_impl {  // as Hana's macros write it, with one member under two names
    static constexpr auto apply() {
      namespace hana = boost::hana;
      constexpr auto get_first = [](auto& m) -> auto& { return m.first; };
      constexpr auto get_last = [](auto& m) -> auto& { return m.last; };
      return hana::make_tuple(hana::make_pair(BOOST_HANA_STRING("first"), get_first),
                              hana::make_pair(BOOST_HANA_STRING("again"), get_first),
                              hana::make_pair(BOOST_HANA_STRING("last"), get_last));
    }
  };
  constexpr auto loss(nk::input<nk::f32, embed> x) const { return nk::sum(x * first * last); }
};
static_assert(nk::parameter_table<tied>.size() == 2);
static_assert(nk::parameter_table<tied>[0].name == "first" && nk::parameter_table<tied>[1].name == "last");
static_assert(nk::count_parameters<tied> == 12);
static_assert(count(nk::frozen<nk::model_graph<tied>>::view(), op::input, nk::composite::none) == 3);

// ---- layers that neither model has
struct vocab : nk::dim<"vocab", 9> {};
struct classes : nk::dim<"classes", 3> {};
struct classifier {
  using embedding_layer = nk::nn::embedding<vocab, embed>;
  using head_layer = nk::nn::linear<embed, classes>;
  BOOST_HANA_DEFINE_STRUCT(classifier, (embedding_layer, words), (head_layer, head), (double, temperature));
  constexpr auto loss(nk::input<nk::u16, nk::dim<"text", 4>> text) const {
    return nk::mean(nk::logsumexp<"classes">(head(words(text))));
  }
};
static_assert(nk::parameter_table<classifier>.size() == 3);
static_assert(parameter<classifier>("words.table").sizes == nk::shape{9, 6});
static_assert(parameter<classifier>("head.weight").sizes == nk::shape{6, 3});
static_assert(parameter<classifier>("head.bias").initial == nk::init::zeros());
static_assert(nk::passes::verify(nk::frozen<nk::model_graph<classifier>>::view()).sentence.empty());

// ---- of a lazy operand, a function is one expression whose inside shares what it uses twice
struct row : nk::dim<"row", 5> {};
using x = nk::tensor<nk::f32, row, embed>;
using soft = decltype(nk::softmax<"embed">(std::declval<x>() * 2));
static_assert(nk::LazyExpression<soft> && nk::same_axes<nk::axes_of<soft>, nk::axes<row, embed>>);
using soft_graph = nk::frozen<nk::expression_graph<soft>>;
static_assert(count(soft_graph::view(), op::exp, nk::composite::softmax) == 1);
static_assert(count(soft_graph::view(), op::mul, nk::composite::none) == 1);
static_assert(count(soft_graph::view(), op::input, nk::composite::none) == 2);  // the tensor, the number

using gain = nk::tensor<nk::f32, embed>;
using normed =
    decltype(nk::layer_norm<"embed">(std::declval<x>(), std::declval<gain>(), std::declval<gain>(), 1e-6));
static_assert(count(nk::frozen<nk::expression_graph<normed>>::view(), op::input, nk::composite::none) == 4);
static_assert(count(nk::frozen<nk::expression_graph<normed>>::view(), op::rsqrt, nk::composite::layer_norm) ==
              1);

using squared = decltype(nk::fn<"x">([](auto v) { return v * v + 3 * v; })(2.0));
static_assert(std::is_same_v<squared::element, double> && nk::rank_of<squared> == 0);
static_assert(nk::is_failed<decltype(nk::softmax<"embed">(nk::failed{}))>);

}  // namespace
