// Schedules at the steps that matter: first, end of the warm-up, middle, last, beyond.
#include "napkin/optim/schedule.hpp"

#include <catch2/catch.hpp>

#include "napkin/optim/clip.hpp"

namespace nk = napkin;

namespace {

bool near(double a, double b) { return std::abs(a - b) <= 1e-15; }

}  // namespace

TEST_CASE("schedules: every warm-up rises in equal steps to the peak") {
  const nk::warmup_cosine cosine{.peak = 2, .warmup_steps = 4, .total_steps = 104};
  const nk::warmup_linear linear{.peak = 2, .warmup_steps = 4, .total_steps = 104};
  const nk::warmup_constant constant{.peak = 2, .warmup_steps = 4};
  const nk::warmup_stable_decay stable{.peak = 2, .warmup_steps = 4, .decay_steps = 20, .total_steps = 104};
  for (std::int64_t step = 0; step < 5; ++step) {
    const double expected = step < 4 ? 0.5 * static_cast<double>(step + 1) : 2;
    CHECK(cosine(step) == expected);
    CHECK(linear(step) == expected);
    CHECK(constant(step) == expected);
    CHECK(stable(step) == expected);
  }
  CHECK(nk::warmup_cosine{.peak = 2, .total_steps = 10}(0) == 2);
  CHECK(nk::warmup_linear{.peak = 2, .total_steps = 10}(0) == 2);
}

TEST_CASE("schedules: a cosine, a line, a plateau and its decay") {
  const nk::warmup_cosine cosine{.peak = 2, .warmup_steps = 4, .total_steps = 104, .final_fraction = 0.25};
  CHECK(near(cosine(54), 1.25));
  CHECK(near(cosine(29), 0.5 + 0.75 * (1 + std::sqrt(0.5))));
  CHECK(cosine(104) == 0.5);
  CHECK(cosine(1000) == 0.5);

  const nk::warmup_linear linear{.peak = 2, .warmup_steps = 4, .total_steps = 104, .final_fraction = 0.5};
  CHECK(near(linear(29), 1.75));
  CHECK(linear(104) == 1);
  CHECK(linear(1000) == 1);

  nk::warmup_stable_decay stable{.peak = 2, .warmup_steps = 4, .decay_steps = 20, .total_steps = 104};
  CHECK(stable(84) == 2);
  CHECK(near(stable(89), 1));  // a quarter of the way: sqrt is a half
  CHECK(stable(104) == 0);
  CHECK(stable(1000) == 0);
  stable.decay = nk::warmup_stable_decay::shape::linear;
  stable.final_fraction = 0.1;
  CHECK(near(stable(94), 1.1));
  CHECK(near(stable(104), 0.2));

  CHECK(nk::warmup_constant{.peak = 2, .warmup_steps = 4}(1000) == 2);
  CHECK(nk::constant_rate{.peak = 2}(1000) == 2);
}

TEST_CASE("schedules: the last of the steps is one short of the end") {
  CHECK(near(nk::warmup_linear{.peak = 1, .total_steps = 10}(9), 0.1));
  CHECK(near(nk::warmup_cosine{.peak = 2, .total_steps = 3, .final_fraction = 0}(2), 0.5));
  CHECK(nk::warmup_stable_decay{.peak = 1, .decay_steps = 1, .total_steps = 10}(9) == 1);
}

TEST_CASE("clipping: a long gradient is cut to the norm, a short one and NaN pass") {
  CHECK(nk::clip_factor(0.5, 1) == 1);
  CHECK(near(nk::clip_factor(4, 1), 1 / 4.000001));
  CHECK(nk::clip_factor(4, 0) == 1);
  CHECK(std::isnan(nk::clip_factor(std::nan(""), 1)));
  CHECK(nk::clip_factor(INFINITY, 1) == 0);
}
