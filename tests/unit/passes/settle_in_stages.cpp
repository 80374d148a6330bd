// A deep model's plan, settled in stages within the compilers' default limits, is the plan that is settled at once.
#include "napkin/plan/settle_in_stages.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "napkin/nn/transformer.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/train/cuda_step.hpp"

namespace nk = napkin;
namespace planning = napkin::planning;

namespace {

/// As deep as GPT-2's largest.
struct config {
  struct batch : nk::dim<"batch", 64> {};
  struct seq : nk::dim<"seq", 1024> {};
  struct vocab : nk::dim<"vocab", 50304> {};
  struct embed : nk::dim<"embed", 768> {};
  struct ffn : nk::dim<"ffn", 3072> {};
  struct heads : nk::dim<"heads", 12> {};
  struct hidden : nk::dim<"hidden", 64> {};
  static constexpr std::size_t layers = 48;
};

/// The gradient's plan on a backend, before and after it is settled.
template <class Backend, class Target>
using plan_of = planning::repeated_plan<
    Target,
    typename nk::train_step<nk::nn::gpt<config>, nk::adamw, nk::compute_in<nk::bf16>,
                            Backend>::gradients::template shortened<planning::detail::few_layers>,
    planning::plan_options{}>;

template <class P>
std::vector<planning::location> places_of(P& p) {
  std::vector<planning::location> all;
  planning::for_each_place_in(p, p.counts,
                              [&](planning::location& l, const planning::place_use&) { all.push_back(l); });
  return all;
}

template <class Plan>
void check_settled_in_stages() {
  const auto& staged = Plan::settled::value;
  REQUIRE(Plan::unsettled.counts.lives >= planning::lives_of_large_plan);

  using made = std::remove_cvref_t<decltype(staged)>;
  const auto whole = std::make_unique<made>(Plan::unsettled), found = std::make_unique<made>(staged);
  planning::settle<typename Plan::product>(*whole, whole->counts);
  CHECK(found->peak == whole->peak);
  CHECK(found->lower_bound == whole->lower_bound);
  REQUIRE(found->counts.lives == whole->counts.lives);
  CHECK(places_of(*found) == places_of(*whole));
  std::size_t held = 0;
  bool same = true;
  for (std::size_t l = 0; l < whole->counts.lives; ++l) {
    const nk::passes::lifetime &a = found->lives[l], &b = whole->lives[l];
    same = same && a.bytes == b.bytes && a.first == b.first && a.last == b.last && a.held == b.held;
    held += a.held > 0;
  }
  CHECK(same);
  CHECK((held > 0) == Plan::product::side_by_side);
  for (std::size_t w = 0; w < whole->counts.workspaces; ++w)
    same = same && found->workspaces[w].life == whole->workspaces[w].life;
  CHECK(same);
}

}  // namespace

TEST_CASE("a deep model's plan is settled in stages as at once, on the CPU", "[settle]") {
  check_settled_in_stages<plan_of<nk::cpu, nk::on_cpu::target>>();
}
TEST_CASE("a deep model's plan is settled in stages as at once, on a device", "[settle]") {
  check_settled_in_stages<plan_of<nk::cuda, nk::on_cuda::target>>();
}
