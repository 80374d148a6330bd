// Which products of a graph have an epilogue, which have not, and what the plan then says: forms, launches,
// bytes, memory. That the numbers are right is tested by fused.cpp and tests/device_on_host.
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "napkin/cuda/plan.hpp"
#include "napkin/passes/differentiate.hpp"
#include "napkin/plan/cost.hpp"
#include "support/device_graphs.hpp"
#include "support/planned.hpp"

namespace nk = napkin;
using nk::dtype;
using nk::op;
using nk::on_cuda::blas_epilogue;
using nk::passes::activation;
using nk::testing::gelu;
using nk::testing::matmul;

namespace {

struct planned {
  nk::graph lowered;
  nk::on_cuda::plan plan;
  nk::cost_sheet cost;
  std::vector<nk::passes::epilogue_form> forms;  // of contractions, in order; plain ones too
  std::vector<blas_epilogue> epilogues;
};

planned plan_graph(const nk::graph& g, nk::planning::plan_options options = {}) {
  planned p;
  p.lowered = nk::testing::lowered(g.view(), options);
  p.plan = nk::testing::planned<nk::on_cuda::target>(p.lowered.view(), options);
  p.cost = nk::planning::cost_of(view_of(p.plan), p.lowered.view());
  for (const nk::planning::contraction_record& r : p.plan.contractions) {
    p.forms.push_back(r.follows);
    p.epilogues.push_back(nk::on_cuda::epilogue_of(
        r.follows, p.plan.products[static_cast<std::size_t>(r.product)].gemm.swapped));
  }
  return p;
}
planned plan_of(const std::function<void(nk::builder&)>& build) {
  nk::builder b;
  b.simplify = true;
  build(b);
  return plan_graph(b.take());
}

constexpr std::size_t rows = 16, inner = 8, columns = 24;
const nk::shape result{rows, columns};

struct operands {
  nk::builder& b;
  dtype type = dtype::f32;
  int next = 0;
  int input(const nk::shape& s) { return b.input(next++, type, s); }
  int product() { return matmul(b, input({rows, inner}), input({inner, columns})); }
  int row() { return b.expand(input({columns}), result, nk::testing::along_rows); }
  int column() { return b.expand(input({rows}), result, nk::testing::along_columns); }
};

/// The sum of squares of a layer behind a GELU of `hidden` values, and its gradient by all inputs.
struct two_layers {
  nk::graph loss, both;
  explicit two_layers(std::size_t hidden) {
    nk::builder b;
    b.simplify = true;
    operands x{b};
    const int of = x.input({rows, inner}), w = x.input({inner, hidden}), bias = x.input({hidden}),
              v = x.input({hidden, inner});
    const int before = b.add(matmul(b, of, w), b.expand(bias, {rows, hidden}, nk::testing::along_rows));
    const int y = matmul(b, gelu(b, before), v);
    b.output(b.reduce(op::sum, b.mul(y, y), nk::testing::both_axes));
    loss = b.take();
    const std::int32_t wanted[] = {of, w, bias, v};
    both = nk::passes::differentiate(loss.view(), wanted);
  }
};

using epilogues = std::vector<blas_epilogue>;
const epilogues none{blas_epilogue::none};

}  // namespace

TEST_CASE("a bias is added by the product's call: one launch, nothing between", "[epilogue]") {
  for (const bool first : {false, true}) {
    const planned p = plan_of([&](nk::builder& b) {
      operands x{b};
      const int y = x.product(), bias = x.row();
      b.output(first ? b.add(bias, y) : b.add(y, bias));
    });
    CHECK(p.epilogues == epilogues{blas_epilogue::bias});
    CHECK(p.forms[0].vector_size == columns);
    CHECK(p.cost.launches == 1);
    CHECK(p.cost.flops.matmul == 2 * rows * inner * columns);
    CHECK(p.cost.flops.elementwise == rows * columns);
    CHECK(p.cost.bytes.read == 4 * (rows * inner + inner * columns + columns));
    CHECK(p.cost.bytes.written == 4 * rows * columns);
    CHECK(p.plan.peak == nk::planning::workspace_of(view_of(p.plan)));
  }
}

TEST_CASE("a scale, a tensor and a bias are one call", "[epilogue]") {
  const planned p = plan_of([](nk::builder& b) {
    operands x{b};
    const int y = b.scale(x.product(), 0.25);
    b.output(b.add(b.add(x.input(result), y), x.row()));
  });
  CHECK(p.epilogues == epilogues{blas_epilogue::bias});
  CHECK(p.forms[0].scale == 0.25);
  CHECK(p.forms[0].adds);
  CHECK(p.cost.launches == 1);
  CHECK(p.cost.bytes.read == 4 * (rows * inner + inner * columns + columns + rows * columns));
}

TEST_CASE("what a call adds is read once, be it an operand of its product too", "[epilogue]") {
  const planned p = plan_of([](nk::builder& b) {
    operands x{b};
    const int residual = x.input({rows, inner});
    b.output(b.add(matmul(b, residual, x.input({inner, inner})), residual));
  });
  CHECK(p.forms[0].adds);
  CHECK(p.cost.launches == 1);
  CHECK(p.cost.bytes.read == 4 * (rows * inner + inner * inner));
  CHECK(p.cost.bytes.written == 4 * rows * inner);
}

TEST_CASE("a GELU by tanh is the call's; what it is taken of is stored where the backward pass reads it",
          "[epilogue]") {
  const two_layers g(columns);
  const planned alone = plan_graph(g.loss);
  CHECK(alone.epilogues == epilogues{blas_epilogue::gelu_bias, blas_epilogue::none});
  CHECK_FALSE(alone.forms[0].keeps);

  const planned trained = plan_graph(g.both);
  CHECK(trained.epilogues == epilogues{blas_epilogue::gelu_saved_bias, blas_epilogue::none,
                                       blas_epilogue::none, blas_epilogue::gelu_gradient_bias,
                                       blas_epilogue::none, blas_epilogue::none});
  const planned apart = plan_graph(g.both, {.fuse = {.fuse = false}});
  CHECK(trained.cost.flops == apart.cost.flops);
  CHECK(trained.cost.bytes.total() < apart.cost.bytes.total());
  // Of the hidden layer there are three tensors: GELU's input, its result, its input's adjoint.
  int hidden = 0;
  for (const nk::passes::lifetime& l : trained.plan.lives) hidden += l.bytes == 4 * rows * columns;
  CHECK(hidden == 3);
}

TEST_CASE("a bias's gradient is the sums of an operand of the weight's", "[epilogue]") {
  for (const bool turned : {false, true}) {
    nk::builder b;
    b.simplify = true;
    operands x{b};
    const int of = x.input({rows, inner}), v = x.input({columns, inner}), bias = x.input({columns}),
              w = turned ? x.input({columns, inner}) : x.input({inner, columns});
    const std::int32_t both[] = {of, w}, labels[] = {0, 1, 2, 1}, to[] = {0, 2};
    const int h = b.add(turned ? b.einsum(both, labels, to) : matmul(b, of, w),
                        b.expand(bias, result, nk::testing::along_rows));
    const int y = matmul(b, h, v);
    b.output(b.reduce(op::sum, b.mul(y, y), nk::testing::both_axes));
    const std::int32_t wanted[] = {bias, w};
    const planned p = plan_graph(nk::passes::differentiate(b.take().view(), wanted));
    CHECK(p.epilogues == epilogues{blas_epilogue::bias, blas_epilogue::none, blas_epilogue::none,
                                   turned ? blas_epilogue::bias_gradient_b : blas_epilogue::bias_gradient_a});
    const nk::planning::epilogue_counts counts = nk::planning::epilogues_of(view_of(p.plan));
    CHECK(counts == nk::planning::epilogue_counts{.bias = 1, .bias_gradient = 1});
    CHECK(p.forms.back().vector_size == columns);
  }
}

TEST_CASE("a cast that is a result stays one, though a product's call could sum it", "[epilogue]") {
  const auto plan_with = [](bool is_output) {
    return plan_of([&](nk::builder& b) {
      operands x{b, dtype::bf16};
      const int of = x.input({rows, inner}), dy = x.input({rows, columns});
      const std::int32_t both[] = {of, dy}, labels[] = {0, 1, 0, 2}, to[] = {1, 2}, leading[] = {0};
      const int wide = b.cast(dy, dtype::f32);
      b.output(b.cast(b.einsum(both, labels, to), dtype::f32));
      b.output(b.reduce(op::sum, wide, leading));
      if (is_output) b.output(wide);
    });
  };
  const auto writes = [](const nk::on_cuda::plan& p, std::size_t output) {
    using nk::planning::region;
    const auto is_it = [&](const nk::planning::location& l) {
      return l.where == region::output && l.at == output;
    };
    int times = 0;
    for (const nk::planning::access_record& a : p.accesses) times += a.written && is_it(a.base);
    for (const nk::planning::column_record& c : p.columns) times += is_it(c.to);
    for (const nk::planning::contraction_record& r : p.contractions) {
      times += is_it(r.c);
      for (const nk::planning::contraction_record::other& x : r.others)
        times += x.bytes > 0 && x.written && is_it(x.at);
    }
    return times;
  };
  const planned summed = plan_with(false), kept = plan_with(true);
  CHECK(nk::planning::epilogues_of(view_of(summed.plan)).bias_gradient == 1);
  CHECK(nk::planning::epilogues_of(view_of(kept.plan)).bias_gradient == 0);
  for (std::size_t output = 0; output < 2; ++output) CHECK(writes(summed.plan, output) == 1);
  for (std::size_t output = 0; output < 3; ++output) CHECK(writes(kept.plan, output) == 1);
}

TEST_CASE("what is not GELU by tanh stays a kernel", "[epilogue]") {
  const auto is_gelu = [](const std::function<int(nk::builder&, int)>& f) {
    const planned p = plan_of([&](nk::builder& b) {
      operands x{b};
      const int y = b.add(x.product(), x.row());
      b.output(f(b, y));
    });
    REQUIRE(p.forms.size() == 1);
    return p.forms[0].then == activation::gelu;
  };
  CHECK(is_gelu([](nk::builder& b, int x) { return gelu(b, x); }));
  CHECK(is_gelu([](nk::builder& b, int x) {  // written otherwise: x / (1 + exp(-2 u))
    const nk::shape s = b.shape_of(x);
    const int u = b.mul(x, b.add(b.constant(1, dtype::f32, s), b.scale(b.mul(x, x), 0.044715)));
    const int e = b.unary(op::exp, b.scale(u, -2 * 0.7978845608028654));
    return b.div(x, b.add(b.constant(1, dtype::f32, s), e));
  }));
  CHECK_FALSE(is_gelu([](nk::builder& b, int x) { return gelu(b, x, 0.0447); }));
  CHECK_FALSE(is_gelu([](nk::builder& b, int x) { return b.unary(op::tanh, x); }));
  CHECK_FALSE(is_gelu([](nk::builder& b, int x) { return b.scale(gelu(b, x), 2); }));
  CHECK_FALSE(is_gelu([](nk::builder& b, int x) {  // the same but beyond 3
    const int far = b.constant(3, dtype::f32, b.shape_of(x));
    return gelu(b, b.binary(op::minimum, x, far));
  }));
  for (const dtype through : {dtype::i32, dtype::b8, dtype::f8e5m2})
    CHECK_FALSE(
        is_gelu([&](nk::builder& b, int x) { return gelu(b, b.cast(b.cast(x, through), dtype::f32)); }));
}

TEST_CASE("what a program rounds to fewer bits, and goes on with, is a kernel's", "[epilogue]") {
  for (const dtype through : {dtype::bf16, dtype::f16, dtype::f8e4m3, dtype::f8e5m2}) {
    const planned p = plan_of([&](nk::builder& b) {
      operands x{b};
      b.output(b.cast(b.cast(b.scale(x.product(), 0.5), through), dtype::f32));
    });
    REQUIRE(p.forms.size() == 1);
    CHECK(p.plan.kernels.size() == 1);
  }
  const planned p = plan_of([&](nk::builder& b) {  // nothing is rounded
    operands x{b};
    b.output(b.cast(b.scale(x.product(), 0.5), dtype::f32));
  });
  CHECK(p.plan.kernels.size() == 0);
}

TEST_CASE("what cuBLASLt cannot do, or would gain nothing, stays a kernel", "[epilogue]") {
  SECTION("a vector along the other axis") {
    CHECK(plan_of([](nk::builder& b) {
            operands x{b};
            const int y = x.product();
            b.output(b.add(y, x.column()));
          }).epilogues == none);
  }
  SECTION("f64") {
    CHECK(plan_of([](nk::builder& b) {
            operands x{b, dtype::f64};
            const int y = x.product();
            b.output(b.add(y, x.row()));
          }).epilogues == none);
  }
  SECTION("integers") {
    CHECK(plan_of([](nk::builder& b) {
            operands x{b, dtype::i32};
            const int y = x.product();
            b.output(b.add(y, x.row()));
          }).epilogues == none);
  }
  SECTION("the product is a result too, or read by another") {
    for (const bool is_output : {false, true})
      CHECK(plan_of([&](nk::builder& b) {
              operands x{b};
              const int y = x.product();
              b.output(b.add(y, x.row()));
              b.output(is_output ? y : b.reduce(op::sum, y, nk::testing::last_axis));
            }).epilogues == none);
  }
  SECTION("the product is read transposed") {
    CHECK(plan_of([](nk::builder& b) {
            operands x{b};
            const std::int32_t turned[] = {1, 0};
            const int y = b.permute(x.product(), turned);
            b.output(b.add(y, b.expand(x.input({rows}), {columns, rows}, nk::testing::along_rows)));
          }).epilogues == none);
  }
  SECTION("what is added is not there yet, lies otherwise, or is of another dtype") {
    CHECK(plan_of([](nk::builder& b) {
            operands x{b};
            const int y = x.product();
            b.output(b.add(y, x.product()));
          }).epilogues == epilogues{blas_epilogue::none, blas_epilogue::none});
    CHECK(plan_of([](nk::builder& b) {
            operands x{b};
            const std::int32_t turned[] = {1, 0};
            const int y = x.product();
            b.output(b.add(y, b.permute(x.input({columns, rows}), turned)));
          })
              .forms[0]
              .adds == false);
    CHECK(plan_of([](nk::builder& b) {
            operands x{b, dtype::bf16};
            const int y = x.product();
            b.output(b.cast(b.add(b.cast(y, dtype::f32), b.input(5, dtype::f32, result)), dtype::bf16));
          })
              .forms[0]
              .adds == false);
  }
  SECTION("nothing of the sum is stored") {
    CHECK(plan_of([](nk::builder& b) {
            operands x{b};
            const int y = x.product();
            b.output(b.reduce(op::sum, b.unary(op::exp, b.add(y, x.row())), nk::testing::both_axes));
          }).epilogues == none);
  }
  SECTION("several calls") {
    CHECK(plan_of([](nk::builder& b) {
            const int x = b.input(0, dtype::f32, {2, 16, 3, 8}), y = b.input(1, dtype::f32, {2, 24, 3, 8});
            const std::int32_t both[] = {x, y}, labels[] = {0, 1, 2, 4, 0, 3, 2, 4}, to[] = {0, 2, 1, 3},
                               along[] = {-1, -1, -1, 0};
            const int s = b.einsum(both, labels, to);
            b.output(b.add(s, b.expand(b.input(2, dtype::f32, {24}), b.shape_of(s), along)));
          }).epilogues == none);
  }
  SECTION("rows of the auxiliary matrix that are no multiple of 8") {
    for (const std::size_t width : {20u, 24u}) {
      const planned p = plan_graph(two_layers(width).both);
      CHECK((p.forms[0].then == activation::gelu) == (width % 8 == 0));
      CHECK(p.forms[0].adds_vector());  // stored by the product all the same
    }
  }
}

TEST_CASE("in 16 bits a bias of f32 is rounded beside; what a product is cast to is what it stores",
          "[epilogue]") {
  const planned biased = plan_of([](nk::builder& b) {
    operands x{b, dtype::bf16};
    const int y = b.cast(x.product(), dtype::f32);
    const int bias = b.expand(b.input(2, dtype::f32, {columns}), result, nk::testing::along_rows);
    b.output(b.cast(b.add(y, bias), dtype::bf16));
  });
  CHECK(biased.epilogues == epilogues{blas_epilogue::bias});
  CHECK(biased.forms[0].type == dtype::bf16);
  CHECK(biased.forms[0].rounds_vector());
  CHECK(biased.cost.launches == 2);
  constexpr std::size_t to_begin_later = nk::on_cuda::workspace_alignment - nk::passes::alignment;
  CHECK(biased.plan.products[0].workspace ==
        biased.plan.products[0].gemm.workspace + to_begin_later + nk::passes::aligned(2 * columns));

  const planned widened = plan_of([](nk::builder& b) {
    operands x{b, dtype::bf16};
    b.output(b.cast(x.product(), dtype::f32));
  });
  CHECK(widened.forms[0].type == dtype::f32);
  CHECK(widened.plan.products[0].gemm.c.type == dtype::f32);
  CHECK(widened.cost.launches == 1);
  CHECK(widened.cost.bytes.written == 4 * rows * columns);
  CHECK(widened.cost.bytes.read == 2 * (rows * inner + inner * columns));
}
