// Plans of random graphs read nothing before it is written and write every output, on both backends; outputs that
// are added to inputs come out as the graph says, though they lie where those do; and in every order that their
// tasks allow plans come to the same bits.
#include "support/plan_order.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "napkin/cpu/executor.hpp"
#include "napkin/cuda/plan.hpp"
#include "napkin/passes/print.hpp"
#include "napkin/passes/verify.hpp"
#include "napkin/plan/task_order.hpp"
#include "support/accumulated.hpp"
#include "support/planned.hpp"
#include "support/product_graphs.hpp"
#include "support/random_graph.hpp"
#include "support/run_plan.hpp"

namespace nk = napkin;
using nk::testing::raw_bytes;

namespace {

struct tally {
  std::size_t columns = 0, added = 0, sums = 0, prologues = 0;
};

template <class Target>
std::string flaw(const nk::graph& g, nk::testing::in_place same, tally& seen) {
  const nk::graph lowered = nk::testing::lowered<Target>(g.view());
  auto p = nk::testing::planned_unsettled<Target>(lowered.view());
  for (const auto& c : p.columns) seen.columns += c.adds;
  for (const auto& i : p.instructions) seen.prologues += i.epilogue >= 0;
  for (const auto& c : p.contractions)
    seen.added += c.follows.adds && c.members > 0,
        seen.sums += c.follows.sums != nk::passes::summed::none && c.members > 0;
  const std::string text = nk::testing::flaw_of(p, g.outputs.size(), same);
  return text.empty() ? text : text + "\n" + nk::to_string(lowered.view());
}

/// Run by the CPU, outputs over the inputs that they are added to, against one operation at a time and
/// memory of its own.
std::string difference_in_place(const nk::testing::accumulated& a, std::uint64_t seed) {
  const nk::graph lowered = nk::testing::lowered(a.g.view());
  auto inputs = nk::testing::typed_inputs(a.g.view(), nk::testing::random_inputs(a.g.view(), seed));
  constexpr auto poison = std::byte{0xff};
  nk::on_cpu::plan_options apart;
  apart.fuse.fuse = false;
  const auto expected = nk::testing::run_lowered(lowered.view(), apart, inputs, poison);

  const nk::on_cpu::plan p = nk::testing::planned<nk::on_cpu::target>(lowered.view(), {});
  raw_bytes first(expected[0].size(), poison);
  std::vector<const void*> from;
  std::vector<void*> to{first.data()};
  std::vector<std::span<std::byte>> looked_at{first};
  for (raw_bytes& in : inputs) {
    from.push_back(in.data());
    looked_at.emplace_back(in);
  }
  for (std::size_t i = 0; i < a.same.count; ++i) to.push_back(inputs[a.same.first_slot + i].data());
  const nk::on_cpu::plan_view view = nk::on_cpu::view_of(p);
  nk::testing::run_plan_watched(view, nk::testing::interpreted_kernels(view).data(), from, to, looked_at);
  for (std::size_t o = 0; o < expected.size(); ++o) {
    const raw_bytes& found = o == 0 ? first : inputs[a.same.first_slot + o - 1];
    const std::ptrdiff_t i =
        nk::testing::first_difference(found, expected[o], lowered.view()[lowered.outputs[o]].type);
    if (i >= 0)
      return "output " + std::to_string(o) + " element " + std::to_string(i) + "\n" +
             nk::to_string(lowered.view());
  }
  return {};
}

/// A settled plan on the CPU and what runs it, over and over, in orders of its tasks.
class reordered {
 public:
  reordered(const nk::graph& g, nk::testing::in_place same, std::uint64_t seed)
      : lowered_(nk::testing::lowered(g.view())),
        same_(same),
        plan_(nk::testing::planned<nk::on_cpu::target>(lowered_.view(), {})),
        inputs_(nk::testing::typed_inputs(g.view(), nk::testing::random_inputs(g.view(), seed))),
        random_(seed) {
    const auto tensor_of = [this](const nk::planning::location& l) {
      const bool added = l.where == nk::planning::region::input && l.at >= same_.first_slot &&
                         l.at < same_.first_slot + same_.count;
      if (added) return 2 * (l.at - same_.first_slot + same_.first_output) + 1;
      return 2 * l.at + (l.where == nk::planning::region::output);
    };
    order = nk::planning::order_tasks(view(), false, tensor_of, [](std::size_t) { return true; });
  }
  nk::planning::task_order order;

  std::vector<raw_bytes> in_order() {
    std::vector<std::size_t> all;
    for (std::size_t t = 0; t < order.tasks.size(); ++t) all.push_back(t);
    return run(all);
  }
  /// Any that waits for what it must, but for one wait of the list, if that is there.
  std::vector<raw_bytes> in_any_order(std::size_t forgotten = ~std::size_t{0}) {
    std::vector<std::size_t> drawn;
    std::vector<bool> done(order.tasks.size(), false);
    while (drawn.size() < done.size()) {
      std::vector<std::size_t> ready;
      for (std::size_t t = 0; t < done.size(); ++t) {
        bool waits = done[t];
        for (std::size_t w = order.first[t]; w < order.first[t + 1]; ++w)
          waits = waits || (w != forgotten && !done[static_cast<std::size_t>(order.before[w])]);
        if (!waits) ready.push_back(t);
      }
      drawn.push_back(ready[static_cast<std::size_t>(random_.below(ready.size()))]);
      done[drawn.back()] = true;
    }
    return run(drawn);
  }
  std::string difference(const std::vector<raw_bytes>& a, const std::vector<raw_bytes>& b) const {
    for (std::size_t o = 0; o < a.size(); ++o)
      if (nk::testing::first_difference(a[o], b[o], lowered_.view()[lowered_.outputs[o]].type) >= 0)
        return "output " + std::to_string(o) + "\n" + nk::to_string(lowered_.view());
    return {};
  }

 private:
  nk::graph lowered_;
  nk::testing::in_place same_;
  nk::on_cpu::plan plan_;
  std::vector<raw_bytes> inputs_;
  nk::testing::random_source random_;

  nk::on_cpu::plan_view view() const { return nk::on_cpu::view_of(plan_); }
  std::vector<raw_bytes> run(const std::vector<std::size_t>& tasks) const {
    const nk::on_cpu::plan_view p = view();
    std::vector<raw_bytes> inputs = inputs_, outputs;
    for (const std::int32_t out : lowered_.outputs)
      outputs.emplace_back(nk::numel(lowered_.view().shape_of(out)) * nk::size_of(lowered_.view()[out].type),
                           std::byte{0x7f});
    std::vector<const void*> from;
    std::vector<void*> to;
    for (const raw_bytes& x : inputs) from.push_back(x.data());
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      const bool added = o >= same_.first_output && o < same_.first_output + same_.count;
      to.push_back(added ? inputs[same_.first_slot + o - same_.first_output].data() : outputs[o].data());
    }
    nk::storage arena(p.peak);
    std::memset(arena.data(), 0xff, p.peak);
    const std::vector<nk::on_cpu::kernel_pointer> kernels = nk::testing::interpreted_kernels(p);
    nk::on_cpu::executor executor(p, kernels.data(), static_cast<std::byte*>(arena.data()));
    executor.bind(from, to);
    for (const std::size_t t : tasks)
      executor.run_instruction(static_cast<std::size_t>(order.tasks[t].instruction));
    for (std::size_t o = 0; o < outputs.size(); ++o)
      if (to[o] != outputs[o].data()) outputs[o] = inputs[same_.first_slot + o - same_.first_output];
    return outputs;
  }
};

/// Looks at two orders, and at two that forget a wait.
std::string difference_of_orders(reordered r, std::size_t& beside, std::size_t& told) {
  const std::vector<raw_bytes> expected = r.in_order();
  for (int again = 0; again < 2; ++again)
    if (const std::string d = r.difference(r.in_any_order(), expected); !d.empty()) return d;
  beside += !r.order.is_a_line();
  if (const std::size_t waits = r.order.before.size(); waits > 0)
    for (const std::size_t forgotten : {waits / 2, waits - 1}) try {
        told += !r.difference(r.in_any_order(forgotten), expected).empty();
      } catch (const nk::error&) {  // an index that nobody has made yet
        ++told;
      }
  return {};
}

}  // namespace

TEST_CASE("plans of random graphs read what was written") {
  tally seen;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const nk::graph g = nk::testing::random_graph(seed, {.type = nk::dtype::f32});
    CAPTURE(seed);
    REQUIRE(flaw<nk::on_cpu::target>(g, {}, seen) == "");
    REQUIRE(flaw<nk::on_cuda::target>(g, {}, seen) == "");
  }
  CHECK(seen.prologues > 50);
}

TEST_CASE("plans of products and their sums read what was written, accumulated or not") {
  for (const nk::dtype type : {nk::dtype::f32, nk::dtype::bf16}) {
    tally cpu, cuda;
    for (std::uint64_t seed = 0; seed < 4000; ++seed) {
      const nk::graph g = nk::testing::product_graphs(seed, type).run();
      CAPTURE(seed, nk::name_of(type));
      REQUIRE(nk::passes::verify(g.view()).sentence == "");
      REQUIRE(flaw<nk::on_cpu::target>(g, {}, cpu) == "");
      REQUIRE(flaw<nk::on_cuda::target>(g, {}, cuda) == "");
      const nk::testing::accumulated a = nk::testing::accumulate_all(g);
      REQUIRE(nk::passes::verify(a.g.view()).sentence == "");
      REQUIRE(flaw<nk::on_cpu::target>(a.g, a.same, cpu) == "");
      REQUIRE(flaw<nk::on_cuda::target>(a.g, a.same, cuda) == "");
    }
    // The evidence is worth something.
    CHECK(cpu.prologues > 100);
    CHECK(cuda.added > 100);
    CHECK(cuda.sums > 20);
    if (type == nk::dtype::f32) CHECK((cpu.columns > 50 && cuda.columns > 50));
  }
}

TEST_CASE("outputs lie where the inputs do that they are added to, and come out as they should") {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    const nk::graph g = nk::testing::product_graphs(seed, nk::dtype::f32).run();
    REQUIRE(difference_in_place(nk::testing::accumulate_all(g), seed) == "");
    const nk::graph any = nk::testing::random_graph(seed, {.type = nk::dtype::f32});
    REQUIRE(difference_in_place(nk::testing::accumulate_all(any), seed) == "");
  }
}

TEST_CASE("in every order that their tasks allow plans come to the same bits; without a wait they may not") {
  std::size_t beside = 0, told = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    CAPTURE(seed);
    const nk::graph g =
        nk::testing::product_graphs(seed, seed % 2 == 0 ? nk::dtype::f32 : nk::dtype::bf16).run();
    REQUIRE(difference_of_orders({g, {}, seed}, beside, told) == "");
    const nk::testing::accumulated a = nk::testing::accumulate_all(g);
    REQUIRE(difference_of_orders({a.g, a.same, seed}, beside, told) == "");
    const nk::graph any = nk::testing::random_graph(seed, {.type = nk::dtype::f32});
    REQUIRE(difference_of_orders({any, {}, seed}, beside, told) == "");
  }
  CHECK(beside > 500);
  CHECK(told > 500);
}
