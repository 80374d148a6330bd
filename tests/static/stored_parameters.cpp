// Parameters that a step on a GPU stores as one tensor, so that nothing joins them as it runs: where they lie, and whose
// stay apart.
#include "napkin/nn/transformer.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/train/cuda_step.hpp"
#include "support/layered_config.hpp"

namespace nk = napkin;

namespace {

template <std::size_t Layers>
using config = nk::testing::layered_config<Layers>;
template <std::size_t Layers>
using gpt = nk::nn::gpt<config<Layers>>;

constexpr std::size_t queries_keys_and_values = 3;

/// Of a layer queries, keys and values: weights, and biases.
template <class Step, std::size_t Layers>
constexpr bool joins_in_each_layer() {
  return Step::layout.tensors.size() ==
         nk::parameter_table<gpt<Layers>>.size() - Layers * 2 * (queries_keys_and_values - 1);
}
template <class Step>
constexpr bool joins_nothing() {
  return Step::layout.tensors.size() == nk::parameter_table<typename Step::model>.size();
}

template <std::size_t Layers, class... Policies>
using step_of = nk::train_step<gpt<Layers>, nk::adamw, nk::cuda, Policies...>;
static_assert(joins_in_each_layer<step_of<2>, 2>());
static_assert(joins_in_each_layer<step_of<9>, 9>());  // as a few of its layers say
static_assert(joins_in_each_layer<step_of<9, nk::compute_in<nk::bf16>, nk::micro_batches<2>>, 9>());
static_assert(joins_nothing<nk::train_step<gpt<2>, nk::adamw>>());

// All parameters are somewhere, nowhere two.
template <class Step>
constexpr bool lie_apart() {
  const auto& table = nk::parameter_table<typename Step::model>;
  const auto& offset = Step::layout.offset;
  std::size_t pieces = 0;
  for (std::size_t i = 0; i < table.size(); ++i)
    for (std::size_t k = 0; k < table.size(); ++k) {
      if (k != i && offset[k] < offset[i] + table[i].count && offset[i] < offset[k] + table[k].count)
        return false;
    }
  for (const auto& t : Step::layout.tensors) pieces += t.pieces.size();
  return pieces == table.size();
}
static_assert(lie_apart<step_of<2>>() && lie_apart<step_of<9>>());

// No launch joins parameters or takes a gradient apart: two of either less for each layer.
template <std::size_t Layers>
using joined_as_it_runs =
    nk::plan_for<nk::cuda, nk::gradient_graph<gpt<Layers>, nk::bf16, nk::step_parts<nk::cuda>::loss_rewrite,
                                              1, true>>::type;
template <std::size_t Layers>
using joined_in_memory = typename step_of<Layers, nk::compute_in<nk::bf16>>::gradient_plan;
static_assert(joined_in_memory<9>::view().count.contractions ==
              joined_as_it_runs<9>::view().count.contractions);
static_assert(joined_in_memory<9>::view().count.instructions ==
              joined_as_it_runs<9>::view().count.instructions - 9 * 4);
static_assert(joined_in_memory<9>::view().peak < joined_as_it_runs<9>::view().peak);

// Whose parameters are updated by other numbers, or as matrices, has them apart.
struct queries_slower {
  static constexpr nk::parameter_group value[] = {{.pattern = "*.query", .rate_scale = 0.5}};
};
static_assert(joins_nothing<step_of<2, nk::groups<queries_slower>>>());
static_assert(joins_nothing<nk::train_step<gpt<2>, nk::muon, nk::cuda>>());

// So has a layer whose weight something else reads, though not its biases, and no other layer: the first then says
// nothing of others.
struct penalised {
  using c = config<5>;
  BOOST_HANA_DEFINE_STRUCT(penalised, (gpt<5>, body));
  constexpr auto loss(nk::input<nk::u16, c::batch, c::seq> x, nk::input<nk::u16, c::batch, c::seq> y) const {
    const auto& query = body.blocks[0].attention.query;
    return body.loss(x, y) + nk::mean(query * query);
  }
};
using penalised_step = nk::train_step<penalised, nk::adamw, nk::cuda>;
static_assert(penalised_step::layout.tensors.size() ==
              step_of<5>::layout.tensors.size() + queries_keys_and_values - 1);
static_assert(!penalised_step::gradients::fewest::is_shortened &&
              step_of<5>::gradients::fewest::is_shortened);

}  // namespace
