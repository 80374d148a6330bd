// Bytes, launches and memory of CPU plans, each worked by hand.
#include "napkin/cpu/cost.hpp"

#include <catch2/catch.hpp>

#include "support/planned.hpp"

namespace nk = napkin;
using nk::dtype;
using nk::op;

namespace {

struct planned {
  nk::graph lowered;
  nk::on_cpu::plan plan;
  nk::cost_sheet cost() const { return nk::on_cpu::cost_of(nk::on_cpu::view_of(plan), lowered.view()); }
  nk::memory_sheet memory() const { return nk::on_cpu::memory_of(nk::on_cpu::view_of(plan), lowered.view()); }
};

planned lower(const nk::builder& b, nk::on_cpu::plan_options options = {}) {
  planned p;
  p.lowered = nk::testing::lowered(b.view(), options);
  p.plan = nk::testing::planned<nk::on_cpu::target>(p.lowered.view(), options);
  return p;
}

int transposed(nk::builder& b, int x) {
  const std::int32_t map[] = {1, 0};
  return b.permute(x, map);
}
int sliced(nk::builder& b, int x, const nk::shape& to, std::int32_t start, std::int32_t step) {
  const std::int32_t starts[] = {start}, steps[] = {step};
  return b.slice(x, to, starts, steps);
}

}  // namespace

TEST_CASE("an input that is read in several ways is moved once", "[cost]") {
  nk::builder b;
  const int x = b.input(0, dtype::f32, {5, 5}), y = b.input(1, dtype::f32, {5, 5});
  b.output(b.add(b.mul(x, transposed(b, x)), b.mul(x, y)));
  const planned p = lower(b);
  CHECK(p.cost().launches == 1);
  CHECK(p.cost().bytes == nk::byte_counts{4 * (25 + 25), 4 * 25});
}

TEST_CASE("a broadcast input counts its own elements", "[cost]") {
  nk::builder b;
  const std::int32_t along[] = {-1, 0};
  const int x = b.input(0, dtype::f32, {6, 8}), row = b.input(1, dtype::f32, {8});
  b.output(b.add(x, b.expand(row, {6, 8}, along)));
  CHECK(lower(b).cost().bytes == nk::byte_counts{4 * (48 + 8), 4 * 48});
}

TEST_CASE("slices count what they cover together", "[cost]") {
  const auto bytes_read = [](std::int32_t second, std::int32_t step) {
    nk::builder b;
    const int x = b.input(0, dtype::f32, {10});
    b.output(b.mul(sliced(b, x, {4}, 0, step), sliced(b, x, {4}, second, step)));
    return lower(b).cost().bytes.read;
  };
  CHECK(bytes_read(4, 1) == 4 * 8);  // beside one another
  CHECK(bytes_read(6, 1) == 4 * 8);  // apart
  CHECK(bytes_read(1, 1) == 4 * 5);  // overlapping
  CHECK(bytes_read(1, 2) == 4 * 8);  // interleaved
}

TEST_CASE("bytes of a union count once", "[cost]") {
  using nk::planning::detail::touch;
  const nk::on_cpu::location x{nk::on_cpu::region::input, 0}, y{nk::on_cpu::region::input, 1};
  const auto bytes = [](std::initializer_list<touch> touches) {
    nk::buffer<touch> all;
    for (const touch& t : touches) all.push_back(t);
    return nk::planning::detail::distinct_bytes(all);
  };
  const touch whole{x, 0, 80, 80}, odd{x, 8, 72, 32}, even{x, 0, 64, 32}, beyond{x, 40, 120, 40};
  CHECK(bytes({}) == 0);
  CHECK(bytes({odd, whole}) == 80);              // within a run without gaps
  CHECK(bytes({odd, even}) == 64);               // interleaved: both
  CHECK(bytes({odd, odd, odd}) == 64);           // never more than the run that they lie in
  CHECK(bytes({beyond, whole}) == 80 + 40);      // partly outside
  CHECK(bytes({whole, {y, 0, 80, 80}}) == 160);  // of two tensors
  CHECK(bytes({{x, 0, 8, 8}, {x, 8, 16, 8}, {x, 4, 12, 8}, {x, 100, 100, 0}}) == 16);
}

TEST_CASE("dtypes have their own sizes", "[cost]") {
  nk::builder b;
  b.output(b.cast(b.binary(op::less, b.input(0, dtype::f64, {9}), b.input(1, dtype::f64, {9})), dtype::f16));
  CHECK(lower(b).cost().bytes == nk::byte_counts{9 * (8 + 8), 9 * 2});
}

TEST_CASE("a softmax of rows is one kernel that moves its input and output", "[cost]") {
  nk::builder b;
  const std::int32_t last[] = {1}, back[] = {0, -1};
  const int x = b.input(0, dtype::f32, {16, 32});
  const int largest = b.expand(b.reduce(op::max, x, last), {16, 32}, back);
  const int e = b.unary(op::exp, b.sub(x, largest));
  b.output(b.div(e, b.expand(b.reduce(op::sum, e, last), {16, 32}, back)));
  const planned p = lower(b);
  CHECK(p.cost().launches == 1);
  CHECK(p.cost().bytes == nk::byte_counts{4 * 512, 4 * 512});
  CHECK(p.cost().flops == nk::flop_counts{0, 2 * 512, 2 * 16 * 31, 512, 0});
  CHECK(p.memory().workspace == p.memory().arena);
  CHECK(p.memory().inputs == 2048);
  CHECK(p.memory().outputs == 2048);
  CHECK(p.memory().peak == p.memory().arena + 4096);
}

TEST_CASE("unfused, every intermediate is written and read", "[cost]") {
  nk::builder b;
  const int x = b.input(0, dtype::f32, {100});
  b.output(b.unary(op::tanh, b.unary(op::exp, x)));
  CHECK(lower(b).cost().bytes == nk::byte_counts{400, 400});
  nk::on_cpu::plan_options options;
  options.fuse.fuse = false;
  const planned p = lower(b, options);
  CHECK(p.cost().launches == 2);
  CHECK(p.cost().bytes == nk::byte_counts{800, 800});
  CHECK(p.memory().arena == 448);  // 400 bytes, aligned to 64
  CHECK(p.memory().arena_lower_bound == 448);
}

TEST_CASE("columns are written once, whatever their partial sums", "[cost]") {
  nk::builder b;
  const std::int32_t first[] = {0};
  b.output(b.reduce(op::sum, b.input(0, dtype::f32, {64, 8}), first));
  const planned p = lower(b);
  CHECK(p.cost().bytes == nk::byte_counts{4 * 512, 4 * 8});
  CHECK(p.memory().workspace >= 4 * 8);
}

TEST_CASE("a contraction reads its operands once and writes its result", "[cost]") {
  nk::builder b;
  const std::int32_t xs[] = {b.input(0, dtype::f32, {6, 7, 8}), b.input(1, dtype::f32, {8, 9})};
  const std::int32_t labels[] = {0, 1, 2, 2, 3}, to[] = {3, 0, 1};
  b.output(b.einsum(xs, labels, to));
  CHECK(lower(b).cost() ==
        nk::cost_sheet{{2 * 6 * 7 * 8 * 9, 0, 0, 0, 0}, {4 * (6 * 7 * 8 + 8 * 9), 4 * 9 * 6 * 7}, 1});
}

TEST_CASE("a product with its own transpose reads it once", "[cost]") {
  nk::builder b;
  const int x = b.input(0, dtype::f32, {6, 7});
  const std::int32_t xs[] = {x, x}, labels[] = {0, 1, 2, 1}, to[] = {0, 2};
  b.output(b.einsum(xs, labels, to));
  CHECK(lower(b).cost().bytes == nk::byte_counts{4 * 42, 4 * 36});
}

TEST_CASE("a contraction of nothing reads nothing and writes zeros", "[cost]") {
  nk::builder b;
  const std::int32_t xs[] = {b.input(0, dtype::f32, {3, 0}), b.input(1, dtype::f32, {0, 4})};
  const std::int32_t labels[] = {0, 1, 1, 2}, to[] = {0, 2};
  b.output(b.einsum(xs, labels, to));
  CHECK(lower(b).cost().bytes == nk::byte_counts{0, 4 * 12});
}

TEST_CASE("a gather reads what it gives, never more than the table", "[cost]") {
  const auto bytes = [](std::size_t rows, std::size_t tokens) {
    nk::builder b;
    b.output(b.gather(b.input(0, dtype::f32, {rows, 16}), b.input(1, dtype::u16, {tokens}), 0));
    return lower(b).cost().bytes;
  };
  CHECK(bytes(1000, 10) == nk::byte_counts{10 * 16 * 4 + 10 * 2, 10 * 16 * 4});
  CHECK(bytes(4, 10) == nk::byte_counts{4 * 16 * 4 + 10 * 2, 10 * 16 * 4});
}

TEST_CASE("scatter_add writes all of its result", "[cost]") {
  nk::builder b;
  b.output(b.scatter_add(b.input(0, dtype::f32, {10, 16}), b.input(1, dtype::i32, {10}), {50, 16}, 0));
  CHECK(lower(b).cost() == nk::cost_sheet{{0, 0, 160, 0, 0}, {4 * 170, 4 * 800}, 1});
}

TEST_CASE("pad writes all, concat each part", "[cost]") {
  nk::builder pad;
  const std::int32_t start[] = {2}, step[] = {1};
  pad.output(pad.pad(pad.input(0, dtype::f32, {5}), {9}, start, step));
  CHECK(lower(pad).cost().bytes == nk::byte_counts{20, 36});

  nk::builder concat;
  const std::int32_t xs[] = {concat.input(0, dtype::f32, {5}), concat.input(1, dtype::f32, {3})};
  concat.output(concat.concat(xs, 0));
  CHECK(lower(concat).cost().bytes == nk::byte_counts{32, 32});
  CHECK(lower(concat).cost().launches == 2);
}

TEST_CASE("a plan's lines add up to its sheet", "[cost]") {
  nk::builder b;
  const int x = b.input(0, dtype::f32, {32, 16}), w = b.input(1, dtype::f32, {16, 16});
  const std::int32_t xs[] = {x, w}, labels[] = {0, 1, 1, 2}, to[] = {0, 2}, last[] = {1};
  const int h = b.unary(op::tanh, b.einsum(xs, labels, to));
  const std::int32_t parts[] = {h, x};
  b.output(b.concat(parts, 1));
  b.output(b.reduce(op::max, h, last));
  const planned p = lower(b);
  const auto lines = nk::on_cpu::lines_of(nk::on_cpu::view_of(p.plan), p.lowered.view());
  nk::cost_sheet sum;
  for (const nk::plan_line& line : lines) sum += nk::cost_sheet{line.flops, line.bytes, 1};
  CHECK(sum == p.cost());
  // the contraction hands its blocks to tanh, which writes its part, and max; x is copied beside it
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].kind == nk::passes::unit_kind::contraction);
  CHECK(lines[0].operations == 3);
  CHECK(lines[1].kind == nk::passes::unit_kind::concat);

  const auto lines_of_another = [&] {
    nk::builder another;
    another.output(another.unary(op::exp, another.input(0, dtype::f32, {3})));
    return nk::on_cpu::lines_of(nk::on_cpu::view_of(p.plan), nk::testing::lowered(another.view()).view());
  };
  CHECK_THROWS_AS(lines_of_another(), nk::error);
}

TEST_CASE("an attention's adjoints share its scores, whichever of them are wanted", "[cost]") {
  using enum nk::attention_part;
  const auto backward = [](std::initializer_list<nk::attention_part> wanted, bool fuse = true) {
    nk::builder b;
    const int y = nk::primitive<op::attention>::example(b, 0);  // 3 queries, 4 keys, widths 2 and 3
    const nk::row::attention_form f(b.view(), y);
    const nk::shape rows = f.shape_of(log_sum), of_y = b.shape_of(y);
    const std::int32_t q = b.operand(y, 0), k = b.operand(y, 1), v = b.operand(y, 2);
    const std::int32_t xs[] = {
        q, k, v, b.input(3, dtype::f64, of_y), b.input(4, dtype::f64, rows), b.input(5, dtype::f64, rows)};
    for (const nk::attention_part p : wanted)
      b.output(nk::row::emit_attention(b, y, op::attention_backward, p, {xs, 6}));
    return lower(b, {.fuse = {.fuse = fuse}}).cost();
  };
  constexpr std::uint64_t pairs = 3 * 4, of_q = 3 * 2, of_k = 4 * 2, d = 2, w = 3;
  // Scores, and the weights' adjoints; then a product for each.
  const nk::cost_sheet all = backward({query, key, value});
  CHECK(all.launches == 1);
  CHECK(all.flops.matmul == 2 * pairs * ((d + w) + d + d + w));
  CHECK(all.flops.transcendental == pairs);
  CHECK(all.flops.elementwise == 4 * pairs + of_q + of_k);
  // q, k, v, dy, the sums, delta; each once
  CHECK(all.bytes == nk::byte_counts{8 * (3 * 2 + 4 * 2 + 4 * 3 + 3 * 3 + 3 + 3), 8 * (of_q + of_k + 4 * 3)});
  CHECK(backward({value, key, query}).flops == all.flops);
  CHECK(backward({key, value}).flops.matmul == 2 * pairs * ((d + w) + d + w));
  CHECK(backward({query, key}).flops.matmul == 2 * pairs * ((d + w) + d + d));
  CHECK(backward({key}).flops.matmul == 2 * pairs * ((d + w) + d));
  CHECK(backward({key}).flops.elementwise == 4 * pairs + of_k);
  CHECK(backward({value}).flops.matmul == 2 * pairs * (d + w));
  CHECK(backward({query}).flops.elementwise == 4 * pairs + of_q);
  // Kernels apart share nothing.
  const nk::cost_sheet apart = backward({query, key, value}, false);
  CHECK(apart.launches == 3);
  CHECK(apart.flops.matmul == 2 * pairs * (2 * (d + w) + d + d + d + w));
}
