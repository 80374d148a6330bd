// The sizes that each way to do attention is tried with: those that fill its blocks and those that do not.
#pragma once

#include "support/attention_check.hpp"

namespace napkin::testing::attention {

/// Of few keys, so that one block may have them all: as many as fill it and fewer, queries in several tiles,
/// of windows, in groups; and such that scores far below 0 are all that a query has.
template <class T>
void check_short(double tolerance, way by) {
  random_source random(51 + sizeof(T) + name_of(dtype_of<T>).size());
  const std::size_t n = 16 / sizeof(T);
  const auto one = [&](const sizes& s) { check<T>(s, random, tolerance, by); };
  one({.batch = 2, .heads = 2, .queries = 64, .keys = 64, .hidden = 32, .value = 32, .causal = true});
  one({.heads = 2, .group = 2, .queries = 130, .keys = 64, .hidden = 64, .value = 64, .causal = true});
  one({.queries = 100, .keys = 49, .hidden = 128, .value = 128});
  one({.group = 3, .queries = 50, .keys = 50, .hidden = 104, .value = 40, .causal = true, .apart = 2 * n});
  one({.heads = 2, .queries = 60, .keys = 60, .hidden = 64, .value = 64, .causal = true, .window = 9});
  one({.queries = 63, .keys = 64, .hidden = 120, .value = 128, .causal = true, .window = 40});
  one({.queries = 17, .keys = 33, .hidden = 5, .value = 3, .apart = 1});
  // exponentials of keys that there are not would be infinite
  if (!is_small_float(dtype_of<T>)) one({.queries = 200, .keys = 2, .hidden = 8, .value = 8, .scale = 100});
  one({.group = 2,
       .queries = 40,
       .keys = 40,
       .hidden = 24,
       .value = 32,
       .causal = true,
       .apart = n,
       .window = 7});
}

template <class T>
void check_all(double tolerance, way by) {
  random_source random(sizeof(T) * 100 + name_of(dtype_of<T>).size());
  const std::size_t n = 16 / sizeof(T);
  check<T>({.queries = 64, .keys = 64, .hidden = 64, .value = 64}, random, tolerance, by);
  check<T>({.queries = 64, .keys = 64, .hidden = 128, .value = 128, .causal = true}, random, tolerance, by);
  check<T>({.batch = 2,
            .heads = 2,
            .group = 2,
            .queries = 150,
            .keys = 150,
            .hidden = 64,
            .value = 64,
            .causal = true},
           random, tolerance, by);
  check<T>({.heads = 2, .queries = 70, .keys = 131, .hidden = 128, .value = 128}, random, tolerance, by);
  check<T>({.queries = 131, .keys = 40, .hidden = 72, .value = 24, .causal = true, .apart = n}, random,
           tolerance, by);
  check<T>({.group = 3, .queries = 5, .keys = 5, .hidden = 8, .value = 8, .causal = true}, random, tolerance,
           by);
  // rows that 16 bytes do not go into
  check<T>({.heads = 3, .queries = 33, .keys = 70, .hidden = 7, .value = 9, .apart = 1}, random, tolerance,
           by);
  check<T>({.queries = 66, .keys = 66, .hidden = 100, .value = 99, .causal = true}, random, tolerance, by);
  check<T>({.queries = 1, .keys = 1, .hidden = 1, .value = 1, .causal = true}, random, tolerance, by);
  check<T>({.queries = 90, .keys = 90, .hidden = 24, .value = 32, .causal = true, .window = 20}, random,
           tolerance, by);
}

/// Masks of every kind and dtype, broadcast and whole, with and without positions that hide.
template <class T>
void check_masked(double tolerance, way by) {
  using enum attention_mask;
  random_source random(77 + sizeof(T) + name_of(dtype_of<T>).size());
  const dtype t = dtype_of<T>;
  const auto one = [&](const sizes& s) { return check<T>(s, random, tolerance, by); };
  sizes s{.queries = 64,
          .keys = 64,
          .hidden = 64,
          .value = 64,
          .mask = adds,
          .has = {0, 0, 0, 1, 1},
          .mask_type = dtype::f32};
  CHECK(one(s) == 0);
  s.hidden = s.value = 128;
  s.causal = true;
  CHECK(one(s) == 0);
  s = {.batch = 2,
       .heads = 2,
       .group = 2,
       .queries = 70,
       .keys = 131,
       .hidden = 64,
       .value = 64,
       .mask = adds,
       .has = {1, 1, 1, 1, 1},
       .mask_type = t};
  CHECK(one(s) == 0);
  s = {.heads = 2,
       .queries = 150,
       .keys = 150,
       .hidden = 128,
       .value = 100,
       .causal = true,
       .mask = adds,
       .has = {0, 1, 0, 1, 1},
       .mask_type = t == dtype::f32 ? dtype::bf16 : dtype::f32};
  CHECK(one(s) == 0);
  s.mask_type = dtype::f16;
  s.has = {0, 1, 0, 0, 1};
  CHECK(one(s) == 0);
  // widths that 16 bytes do not go into; of queries alone it says nothing, of keys and heads
  s = {.heads = 3,
       .queries = 33,
       .keys = 71,
       .hidden = 7,
       .value = 9,
       .apart = 1,
       .mask = adds,
       .has = {0, 0, 0, 1, 0},
       .mask_type = dtype::f32};
  CHECK(one(s) == 0);
  // padding, causal: the first 70 queries of a sequence see no key, and all blocks' tiles weigh
  s = {.batch = 2,
       .group = 2,
       .queries = 150,
       .keys = 150,
       .hidden = 64,
       .value = 64,
       .causal = true,
       .mask = shows,
       .has = {1, 0, 0, 0, 1},
       .blinds = 1};
  CHECK(one(s) == 0);
  s.hidden = 40, s.value = 128;
  CHECK(one(s) == 0);
  s = {.batch = 2,
       .heads = 2,
       .queries = 90,
       .keys = 140,
       .hidden = 64,
       .value = 64,
       .mask = shows,
       .has = {1, 0, 0, 1, 1},
       .blinds = 1};
  CHECK(one(s) == 0);
  s.hides_by = -endless;
  CHECK(one(s) > 0);
  s.causal = true;
  CHECK(one(s) > 0);
  // what the mask hides lies below what positions hide; lies as deep
  s = {.queries = 150,
       .keys = 150,
       .hidden = 64,
       .value = 64,
       .causal = true,
       .mask = adds,
       .has = {0, 0, 0, 1, 1},
       .mask_type = dtype::f32,
       .hides_by = -1e20,
       .blinds = -1e30};
  CHECK(one(s) == 0);
  s.hides_by = -1e30;
  CHECK(one(s) == 0);
  s.blinds = -endless;
  CHECK(one(s) == 0);  // what positions hide has all the weight
  s.queries = 153;
  CHECK(one(s) > 0);  // nothing is hidden from the last query by its position
  s.causal = false;
  CHECK(one(s) > 0);
  // windows, alone and masked
  s = {.heads = 2, .queries = 200, .keys = 200, .hidden = 64, .value = 64, .causal = true, .window = 40};
  CHECK(one(s) == 0);
  s = {.group = 2, .queries = 170, .keys = 140, .hidden = 100, .value = 99, .causal = true, .window = 33};
  CHECK(one(s) == 0);
  s = {.queries = 300, .keys = 300, .hidden = 8, .value = 8, .causal = true, .window = 2};
  CHECK(one(s) == 0);
  s = {.heads = 2,
       .queries = 200,
       .keys = 200,
       .hidden = 64,
       .value = 64,
       .causal = true,
       .window = 50,
       .mask = shows,
       .has = {0, 1, 0, 1, 1},
       .blinds = 1};
  CHECK(one(s) == 0);
  s.mask = adds;
  s.mask_type = dtype::f32;
  s.blinds = -1e30;
  s.hides_by = -1e20;
  CHECK(one(s) == 0);
}

/// What only general kernels take: wide heads, scales that are not above 0; of f64 all that others take.
template <class T>
void check_general(double tolerance, way by) {
  using enum attention_mask;
  random_source random(500 + sizeof(T) + name_of(dtype_of<T>).size());
  const auto one = [&](const sizes& s) { return check<T>(s, random, tolerance, by); };
  const std::size_t n = 16 / sizeof(T);
  CHECK(one({.queries = 64, .keys = 64, .hidden = 256, .value = 256}) == 0);
  CHECK(one({.heads = 2, .queries = 70, .keys = 90, .hidden = 192, .value = 128, .causal = true}) == 0);
  CHECK(
      one({.batch = 2, .group = 2, .queries = 40, .keys = 40, .hidden = 160, .value = 160, .causal = true}) ==
      0);
  // results in pieces, unequal; rows that 16 bytes do not go into, and rows apart
  CHECK(one({.group = 2, .queries = 37, .keys = 70, .hidden = 300, .value = 520}) == 0);
  CHECK(one({.queries = 70, .keys = 33, .hidden = 520, .value = 131, .causal = true, .apart = 1}) == 0);
  CHECK(one({.queries = 66, .keys = 66, .hidden = 264, .value = 136, .causal = true, .apart = n}) == 0);
  CHECK(one({.queries = 1, .keys = 1, .hidden = 129, .value = 1, .causal = true}) == 0);
  CHECK(one({.queries = 70, .keys = 90, .hidden = 0, .value = 300, .scale = 1}) == 0);  // all weigh alike
  for (const double scale : {-0.125, -1e-30, 2.0})
    CHECK(one({.heads = 2,
               .queries = 50,
               .keys = 50,
               .hidden = 72,
               .value = 140,
               .causal = true,
               .scale = scale}) == 0);
  CHECK(one({.queries = 65, .keys = 50, .hidden = 16, .value = 16, .scale = -0.25}) == 0);
  // windows, of which whole tiles lie outside, and masks
  CHECK(one({.queries = 170, .keys = 170, .hidden = 136, .value = 24, .causal = true, .window = 40}) == 0);
  CHECK(one({.group = 2,
             .queries = 150,
             .keys = 140,
             .hidden = 9,
             .value = 150,
             .causal = true,
             .window = 11}) == 0);
  sizes s{.batch = 2,
          .heads = 2,
          .queries = 40,
          .keys = 71,
          .hidden = 136,
          .value = 136,
          .mask = adds,
          .has = {1, 1, 0, 1, 1},
          .mask_type = dtype_of<T>};
  CHECK(one(s) == 0);
  for (const dtype type : {dtype::f64, dtype::f32, dtype::bf16, dtype::f16}) {
    s.mask_type = type;
    s.has = {0, 1, 0, 0, 1};
    s.causal = true;
    CHECK(one(s) == 0);
  }
  s = {.batch = 2,
       .group = 2,
       .queries = 100,
       .keys = 100,
       .hidden = 72,
       .value = 136,
       .causal = true,
       .mask = shows,
       .has = {1, 0, 0, 0, 1},
       .blinds = 1};
  CHECK(one(s) == 0);
  s.causal = false;
  s.has = {1, 0, 0, 1, 1};
  CHECK(one(s) == 0);
  s.hides_by = -endless;
  CHECK(one(s) > 0);
  s = {.queries = 100,
       .keys = 100,
       .hidden = 136,
       .value = 64,
       .causal = true,
       .window = 50,
       .mask = adds,
       .has = {0, 0, 0, 1, 1},
       .mask_type = dtype::f32,
       .hides_by = -1e20,
       .blinds = -1e30};
  CHECK(one(s) == 0);
}

/// Scores of the first 128 keys are below what f32 has: -inf, and weigh nothing.
template <class T>
void check_endless_scores(way by) {
  using enum attention_tensor;
  const sizes s{.queries = 4, .keys = 256, .hidden = 64, .value = 64};
  std::vector<T> of[attention_tensors];
  std::vector<float> log_sums(s.queries);
  memory_of_all at;
  attention_record r;
  r.type = dtype_of<T>;
  r.extent = extent_of(s);
  const auto hand = [&](attention_tensor t, auto value) {
    auto& to = of[static_cast<std::size_t>(t)];
    for (std::size_t i = 0; i < elements_of(s, t); ++i)
      to.push_back(static_cast<T>(static_cast<float>(value(i / 64, i % 64))));
    at[static_cast<std::size_t>(t)] = std::as_writable_bytes(std::span(to));
    r.of(t).there = true;
  };
  hand(query, [](std::size_t, std::size_t c) { return c == 0 ? 1e20 : 0.0; });
  hand(key, [](std::size_t j, std::size_t c) { return c == 0 && j < 128 ? -1e20 : 0.0; });
  hand(value, [](std::size_t j, std::size_t) { return j < 128 ? 7.0 : 3.0; });
  hand(output, [](std::size_t, std::size_t) { return 0.0; });
  at[static_cast<std::size_t>(log_sum)] = std::as_writable_bytes(std::span(log_sums));
  r.of(log_sum).there = true;
  by.attend(r, at);
  double off = 0;
  for (const T x : of[static_cast<std::size_t>(output)])
    off = worst_of(off, std::fabs(static_cast<double>(static_cast<float>(x)) - 3));
  for (const float x : log_sums) off = worst_of(off, std::fabs(x - std::log(128.0)));
  CHECK(off <= 1e-5);
}

}  // namespace napkin::testing::attention
