// Kernels whose lanes lie across rows have the bits of interpreted ones, which walk along them, and the values of the
// graph that they were made from; and which kernels these are.
#include "napkin/cpu/kernel_across_rows.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "napkin/cpu/threads.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/pattern.hpp"
#include "napkin/passes/differentiate.hpp"
#include "napkin/tensor/create.hpp"
#include "support/compiled_kernels.hpp"

namespace nk = napkin;
using nk::op;

namespace {

using nk::testing::programs_across;

template <class Graph>
using plan_of = nk::on_cpu::frozen_plan<Graph>;
template <class Graph>
constexpr bool all_across = programs_across<plan_of<Graph>> == plan_of<Graph>::value.programs.size() &&
                            programs_across<plan_of<Graph>> > 0;

template <class Graph>
void check(nk::testing::values inputs = {}) {
  static_assert(all_across<Graph>);
  nk::testing::check_compiled<Graph>(std::move(inputs));
}

/// Of rows of N; what comes of it is stored, and the rows' sums are.
template <nk::dtype T, std::size_t Rows, std::size_t N>
struct softmax {
  static constexpr nk::graph make() {
    nk::builder b;
    const auto e = nk::testing::exponentials_of(b, b.input(0, T, {Rows, N}));
    b.output(b.div(e.each, e.along));
    b.output(e.sums);
    return b.result;
  }
};

/// What is loaded in every phase, what is stored in one and read again in the next; all is stored.
template <nk::dtype T, std::size_t Rows, std::size_t N>
struct read_again {
  static constexpr nk::graph make() {
    nk::builder b;
    const int x = b.input(0, T, {Rows, N});
    const auto e = nk::testing::exponentials_of(b, x);
    b.output(e.each);
    b.output(b.div(e.each, e.along));
    b.output(b.mul(x, e.along));
    return b.result;
  }
};

/// Every reduction of windows of 2 by 3 and their squares.
template <nk::dtype T, std::size_t Images, std::size_t Channels>
struct pool {
  static constexpr nk::graph make() {
    nk::builder b;
    const std::int32_t windows_last[] = {0, 1, 3, 5, 2, 4}, windows[] = {4, 5};
    const int x = b.permute(
        b.reshape(b.input(0, T, {Images, 4, 9, Channels}), {Images, 2, 2, 3, 3, Channels}), windows_last);
    for (const op o : {op::max, op::min, op::sum, op::product}) b.output(b.reduce(o, x, windows));
    b.output(b.reduce(op::sum, b.mul(x, x), windows));
    return b.result;
  }
};

/// Sums of rows and of columns, by one walk; the columns of several blocks are joined.
template <nk::dtype T, std::size_t Rows, std::size_t N>
struct both_ways {
  static constexpr nk::graph make() {
    nk::builder b;
    const std::int32_t last[] = {1}, first[] = {0}, along[] = {0, -1};
    const nk::shape s{Rows, N};
    const int x = b.input(0, T, s);
    const int y = b.div(x, b.expand(b.reduce(op::max, b.unary(op::abs, x), last), s, along));
    for (const op o : {op::sum, op::max, op::min}) b.output(b.reduce(o, y, first));
    b.output(y);
    return b.result;
  }
};

/// Sums of columns alone: one tensor is walked.
struct columns {
  static constexpr nk::graph make() {
    nk::builder b;
    const std::int32_t first[] = {0};
    b.output(b.reduce(op::sum, b.input(0, nk::dtype::f32, {35, 3}), first));
    return b.result;
  }
};

/// A layer norm over a short axis, and the gradients of a weighted sum of it.
template <nk::dtype T, std::size_t Rows, std::size_t N>
struct norm_gradients {
  static constexpr nk::graph forward() {
    nk::builder b;
    const nk::shape s{Rows, N};
    const std::int32_t last[] = {1}, all[] = {0, 1}, along[] = {0, -1}, down[] = {-1, 0};
    const int x = b.input(0, T, s), w = b.input(1, T, {N});
    const int mean = b.scale(b.reduce(op::sum, x, last), 1.0 / N);
    const int d = b.sub(x, b.expand(mean, s, along));
    const int variance = b.scale(b.reduce(op::sum, b.mul(d, d), last), 1.0 / N);
    const int r = b.unary(op::rsqrt, b.add(variance, b.constant_like(variance, T, b[variance].shape_id)));
    const int y = b.mul(b.mul(d, b.expand(r, s, along)), b.expand(w, s, down));
    b.output(b.reduce(op::sum, b.mul(y, b.input(2, T, s)), all));
    return b.result;
  }
  static constexpr nk::graph make() {
    const nk::graph g = forward();
    const std::int32_t wanted[] = {0, 1};
    return nk::passes::differentiate(g.view(), wanted);
  }
};

/// Coordinates of rows and of elements, as values and in a mask.
struct coordinates {
  static constexpr nk::graph make() {
    nk::builder b;
    const nk::shape s{3, 7, 5};
    const std::int32_t last[] = {2}, along[] = {0, 1, -1};
    const int x = b.input(0, nk::dtype::f32, s);
    const int row = b.iota(1, nk::dtype::i32, s), element = b.iota(2, nk::dtype::i32, s);
    const int seen = b.binary(op::less_equal, element, row);
    const int zero = b.sub(x, x);
    b.output(b.reduce(op::sum, b.select(seen, x, zero), last));
    b.output(b.reduce(op::sum, b.cast(seen, nk::dtype::i64), last));
    const int most = b.reduce(op::max, b.add(b.mul(b.iota(0, nk::dtype::i32, s), row), element), last);
    b.output(b.select(seen, b.cast(b.expand(most, s, along), nk::dtype::f32), x));
    return b.result;
  }
};

/// Rows that lie backwards, apart and in runs of six, and their elements apart too; a value for each run.
template <nk::dtype T>
struct apart {
  static constexpr nk::graph make() {
    nk::builder b;
    const std::int32_t swapped[] = {2, 0, 1}, start[] = {6, 0, 8}, step[] = {-1, 2, -2}, last[] = {2};
    const int x = b.slice(b.permute(b.input(0, T, {11, 9, 8}), swapped), {6, 6, 4}, {start, 3}, {step, 3});
    const std::int32_t of_run[] = {0, -1, -1};
    b.output(b.reduce(op::sum, x, last));
    b.output(b.add(b.mul(x, x), b.expand(b.input(1, T, {6}), {6, 6, 4}, of_run)));
    return b.result;
  }
};

/// Integers and truths.
template <nk::dtype T>
struct whole_numbers {
  static constexpr nk::graph make() {
    nk::builder b;
    const std::int32_t last[] = {1}, along[] = {0, -1};
    const nk::shape s{33, 3};
    const int x = b.input(0, T, s), y = b.input(1, T, s);
    b.output(b.reduce(op::sum, b.mul(x, y), last));
    b.output(b.sub(b.binary(op::maximum, x, y), b.expand(b.reduce(op::min, x, last), s, along)));
    b.output(b.reduce(op::any, b.binary(op::less, x, y), last));
    b.output(b.reduce(op::all, b.binary(op::less_equal, x, y), last));
    return b.result;
  }
};

template <nk::dtype T>
void check_softmax() {
  check<softmax<T, 16, 2>>();
  check<softmax<T, 37, 3>>();
  check<softmax<T, 100, 10>>();
  check<softmax<T, 2000, 7>>();  // several blocks
}

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("softmax of short rows, side by side") {
  check_softmax<nk::dtype::f32>();
  check_softmax<nk::dtype::f64>();
  check_softmax<nk::dtype::bf16>();
  check_softmax<nk::dtype::f16>();
}

TEST_CASE("what phases read again, of rows whose values are kept and of longer ones") {
  check<read_again<nk::dtype::f32, 45, 5>>();
  nk::testing::check_compiled<read_again<nk::dtype::f64, 20, 32>>();
  nk::testing::check_compiled<read_again<nk::dtype::f32, 20, 33>>();
  nk::testing::check_compiled<read_again<nk::dtype::bf16, 20, 40>>();
}

TEST_CASE("rows longer than the lanes along them, side by side") {
  check<softmax<nk::dtype::f32, 50, 17>>();
  check<softmax<nk::dtype::f64, 50, 27>>();
}

TEST_CASE("windows of two axes: channels that lie together, and some that do not fill the lanes") {
  check<pool<nk::dtype::f32, 2, 32>>();
  check<pool<nk::dtype::f32, 3, 5>>();
  check<pool<nk::dtype::bf16, 2, 16>>();
  check<pool<nk::dtype::i32, 3, 1>>();
}

TEST_CASE("columns of rows side by side are added row by row") {
  check<columns>();
  check<both_ways<nk::dtype::f32, 21, 3>>();
  check<both_ways<nk::dtype::f32, 9000, 4>>();
  check<both_ways<nk::dtype::f64, 40, 9>>();
  check<both_ways<nk::dtype::f16, 3000, 6>>();
}

TEST_CASE("gradients of a norm of short rows") {
  nk::testing::check_compiled<norm_gradients<nk::dtype::f32, 70, 6>>();
  nk::testing::check_compiled<norm_gradients<nk::dtype::f64, 18, 5>>();
  STATIC_REQUIRE(programs_across<plan_of<norm_gradients<nk::dtype::f32, 70, 6>>> > 0);
}

TEST_CASE("coordinates of rows side by side") { check<coordinates>(); }

TEST_CASE("rows apart, in runs that are shorter than the lanes") {
  check<apart<nk::dtype::f32>>();
  check<apart<nk::dtype::f64>>();
  check<apart<nk::dtype::u8>>();
}

TEST_CASE("integers of rows side by side") {
  check<whole_numbers<nk::dtype::i32>>();
  check<whole_numbers<nk::dtype::i8>>();
  check<whole_numbers<nk::dtype::i64>>();
}

TEST_CASE("special values in rows side by side") {
  nk::testing::values inputs(1, std::vector<double>(100 * 10));
  const double special[] = {not_a_number, infinite, -infinite, 0.0, -0.0, 1.5, -2.5};
  for (std::size_t i = 0; i < inputs[0].size(); ++i) inputs[0][i] = special[i * i / 3 % 7];
  check<softmax<nk::dtype::f32, 100, 10>>(inputs);
  inputs[0].resize(37 * 3);
  check<softmax<nk::dtype::f64, 37, 3>>(inputs);
  inputs[0].assign(21 * 3, -0.0);
  check<both_ways<nk::dtype::f32, 21, 3>>(inputs);
}

/// Products finished by a softmax of their short rows, the last by sums too.
template <nk::dtype T, std::size_t Batch, std::size_t Rows, std::size_t N>
struct finished {
  static constexpr nk::graph make() {
    nk::builder b;
    const std::int32_t labels[] = {0, 1, 2, 0, 2, 3}, result[] = {0, 1, 3};
    const std::int32_t xs[] = {b.input(0, T, {Batch, Rows, 8}), b.input(1, T, {Batch, 8, N})};
    const auto e = nk::testing::exponentials_of(b, b.einsum(xs, labels, result));
    b.output(b.div(e.each, e.along));
    return b.result;
  }
};

TEST_CASE("rows of a product's blocks, side by side where a block has enough of them") {
  using few = finished<nk::dtype::f32, 64, 2, 12>;
  using many = finished<nk::dtype::f32, 5, 100, 10>;
  using uneven = finished<nk::dtype::f64, 30, 37, 5>;
  for (const auto& n : plan_of<many>::value.instructions) CHECK(n.epilogue >= 0);
  STATIC_REQUIRE(programs_across<plan_of<few>> == 0);
  STATIC_REQUIRE(programs_across<plan_of<many>> == 1);
  STATIC_REQUIRE(programs_across<plan_of<uneven>> == 1);
  nk::testing::check_compiled<few>();
  nk::testing::check_compiled<many>();
  nk::testing::check_compiled<uneven>();
}

TEST_CASE("blocks have rows for all lanes, but where they have sums of columns") {
  using channels_last = pool<nk::dtype::f32, 55, 16>;
  for (const nk::on_cpu::kernel_record& k : plan_of<channels_last>::value.kernels) {
    CHECK(k.blocks > 1);
    CHECK(k.walks_per_block % nk::on_cpu::lane_count == 0);
    CHECK((k.blocks - 1) * k.walks_per_block < k.walks);
    CHECK(k.blocks * k.walks_per_block >= k.walks);
    CHECK(k.scratch_per_block == 0);
  }
  check<channels_last>();
  const std::size_t before = nk::on_cpu::threads();
  nk::on_cpu::set_threads(3);
  check<channels_last>();
  check<softmax<nk::dtype::f32, 2000, 7>>();
  nk::on_cpu::set_threads(before);
}

TEST_CASE("lanes lie along rows that fill them, that are few, or whose sums are folded") {
  STATIC_REQUIRE(programs_across<plan_of<softmax<nk::dtype::f32, 100, 32>>> == 0);
  STATIC_REQUIRE(programs_across<plan_of<softmax<nk::dtype::f32, 15, 3>>> == 0);
  STATIC_REQUIRE(programs_across<plan_of<pool<nk::dtype::f32, 2000, 1>>> > 0);
}
