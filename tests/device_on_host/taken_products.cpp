// Products within the kernels that read them, in a step of a small GPT in bf16 on a device that is the host: as the
// clock says, by the record, and each kernel's rows the same but for the order of sums.
#include <catch2/catch.hpp>
#include <cmath>
#include <utility>
#include <vector>

#include "napkin/cuda/taken_product.hpp"
#include "napkin/train/cuda_trainer.hpp"
#include "support/host_kernels.hpp"
#include "support/precision_training.hpp"
#include "support/trained_numbers.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::testing::values_of;

namespace {

struct config : nk::testing::precision::by_sixteens {
  struct batch : nk::dim<"batch", 4> {};
  struct seq : nk::dim<"seq", 12> {};
  static constexpr std::size_t layers = 3;
};
using step = nk::testing::precision::step<nk::bf16, nk::cuda, config>;
using trainer = nk::trainer<step, nk::cuda>;

constexpr std::size_t count_takings() {
  const auto plan = step::gradient_plan::view();
  std::size_t n = 0;
  for (std::size_t i = 0; i < plan.count.instructions; ++i) n += on_cuda::find_taken(plan, i).found();
  return n;
}
// Of each layer: two products that a residual is added to, before a norm; the adjoints of two norms' results.
// The logits, before the loss, and the adjoint of the last norm's.
constexpr std::size_t takings = count_takings();
static_assert(takings == 4 * config::layers + 2);

/// Without those whose kernel writes, its workspace too, where an operand of its product lies.
std::size_t count_possible() {
  using nk::planning::location, nk::planning::place_use;
  const auto plan = step::gradient_plan::view();
  const auto memory = nk::planning::plan_memory_of(plan.lives, plan.count.lives);
  struct range {
    std::size_t begin, end;
  };
  const auto of_life = [&](std::size_t life) -> range {
    return {memory.offsets[life], memory.offsets[life] + plan.lives[life].bytes};
  };
  const auto of_place = [&](const location& l, std::int32_t time) -> range {
    for (std::size_t life = 0; life < plan.count.lives; ++life)
      if (memory.offsets[life] == l.at && plan.lives[life].first <= time && time <= plan.lives[life].last)
        return of_life(life);
    return {};
  };
  std::size_t n = 0;
  for (std::size_t i = 0; i < plan.count.instructions; ++i) {
    const on_cuda::taken_product taken = on_cuda::find_taken(plan, i);
    if (!taken.found()) continue;
    const auto &kernel = plan.instructions[i], &product = plan.instructions[taken.instruction];
    std::vector<range> written;
    nk::planning::for_each_place_of(plan, kernel, [&](const location& l, const place_use& u) {
      if (u.written && !u.joined && l.where == nk::planning::region::arena)
        written.push_back(of_place(l, kernel.time));
    });
    for (std::size_t w = 0; w < plan.count.workspaces; ++w)
      if (plan.workspaces[w].kernel == kernel.index)
        written.push_back(of_life(static_cast<std::size_t>(plan.workspaces[w].life)));
    bool is_free = true;
    nk::planning::for_each_place_of(plan, product, [&](const location& l, const place_use& u) {
      if (u.written || l.where != nk::planning::region::arena) return;
      const range read = of_place(l, product.time);
      for (const range& x : written) is_free = is_free && (x.end <= read.begin || read.end <= x.begin);
    });
    n += is_free;
  }
  return n;
}

/// What is fast: products within kernels, or not.
void prefer(nk::testing::host_device& d, bool taken) {
  d.cuda.elapsed = [taken, before = nk::testing::taken_products_run]() mutable {
    const bool is_taken = std::exchange(before, nk::testing::taken_products_run) != before;
    return is_taken == taken ? 20.0f : 30.0f;
  };
}

struct trained {
  std::vector<float> losses, values;
  std::size_t taken = 0;
};
trained train(nk::on_cuda::session& s, nk::launch_order order, nk::launch_start start) {
  trainer t(nk::seed{4}, {.order = order, .start = start}, s);
  std::vector<std::uint16_t> tokens, targets;
  for (std::size_t i = 0; i < 4 * 12; ++i)
    tokens.push_back(static_cast<std::uint16_t>(i * 37 % 128)),
        targets.push_back(static_cast<std::uint16_t>(i * 37 % 128 / 2));
  trained made;
  for (int i = 0; i < 5; ++i) {
    made.losses.push_back(t.step(0.01, tokens, targets).loss);
    if (i == 2) made.losses.push_back(t.evaluate(tokens, targets));
  }
  made.values = values_of(t);
  made.taken = t.taken_products();
  return made;
}

}  // namespace

TEST_CASE("kernels take in the products that they read where the clock says so, and again by the record",
          "[cuda]") {
  const std::size_t possible = count_possible();
  CHECK((possible > takings / 2 && possible < takings));  // both are looked at
  std::vector<trained> all;
  std::string record;
  for (const bool taken : {false, true}) {
    nk::testing::device_with_session m;
    prefer(m, taken);
    const std::size_t before = nk::testing::taken_products_run;
    all.push_back(train(m.session, nk::launch_order::in_order, nk::launch_start::in_turn));
    CAPTURE(all.back().taken, m.cuda.misuse);
    CHECK(all.back().taken == (taken ? possible : 0));
    CHECK(m.cuda.misuse.empty());
    CHECK((nk::testing::taken_products_run - before > 5 * possible) == taken);
    record = m.session.choices().text();
  }
  for (std::size_t i = 0; i < all[0].losses.size(); ++i) {
    CAPTURE(i, all[0].losses[i], all[1].losses[i]);
    CHECK(std::fabs(all[0].losses[i] - all[1].losses[i]) <= 2e-3f * all[0].losses[i]);
  }
  CHECK(all[0].losses.back() < all[0].losses.front());
  // by the record, whatever the clock says now, launched side by side and early
  for (const nk::launch_order order : {nk::launch_order::in_order, nk::launch_order::by_data}) {
    nk::testing::device_with_session m(7);
    prefer(m, false);
    m.session.choices().add(record);
    const bool by_data = order == nk::launch_order::by_data;
    const trained again =
        train(m.session, order, by_data ? nk::launch_start::early : nk::launch_start::in_turn);
    CHECK(again.taken == possible);
    CHECK(again.losses == all[1].losses);
    CHECK(again.values == all[1].values);
    CHECK(m.session.choices().text() == record);
    CHECK(m.cuda.misuse.empty());
  }
}
