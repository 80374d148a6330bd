// Products that a graph rounds to 8-bit floats, multiplied as such on a device that is the host: what is handed to
// cuBLASLt, and the numbers that plain loops give.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "napkin/cuda/executor.hpp"
#include "napkin/cuda/memory.hpp"
#include "napkin/cuda/transfer.hpp"
#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/interpret.hpp"
#include "napkin/passes/quantize.hpp"
#include "napkin/passes/verify.hpp"
#include "support/host_kernels.hpp"
#include "support/planned.hpp"
#include "support/run_plan.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::dtype;
using nk::testing::raw_bytes;

namespace {

constexpr std::int32_t along_columns[] = {-1, -1, 0}, all_axes[] = {0, 1, 2};

/// The sum of target * (x w + bias), of parameters w [Inner, Columns] and bias, data x and target, and its
/// gradients of w, bias and x. Inputs 4 on: scales of x, w and the product's adjoint, then their reciprocals.
template <std::size_t Inner>
struct linear {
  static constexpr std::size_t batch = 2, rows = 16, inner = Inner, columns = 64;
  static constexpr nk::graph make_loss() {
    const std::int32_t labels[] = {0, 1, 2, 2, 3}, result[] = {0, 1, 3};
    nk::builder b;
    b.simplify = true;
    const int w = b.input(0, dtype::f32, {inner, columns}), bias = b.input(1, dtype::f32, {columns}),
              x = b.input(2, dtype::f32, {batch, rows, inner}),
              target = b.input(3, dtype::f32, {batch, rows, columns});
    const std::int32_t xs[] = {x, w};
    const int y = b.add(b.einsum(xs, labels, result), b.expand(bias, {batch, rows, columns}, along_columns));
    b.output(b.reduce(nk::op::sum, b.mul(y, target), all_axes));
    return nk::passes::mark_quantized(nk::passes::compute_narrow(b.view(), dtype::bf16), 2);
  }
  static constexpr nk::graph make() {
    const nk::graph loss = make_loss();
    const std::int32_t wanted[] = {0, 1, 2};
    return nk::passes::quantize_products(nk::passes::differentiate(loss.view(), wanted).view(),
                                         loss.nodes.size(), dtype::bf16);
  }
};

/// The dtypes of each product's operands and of its result.
std::vector<std::string> products_of(const nk::graph_view& g) {
  REQUIRE(std::string(nk::passes::verify(g).sentence) == "");
  std::vector<std::string> kinds;
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    if (g[id].kind == nk::op::einsum)
      kinds.push_back(std::string(nk::name_of(g[g.operand(id, 0)].type)) + " " +
                      std::string(nk::name_of(g[g.operand(id, 1)].type)) + " " +
                      std::string(nk::name_of(g[id].type)));
  return kinds;
}
/// Copies of 8 bits, in which axes lie otherwise.
int turned_in(const nk::graph_view& g) {
  int count = 0;
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    count += g[id].kind == nk::op::cast && nk::is_8_bit_float(g[id].type) &&
             g[g.operand(id, 0)].type == g[id].type;
  return count;
}

/// What the plan gives on a device that is the host; as interpret takes and gives.
template <class Make>
std::vector<std::vector<double>> run(nk::testing::host_device& d,
                                     const std::vector<std::vector<double>>& inputs) {
  using plan = on_cuda::frozen_plan<Make>;
  const on_cuda::plan_view p = plan::view();
  const nk::graph_view g = plan::graph();
  const on_cuda::stream on(d.cuda);
  const on_cuda::blas_library blas(d.blas);
  on_cuda::blas_choices choices;
  const on_cuda::device_memory arena(d.cuda, p.peak + 256), noted(d.cuda, sizeof(on_cuda::index_fault));
  std::vector<on_cuda::device_memory> held;
  std::vector<const void*> from;
  std::vector<void*> to;
  for (const std::vector<double>& x : inputs) {
    const raw_bytes bytes = nk::testing::to_bytes(x, dtype::f32);
    held.emplace_back(d.cuda, bytes.size());
    on_cuda::copy_to_device(on, held.back().data(), bytes);
    from.push_back(held.back().data());
  }
  std::vector<raw_bytes> given;
  for (const std::int32_t out : g.output_ids()) {
    given.emplace_back(numel(g.shape_of(out)) * size_of(g[out].type), std::byte{0x7f});
    held.emplace_back(d.cuda, given.back().size());
    to.push_back(held.back().data());
  }
  on_cuda::executor executor(p, on_cuda::compiled_kernels<plan>::table(), arena.data(),
                             reinterpret_cast<on_cuda::index_fault*>(noted.data()), blas, choices);
  executor.bind(from, to);
  executor.choose_by_time(on, choices);
  executor.run(on);
  std::vector<std::vector<double>> values;
  for (std::size_t o = 0; o < given.size(); ++o) {
    on_cuda::copy_to_host(on, given[o], to[o]);
    values.push_back(nk::testing::to_doubles(given[o], g[g.outputs[o]].type));
  }
  return values;
}

/// fast: the forward pass's product is to be added up fast, and no other.
template <class Make>
void compare(bool fast = false) {
  std::vector<std::vector<double>> inputs;
  const auto add = [&](std::size_t count, double most) {
    std::vector<double> x(count);
    for (std::size_t i = 0; i < count; ++i)
      x[i] = static_cast<float>(
          most * std::sin(0.37 * static_cast<double>(i + 1) + static_cast<double>(inputs.size())));
    inputs.push_back(x);
  };
  add(Make::inner * Make::columns, 0.3), add(Make::columns, 1);
  add(Make::batch * Make::rows * Make::inner, 3), add(Make::batch * Make::rows * Make::columns, 0x1p-10);
  for (const double scale : {0x1p7, 0x1p10, 0x1p25}) inputs.push_back({scale});
  for (const double scale : {0x1p-7, 0x1p-10, 0x1p-25}) inputs.push_back({scale});

  const nk::graph g = Make::make();
  const auto expected = nk::interpret(g.view(), inputs, nk::rounding::as_typed);
  nk::testing::host_device d;
  const auto given = run<Make>(d, inputs);
  CHECK(d.cuda.misuse.empty());
  CHECK(d.blas.added_fast * 3 == (fast ? static_cast<int>(d.blas.ran.size()) : 0));
  REQUIRE(given.size() == expected.size());
  for (std::size_t o = 0; o < given.size(); ++o) {
    INFO("output " << o);
    REQUIRE(given[o].size() == expected[o].size());
    double largest = 0;
    for (const double x : expected[o]) largest = std::fmax(largest, std::fabs(x));
    CHECK(largest > 0);
    int far = 0;  // sums in another order may round to the next bf16
    for (std::size_t i = 0; i < given[o].size(); ++i)
      far +=
          !(std::fabs(given[o][i] - expected[o][i]) <= 0x1p-8 * std::fabs(expected[o][i]) + 1e-5 * largest);
    CHECK(far == 0);
  }
}

using by_sixteens = linear<48>;
using odd = linear<40>;

}  // namespace

TEST_CASE(
    "products of 8-bit floats: values by values, adjoints by values, what undoes the scales in the call") {
  const nk::graph_view g = on_cuda::frozen_plan<by_sixteens>::graph();
  CHECK(products_of(g) ==
        std::vector<std::string>{"f8e4m3 f8e4m3 bf16", "f8e5m2 f8e4m3 bf16", "f8e5m2 f8e4m3 bf16"});
  CHECK(turned_in(g) == 3);  // w for the loss, x and the adjoint for w's gradient
  const on_cuda::plan_view p = on_cuda::frozen_plan<by_sixteens>::view();
  REQUIRE(p.count.contractions == 3);
  int with_factors = 0;
  for (std::size_t i = 0; i < p.count.contractions; ++i) {
    const nk::planning::contraction_record& r = p.contractions[i];
    const on_cuda::product& product = p.products[r.product];
    CHECK(product.gemm.possible);
    CHECK((product.gemm.transpose_a && !product.gemm.transpose_b));
    CHECK(product.types().a == (i == 0 ? dtype::f8e4m3 : dtype::f8e5m2));
    CHECK(product.types().b == dtype::f8e4m3);
    CHECK(r.follows.type_of(nk::passes::epilogue_operand::first_factor) == dtype::f32);
    with_factors += r.follows.factors == 2;
  }
  CHECK(with_factors == 2);  // the gradients, which are stored; the loss reads the third at once
  compare<by_sixteens>();
}

TEST_CASE("products of 8-bit floats: where a program asks for it, values by values are added up fast") {
  using fast = nk::planning::with_products<by_sixteens, nk::passes::product_options{.adds_fast = true}>;
  using accurate = on_cuda::frozen_plan<by_sixteens>;
  const on_cuda::plan_view p = on_cuda::frozen_plan<fast>::view(), q = accurate::view();
  REQUIRE(p.count.products == q.count.products);
  CHECK(p.peak == q.peak);
  int added_fast = 0;
  for (std::size_t i = 0; i < p.count.products; ++i) {
    const bool forward = p.products[i].types().a == dtype::f8e4m3;
    CHECK(p.products[i].gemm.compute ==
          (forward ? on_cuda::blas_compute::fast_f32 : on_cuda::blas_compute::f32));
    CHECK(q.products[i].gemm.compute == on_cuda::blas_compute::f32);
    added_fast += forward;
  }
  CHECK(added_fast == 1);
  compare<fast>(true);

  nk::testing::host_device d;
  const on_cuda::blas_library blas(d.blas);
  for (std::size_t i = 0; i < p.count.products; ++i) {  // each with an algorithm of its own
    const std::string in_f32 = on_cuda::blas_call(blas, q.products[i].gemm, {}).key(),
                      as_asked = on_cuda::blas_call(blas, p.products[i].gemm, {}).key();
    CHECK((in_f32 != as_asked) == (p.products[i].types().a == dtype::f8e4m3));
  }
}

TEST_CASE("products of 8-bit floats whose sizes are no multiples of 16 are of what these are widened to") {
  const nk::graph_view g = on_cuda::frozen_plan<odd>::graph();
  CHECK(products_of(g) == std::vector<std::string>(3, "bf16 bf16 bf16"));
  CHECK(turned_in(g) == 0);
  compare<odd>();
}

TEST_CASE("products of 8-bit floats that a program widens itself stay as it says") {
  nk::builder b;
  b.simplify = true;
  const std::int32_t labels[] = {0, 1, 1, 2}, result[] = {0, 2};
  const auto widened = [&b](int slot) {
    return b.cast(b.cast(b.input(slot, dtype::f32, {32, 32}), dtype::f8e4m3), dtype::bf16);
  };
  const std::int32_t xs[] = {widened(0), widened(1)};
  b.output(b.einsum(xs, labels, result));
  const nk::graph g = nk::testing::lowered<on_cuda::target>(b.view());
  CHECK(products_of(g.view()) == std::vector<std::string>{"bf16 bf16 bf16"});
}

TEST_CASE("products of 8-bit floats: a device that has none says which product it lacks") {
  nk::testing::host_device d;
  d.blas.has_8_bits = false;
  std::string said;
  try {
    run<by_sixteens>(d, std::vector<std::vector<double>>(10));
  } catch (const nk::error& e) {
    said = e.what();
  }
  CHECK(said.find("f8e4m3") != said.npos);
  CHECK(said.find("compute capability 8.9") != said.npos);
}
