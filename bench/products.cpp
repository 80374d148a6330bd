// Matrix products in f32 and bf16 by `contract`, on one thread: of a training step (layers forward, gradients of
// weights and of inputs), square ones and one of few rows. products.py has PyTorch's beside them.
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <napkin/core/random.hpp>
#include <napkin/cpu/gemm.hpp>
#include <napkin/cpu/threads.hpp>
#include <string>
#include <vector>

namespace nk = napkin;

namespace {

/// c(m, n) = sum over k of a(m, k) * b(k, n), row-major but where transposed.
struct product {
  std::size_t m, k, n;
  bool a_transposed = false, b_transposed = false;

  std::string name() const {
    return std::to_string(m) + "," + std::to_string(k) + "," + std::to_string(n) +
           (a_transposed ? ",t" : ",n") + (b_transposed ? ",t" : ",n");
  }
};
const product products[] = {{2048, 128, 352},  {128, 2048, 352, true},  {2048, 352, 128, false, true},
                            {2048, 768, 3072}, {768, 2048, 3072, true}, {2048, 3072, 768, false, true},
                            {256, 256, 256},   {1024, 1024, 1024},      {8, 768, 768}};

struct matrix {
  std::array<std::int32_t, 2> labels;
  nk::shape sizes;
  nk::stride_list strides;

  matrix(std::int32_t row, std::int32_t column, std::size_t rows, std::size_t columns, bool transposed)
      : labels{row, column}, sizes{rows, columns} {
    strides.push_back(transposed ? 1 : static_cast<std::ptrdiff_t>(columns));
    strides.push_back(transposed ? static_cast<std::ptrdiff_t>(rows) : 1);
  }
  nk::on_cpu::contraction_operand operand() const {
    return {nk::ids(labels.data(), labels.size()), sizes, strides};
  }
};

template <class T>
std::vector<T> numbers(std::size_t count, const char* name) {
  std::vector<T> made(count);
  const nk::random_stream stream = nk::stream_of(1, name);
  for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<T>(nk::normal<float>(stream, i));
  return made;
}

template <class T>
void multiply(benchmark::State& state, const product& p) {
  const nk::on_cpu::contraction_plan plan = nk::on_cpu::plan_contraction(
      nk::dtype_of<T>, matrix(0, 1, p.m, p.k, p.a_transposed).operand(),
      matrix(1, 2, p.k, p.n, p.b_transposed).operand(), matrix(0, 2, p.m, p.n, false).operand());
  const std::vector<T> a = numbers<T>(p.m * p.k, "a"), b = numbers<T>(p.k * p.n, "b");
  std::vector<T> c(p.m * p.n);
  struct alignas(64) line {
    std::byte bytes[64];
  };
  const auto workspace = std::make_unique<line[]>(plan.workspace / sizeof(line) + 1);
  for (auto _ : state) nk::on_cpu::contract(plan, a.data(), b.data(), c.data(), workspace.get());
}

}  // namespace

int main(int count, char** arguments) {
  nk::on_cpu::set_threads(1);
  for (const product& p : products) {
    const auto add = [&](const std::string& type, auto* run) {
      benchmark::RegisterBenchmark((type + "/" + p.name()).c_str(), run, p)
          ->Repetitions(5)
          ->ReportAggregatesOnly();
    };
    add("f32", &multiply<float>);
    add("bf16", &multiply<nk::bf16>);
  }
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
