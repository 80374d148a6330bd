// Matrix products of a training step, and larger ones, by `contract` and by oneDNN's sgemm in turns: GFLOP/s
// of both and their ratio, by medians. oneDNN runs in blocks of rows, or products of a batch, on napkin's
// threads: on two of its own it was slower or as fast.
#include <benchmark/benchmark.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <napkin/core/random.hpp>
#include <napkin/cpu/gemm.hpp>
#include <napkin/cpu/threads.hpp>
#include <string>
#include <vector>

namespace nk = napkin;

namespace {

/// c(batch, m, n) = sum over k of a(batch, m, k) * b(batch, k, n), row-major but where transposed.
struct product {
  std::size_t batch, m, k, n;
  bool a_transposed, b_transposed;

  double flops() const { return 2.0 * static_cast<double>(batch * m * k * n); }
  std::string name() const {
    const auto text = [](std::size_t size) { return std::to_string(size); };
    return (batch > 1 ? text(batch) + "x" : "") + text(m) + "," + text(k) + "," + text(n) +
           (a_transposed ? " A^T" : "") + (b_transposed ? " B^T" : "");
  }
};

// The training program's: layers forward, gradients of weights, gradients of inputs, attention. Then others.
const product products[] = {
    {1, 2048, 128, 128, false, false}, {1, 2048, 128, 352, false, false}, {1, 2048, 352, 128, false, false},
    {1, 128, 2048, 128, true, false},  {1, 128, 2048, 352, true, false},  {1, 2048, 352, 128, false, true},
    {1, 2048, 128, 256, false, true},  {64, 128, 32, 128, false, true},   {64, 128, 128, 32, false, false},
    {64, 128, 128, 32, true, false},   {1, 1024, 192, 768, false, false}, {1, 1024, 768, 192, false, false},
    {1, 192, 768, 1024, false, true},  {1, 2048, 256, 256, false, false}, {1, 1024, 1024, 1024, false, false},
};

constexpr std::int32_t labels_of_a[] = {0, 1, 2}, labels_of_b[] = {0, 2, 3}, labels_of_c[] = {0, 1, 3};

nk::on_cpu::contraction_operand operand(nk::ids labels, std::size_t batch, std::size_t rows,
                                        std::size_t columns, bool transposed) {
  nk::on_cpu::contraction_operand made;
  made.labels = labels;
  for (std::size_t size : {batch, rows, columns}) made.sizes.push_back(size);
  for (std::size_t stride : {rows * columns, transposed ? 1 : columns, transposed ? rows : 1})
    made.strides.push_back(static_cast<std::ptrdiff_t>(stride));
  return made;
}

std::vector<float> numbers(std::size_t count, const char* name) {
  std::vector<float> made(count);
  const nk::random_stream stream = nk::stream_of(1, name);
  for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<float>(nk::integer(stream, i, 1000)) / 1000;
  return made;
}

void sgemm(const product& p, std::size_t element, std::size_t first, std::size_t rows, const float* a,
           const float* b, float* c) {
  const auto size = [](std::size_t n) { return static_cast<dnnl_dim_t>(n); };
  const float* const from = a + element * p.m * p.k + first * (p.a_transposed ? 1 : p.k);
  if (dnnl_sgemm(p.a_transposed ? 'T' : 'N', p.b_transposed ? 'T' : 'N', size(rows), size(p.n), size(p.k), 1,
                 from, size(p.a_transposed ? p.m : p.k), b + element * p.k * p.n,
                 size(p.b_transposed ? p.k : p.n), 0, c + (element * p.m + first) * p.n,
                 size(p.n)) != dnnl_success)
    std::abort();
}

void by_onednn(const product& p, const float* a, const float* b, float* c) {
  const std::size_t blocks = p.batch > 1 ? p.batch : nk::on_cpu::threads();
  nk::on_cpu::parallel_for(blocks, [&](std::size_t i) {
    omp_set_num_threads(1);  // of this thread
    if (p.batch > 1) return sgemm(p, i, 0, p.m, a, b, c);
    const std::size_t first = i * p.m / blocks, last = (i + 1) * p.m / blocks;
    sgemm(p, 0, first, last - first, a, b, c);
  });
}

void compare(benchmark::State& state, product p, std::size_t threads) {
  nk::on_cpu::set_threads(threads);
  const nk::on_cpu::contraction_plan plan = nk::on_cpu::plan_contraction(
      nk::dtype::f32, operand(nk::ids(labels_of_a), p.batch, p.m, p.k, p.a_transposed),
      operand(nk::ids(labels_of_b), p.batch, p.k, p.n, p.b_transposed),
      operand(nk::ids(labels_of_c), p.batch, p.m, p.n, false));
  const std::vector<float> a = numbers(p.batch * p.m * p.k, "a"), b = numbers(p.batch * p.k * p.n, "b");
  std::vector<float> c(p.batch * p.m * p.n), other = c;
  void* const workspace = std::aligned_alloc(64, plan.workspace / 64 * 64 + 64);

  const auto repeats =
      static_cast<std::size_t>(std::max(1.0, 2e8 * static_cast<double>(threads) / p.flops()));
  const auto seconds = [&](auto&& work) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < repeats; ++i) work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() /
           static_cast<double>(repeats);
  };
  const auto ours = [&] { nk::on_cpu::contract(plan, a.data(), b.data(), c.data(), workspace); };
  const auto theirs = [&] { by_onednn(p, a.data(), b.data(), other.data()); };
  ours(), theirs();
  for (std::size_t i = 0; i < c.size(); ++i)
    if (!(std::abs(c[i] - other[i]) <= 1e-4f * static_cast<float>(p.k))) state.SkipWithError("they differ");

  std::vector<double> mine, its;
  for (auto _ : state) {
    mine.push_back(seconds(ours));
    state.SetIterationTime(mine.back());
    its.push_back(seconds(theirs));
  }
  std::free(workspace);
  if (mine.empty()) return;
  const auto median = [](std::vector<double>& times) {
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  };
  const double own = median(mine), peers = median(its);
  state.counters["GFLOP/s"] = p.flops() / own * 1e-9;
  state.counters["oneDNN"] = p.flops() / peers * 1e-9;
  state.counters["ratio"] = peers / own;
}

}  // namespace

int main(int count, char** arguments) {
  for (std::size_t threads : {1, 2})
    for (const product& p : products)
      benchmark::RegisterBenchmark((p.name() + "/threads:" + std::to_string(threads)).c_str(), compare, p,
                                   threads)
          ->UseManualTime()
          ->Unit(benchmark::kMicrosecond)
          ->Iterations(31);
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
