// The ways in which a device is given a step's launches, in order or by data, in turn or early: the same bits,
// and which of them a trainer takes.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "lookup_training.hpp"
#include "napkin/plan/task_order.hpp"
#include "support/trained_numbers.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using lookup_test::cuda_step;
using lookup_test::step;
using lookup_test::train;
using lookup_test::trainer;
using machine = nk::testing::device_with_session;
using nk::testing::everything_of;

TEST_CASE("launches that wait for their data alone, early or not, come to the bits of launches in a row",
          "[cuda]") {
  using enum nk::launch_start;
  machine first;
  trainer in_order(nk::seed{4}, {.order = nk::launch_order::in_order, .start = in_turn}, first.session);
  CHECK(in_order.order() == nk::launch_order::in_order);
  CHECK(in_order.start() == in_turn);
  CHECK(first.cuda.early == 0);
  const std::vector<float> losses = train(in_order, 6), all = everything_of(in_order);
  for (const unsigned seed : {1u, 2u, 3u, 4u}) {
    machine m(seed);
    m.blas.algorithms[0].workspace = seed % 2 == 0 ? 256 : 0;  // the least that is planned is more
    const nk::launch_order order = seed < 4 ? nk::launch_order::by_data : nk::launch_order::in_order;
    const nk::launch_start start = seed < 2 ? in_turn : early;
    trainer t(nk::seed{4}, {.order = order, .start = start}, m.session);
    CHECK(t.order() == order);
    CHECK(t.start() == start);
    CHECK((m.cuda.early > 0) == (start == early));
    CHECK(t.fallbacks() == on_cuda::blas_fallbacks{});
    CHECK(train(t, 6) == losses);
    CHECK(everything_of(t) == all);
    CHECK(m.cuda.misuse.empty());
  }
}

TEST_CASE("of the ways the clock chooses, and what it ran to see leaves nothing behind", "[cuda]") {
  const auto plan = cuda_step::gradient_plan::view();
  REQUIRE(!nk::planning::order_tasks(plan, true).is_a_line());
  // What is kept and another way run in turns, 8 times, with a clock that says which of them is faster: first
  // of the orders, then of the starts.
  for (const bool by_data : {false, true})
    for (const bool early : {false, true}) {
      machine m;
      m.cuda.elapsed = [&] {
        const auto launches = std::count(m.cuda.log.begin(), m.cuda.log.end(), "cudaGraphLaunch");
        return (launches % 2 == 0) == (launches <= 8 ? by_data : early) ? 20.0f : 30.0f;
      };
      trainer t(nk::seed{4}, {}, m.session);
      CHECK(t.order() == (by_data ? nk::launch_order::by_data : nk::launch_order::in_order));
      CHECK(t.start() == (early ? nk::launch_start::early : nk::launch_start::in_turn));
      CHECK(everything_of(t) == everything_of(nk::trainer<step>(nk::seed{4})));
      CHECK(t.steps() == 0);
      CHECK(m.cuda.misuse.empty());
    }
  machine m;  // as good: in order, in turn
  const trainer t(nk::seed{4}, {}, m.session);
  CHECK(t.order() == nk::launch_order::in_order);
  CHECK(t.start() == nk::launch_start::in_turn);
}

TEST_CASE("on a device whose kernels cannot start early none does, and who asks for it is told", "[cuda]") {
  machine m;
  m.cuda.compute_capability = 89;
  const trainer t(nk::seed{4}, {}, m.session);
  CHECK(t.start() == nk::launch_start::in_turn);
  CHECK(m.cuda.early == 0);
  CHECK_THROWS_WITH(
      trainer(nk::seed{4}, {.start = nk::launch_start::early}, m.session),
      "trainer: kernels start early on devices of compute capability 9.0 or later, compiled for "
      "these: launch_start::in_turn");
}
TEST_CASE("nor where kernels do not wait then, a plan's or the library's", "[cuda]") {
  for (bool* const waits : {&nk::testing::kernels_wait, &nk::testing::library_waits}) {
    machine m;
    *waits = false;
    CHECK(trainer(nk::seed{4}, {}, m.session).start() == nk::launch_start::in_turn);
    CHECK_THROWS_WITH(trainer(nk::seed{4}, {.start = nk::launch_start::early}, m.session),
                      Catch::Contains("compiled for these"));
    CHECK(m.cuda.early == 0);
    *waits = true;
  }
}

TEST_CASE("a device that has no room for a second graph trains by the first", "[cuda]") {
  const auto instantiations = [](const machine& m) {
    return std::count(m.cuda.log.begin(), m.cuda.log.end(), "cudaGraphInstantiate");
  };
  machine good, full;
  trainer expected(nk::seed{4}, {.order = nk::launch_order::in_order}, good.session);
  const std::vector<float> losses = train(expected, 3);
  const nk::trainer_options<nk::adamw> options{.start = nk::launch_start::in_turn};
  {
    const trainer first(nk::seed{4}, options, full.session);
    REQUIRE(instantiations(full) == 3);  // of the step in both orders, and of the loss
  }
  full.cuda.log.clear();
  int calls = full.cuda.calls;
  {
    const trainer again(nk::seed{4}, options, full.session);  // whose algorithms are known, as the next one's
    std::size_t at = 0;
    for (int seen = 0; at < full.cuda.log.size(); ++at)
      if (full.cuda.log[at] == "cudaGraphInstantiate" && ++seen == 2) break;
    REQUIRE(at < full.cuda.log.size());
    calls = static_cast<int>(at) + 1;
  }
  full.cuda.fail_at = full.cuda.calls + calls;
  full.cuda.error_code = on_cuda::out_of_memory;
  trainer t(nk::seed{4}, options, full.session);
  CHECK(full.cuda.failed == "cudaGraphInstantiate");
  CHECK(t.order() == nk::launch_order::in_order);
  full.cuda.fail_at = 0;
  CHECK(train(t, 3) == losses);
  CHECK(full.cuda.misuse.empty());
}
