// What a plan is bound to lies as its kernels and products fetch and store it, or is refused before anything runs.
#include <catch2/catch.hpp>
#include <vector>

#include "napkin/core/error.hpp"
#include "napkin/cuda/executor.hpp"
#include "napkin/cuda/memory.hpp"
#include "support/host_device.hpp"
#include "support/host_interpreter.hpp"
#include "support/planned.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::dtype;

namespace {

/// Binds a graph's plan to memory in which the inputs and outputs begin so many bytes off a multiple of 256.
void bind(const nk::graph& g, std::vector<std::size_t> inputs, std::vector<std::size_t> outputs) {
  const on_cuda::plan p = nk::testing::planned<on_cuda::target>(nk::testing::lowered(g.view()).view());
  const on_cuda::plan_view plan = view_of(p);
  nk::testing::host_device d;
  const on_cuda::blas_library blas(d.blas);
  const on_cuda::device_memory arena(d.cuda, plan.peak + 256), memory(d.cuda, 1 << 16);
  const nk::testing::interpreted_launches kernels(plan);
  on_cuda::blas_choices choices;
  on_cuda::executor executor(plan, kernels.table(), arena.data(), nullptr, blas, choices);
  std::vector<const void*> from;
  std::vector<void*> to;
  for (const std::size_t off : inputs) from.push_back(memory.data() + from.size() * 4096 + off);
  for (const std::size_t off : outputs) to.push_back(memory.data() + (from.size() + to.size()) * 4096 + off);
  executor.bind(from, to);
}
nk::graph squares(dtype type, std::size_t rows, std::size_t columns) {
  nk::builder b;
  const int x = b.input(0, type, {rows, columns});
  b.output(b.mul(x, x));
  return b.take();
}

}  // namespace

TEST_CASE("a plan is bound to addresses from which several elements move at once", "[cuda]") {
  const nk::graph of_f32 = squares(dtype::f32, 4, 12), of_i8 = squares(dtype::i8, 1, 12);
  CHECK_NOTHROW(bind(of_f32, {16}, {48}));
  CHECK_THROWS_WITH(bind(of_f32, {4}, {0}), "input 0 of a plan lies at an address that is no multiple of 16");
  CHECK_THROWS_WITH(bind(of_f32, {0}, {8}),
                    "output 0 of a plan lies at an address that is no multiple of 16");
  CHECK_NOTHROW(bind(of_i8, {4}, {8}));  // four at once
  CHECK_THROWS_AS(bind(of_i8, {2}, {0}), nk::error);
  CHECK_NOTHROW(bind(squares(dtype::f32, 1, 13), {4}, {8}));  // one at once
}

TEST_CASE("a product's operands and result lie as cuBLASLt was told", "[cuda]") {
  nk::builder b;
  const std::int32_t both[] = {b.input(0, dtype::f32, {5, 7}), b.input(1, dtype::f32, {7, 3})},
                     labels[] = {0, 1, 1, 2}, result[] = {0, 2};
  b.output(b.einsum(both, labels, result));
  const nk::graph g = b.take();
  CHECK_NOTHROW(bind(g, {16, 32}, {48}));
  CHECK_THROWS_WITH(bind(g, {0, 4}, {0}), "input 1 of a plan lies at an address that is no multiple of 16");
  CHECK_THROWS_WITH(bind(g, {0, 0}, {4}), "output 0 of a plan lies at an address that is no multiple of 16");
}
