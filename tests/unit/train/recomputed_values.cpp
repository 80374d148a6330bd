// The values that a budget has made again, by name: their FLOPs and bytes are the step's constants, to the
// last one.
#include "napkin/train/recomputed_values.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "napkin/napkin.hpp"
#include "napkin/nn/transformer.hpp"
#include "napkin/train/step_account_text.hpp"
#include "support/gpt_configs.hpp"
#include "support/three_layers.hpp"

namespace recomputed_values_test {  // named: g++ 12 takes templates of unnamed namespaces, as arguments, for
                                    // one

namespace nk = napkin;
using nlohmann::json;

using config = nk::testing::five_layers;

using deep = nk::testing::three_layers;
using rows = deep::rows;
using narrow = deep::narrow;
using wide = deep::wide;
/// Nothing between its products but what they need.
struct plain {
  BOOST_HANA_DEFINE_STRUCT(plain, (nk::param<narrow, wide>, first), (nk::param<wide>, last));
  constexpr auto loss(nk::input<nk::f32, rows, narrow> x) const {
    const auto y = nk::dot<"wide">(nk::dot<"narrow">(x, first), last);
    return nk::mean(y * y);
  }
};

template <std::size_t Percent, class Model, class... Policies>
using thrifty = nk::train_step<
    Model, nk::adamw, Policies...,
    nk::recompute_to_fit<nk::train_step<Model, nk::adamw, Policies...>::memory.peak * Percent / 100>>;

/// Bytes that are freed, less those that are kept in their place.
std::uint64_t freed_by(const nk::step_account& a) {
  std::uint64_t bytes = 0;
  for (const nk::account_value& one : a.remade)
    bytes += one.value.how == nk::remade::kept ? 0 - one.value.bytes : one.value.bytes;
  return bytes;
}

template <std::size_t Percent, class Model, class... Policies>
void check() {
  using Step = thrifty<Percent, Model, Policies...>;
  static_assert(Step::recomputed.fits && Step::recomputed.choice > 0);
  const nk::step_account a = nk::account_of<Step>("thrifty", nk::h100_sxm);
  REQUIRE(!a.remade.empty());
  using without = nk::train_step<Model, nk::adamw, Policies...>;
  const std::uint64_t freed_without = freed_by(nk::account_of<without>("without", nk::h100_sxm));
  std::uint64_t flops = 0, freed = 0, kept = 0;
  for (const nk::account_value& one : a.remade) {
    const nk::remade_value& v = one.value;
    const nk::account_kernel& maker = a.kernels.at(one.kernel);
    flops += v.flops.total() * maker.runs;
    (v.how == nk::remade::kept ? kept : freed) += v.bytes;
    CHECK((v.flops.total() == 0 || v.how == nk::remade::again));
    CHECK((maker.phase == nk::step_phase::forward) == (v.how == nk::remade::kept));
    CHECK(one.layer != "other");
  }
  for (const nk::account_buffer& b : a.buffers) CHECK((b.first <= b.last && b.last < a.kernels.size()));
  CHECK(a.kernels[a.peak_kernel].live == Step::memory.intermediates_lower_bound);
  CHECK(flops == Step::cost.flops.recomputed);
  CHECK(freed > kept);
  CHECK(freed - kept - freed_without == Step::recomputed.kept_less);

  std::uint64_t group_flops = 0, group_bytes = 0;
  std::size_t count = 0;
  for (const nk::account_remade& g : nk::remade_groups(a)) {
    group_flops += g.value.flops.total();
    group_bytes += g.value.bytes;
    count += g.count;
  }
  CHECK(group_flops * Step::micro_batches == flops);
  CHECK(group_bytes == freed + kept);
  CHECK(count == a.remade.size());

  const json j = json::parse(nk::account_json(a)).at("recomputed");
  CHECK(j.at("kept_less_bytes") == Step::recomputed.kept_less);
  CHECK(j.at("values").size() == a.remade.size());
  std::uint64_t told = 0;
  for (const json& v : j.at("values")) told += v.at("flops").get<std::uint64_t>();
  CHECK(told == group_flops);
  CHECK(j.at("groups").size() == nk::remade_groups(a).size());
  CHECK(nk::account_table(a).find("Values of the forward pass that the backward pass makes") !=
        std::string::npos);
}

}  // namespace recomputed_values_test

using namespace recomputed_values_test;

TEST_CASE("values made again add up to what a budget costs and saves, exactly", "[account]") {
  check<70, nk::nn::gpt<config>>();
  check<98, deep, nk::compute_in<nk::bf16>, nk::micro_batches<2>>();
  check<90, deep>();
}

TEST_CASE("values made again have their layer's and their operation's names", "[account]") {
  const nk::step_account a = nk::account_of<thrifty<70, nk::nn::gpt<config>>>("thrifty", nk::h100_sxm);
  std::size_t gelus = 0, layers = 0;
  for (const nk::account_remade& g : nk::remade_groups(a)) {
    if (g.layers != "blocks.*.mlp" || g.value.composite != static_cast<std::uint16_t>(nk::composite::gelu))
      continue;
    ++gelus;
    CHECK(g.value.result == nk::shape{4, 24, 96});
    CHECK(g.count % config::layers == 0);  // equal layers are treated alike
  }
  CHECK(gelus > 0);
  for (const nk::account_value& one : a.remade) layers += one.layer == "blocks.3.mlp";
  CHECK(layers > 0);
}

TEST_CASE("a step without a budget names what it makes again by itself", "[account]") {
  using step = nk::train_step<deep, nk::adamw>;
  const nk::step_account a = nk::account_of<step>("kept", nk::h100_sxm);
  REQUIRE(!a.remade.empty());
  std::uint64_t flops = 0;
  for (const nk::account_value& one : a.remade) flops += one.value.flops.total();
  CHECK(flops == step::cost.flops.recomputed);
  CHECK(json::parse(nk::account_json(a)).at("recomputed").is_null());
  CHECK(nk::account_table(a).find("makes, of one run") != std::string::npos);
}
TEST_CASE("a step of which nothing pays to be made again says nothing of it", "[account]") {
  const nk::step_account a = nk::account_of<nk::train_step<plain, nk::adamw>>("kept", nk::h100_sxm);
  CHECK(a.remade.empty());
  CHECK(json::parse(nk::account_json(a)).at("recomputed").is_null());
  CHECK(nk::account_table(a).find("makes, of one run") == std::string::npos);
}
