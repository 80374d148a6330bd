// Contractions in a build with NAPKIN_ONEDNN: which of them call oneDNN, once for each of the plan's blocks;
// right sums; the same bits with any number of threads. The folder's program also runs those tests of
// unit/cpu that hold whoever multiplies.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gemm_onednn.hpp"
#include "napkin/core/random.hpp"
#include "napkin/cpu/gemm.hpp"
#include "napkin/cpu/threads.hpp"
#include "support/compare.hpp"
#include "support/skip.hpp"

namespace nk = napkin;
using nk::on_cpu::contraction_plan;
using nk::on_cpu::detail::onednn_calls;

namespace {

/// A batch of matrices of fractions, columns adjacent unless transposed.
template <class T>
struct matrices {
  nk::shape sizes;
  nk::stride_list strides;
  std::vector<T> elements;

  /// `step`: from one column (transposed: row) to the next. `gap`: unused elements after each line.
  matrices(std::size_t batch, std::size_t rows, std::size_t columns, bool transposed = false,
           std::size_t gap = 0, std::size_t step = 1)
      : sizes{batch, rows, columns} {
    const std::size_t line = (transposed ? rows : columns) * step + gap;
    const std::size_t size = line * (transposed ? columns : rows);
    for (std::size_t s : {size, transposed ? step : line, transposed ? line : step})
      strides.push_back(static_cast<std::ptrdiff_t>(s));
    elements.resize(batch * size);
    const nk::random_stream stream = nk::stream_of(1, "fractions");
    for (std::size_t i = 0; i < elements.size(); ++i)
      elements[i] = static_cast<T>(nk::integer(stream, i, 2001)) / T{1000} - T{1};
  }
  const T& at(std::size_t e, std::size_t row, std::size_t column) const {
    const auto by = [&](std::size_t axis) { return static_cast<std::size_t>(strides[axis]); };
    return elements[e * by(0) + row * by(1) + column * by(2)];
  }
};

constexpr std::int32_t in_a[] = {0, 1, 3}, in_b[] = {0, 3, 2}, in_c[] = {0, 1, 2};

/// Contracts with 1, 2, 3 and 16 threads, with an epilogue where the plan can have one; returns how many
/// calls of oneDNN each of them made.
template <class T>
std::size_t calls_of(const contraction_plan& plan, const matrices<T>& a, const matrices<T>& b,
                     matrices<T> c) {
  struct alignas(64) line {
    std::byte bytes[64];
  };
  std::vector<line> workspace(plan.workspace / sizeof(line) + 1);
  std::vector<T> first;
  std::size_t calls_of_one = 0;
  const std::size_t before = nk::on_cpu::threads();
  for (const std::size_t threads : {1u, 2u, 3u, 16u}) {
    INFO(threads << " threads");
    nk::on_cpu::set_threads(threads);
    std::fill(c.elements.begin(), c.elements.end(), static_cast<T>(77));
    std::vector<std::atomic<int>> given(plan.blocks_are_contiguous() ? c.elements.size() : 0);
    const auto epilogue = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++given[i];
    };
    const std::size_t calls_before = onednn_calls();
    nk::on_cpu::contract(
        plan, a.elements.data(), b.elements.data(), c.elements.data(), workspace.data(),
        given.empty() ? nk::on_cpu::contraction_epilogue{} : nk::on_cpu::contraction_epilogue{epilogue});
    const std::size_t calls = onednn_calls() - calls_before;
    if (threads == 1) first = c.elements, calls_of_one = calls;
    CHECK(calls == calls_of_one);
    CHECK(nk::testing::same_bits(c.elements, first));
    CHECK(std::all_of(given.begin(), given.end(), [](const std::atomic<int>& times) { return times == 1; }));
  }
  nk::on_cpu::set_threads(before);

  std::size_t wrong = 0;
  for (std::size_t e = 0; e < c.sizes[0]; ++e)
    for (std::size_t i = 0; i < c.sizes[1]; ++i)
      for (std::size_t j = 0; j < c.sizes[2]; ++j) {
        double sum = 0, magnitude = 0;
        for (std::size_t k = 0; k < a.sizes[2]; ++k) {
          const double term = static_cast<double>(a.at(e, i, k)) * static_cast<double>(b.at(e, k, j));
          sum += term, magnitude += std::abs(term);
        }
        wrong += !(std::abs(static_cast<double>(c.at(e, i, j)) - sum) <= 1e-5 * magnitude);
      }
  CHECK(wrong == 0);
  return calls_of_one;
}

template <class T>
contraction_plan plan_of(const matrices<T>& a, const matrices<T>& b, const matrices<T>& c) {
  return nk::on_cpu::plan_contraction(nk::dtype_of<T>, {in_a, a.sizes, a.strides}, {in_b, b.sizes, b.strides},
                                      {in_c, c.sizes, c.strides});
}

}  // namespace

TEST_CASE("oneDNN: a call for each of the plan's blocks, whatever the number of threads", "[onednn]") {
  struct product {
    std::size_t batch, m, n, k;
  };
  const product cases[] = {
      {1, 300, 190, 70}, {1, 96, 200, 500}, {1, 8, 8, 30'000}, {24, 64, 48, 32}, {1, 5, 1, 9}};
  std::size_t epilogues = 0, most_tasks = 0, most_sums = 0;
  for (const product& x : cases)
    for (const bool a_transposed : {false, true})
      for (const bool b_transposed : {false, true})
        for (const std::size_t gap : {0u, 3u}) {  // 3: as parts of larger matrices
          const matrices<float> a(x.batch, x.m, x.k, a_transposed, gap),
              b(x.batch, x.k, x.n, b_transposed, gap), c(x.batch, x.m, x.n);
          const contraction_plan plan = plan_of(a, b, c);
          INFO(x.batch << " x " << x.m << " x " << x.n << " x " << x.k << ", transposed " << a_transposed
                       << b_transposed << ", gap " << gap);
          CHECK(calls_of(plan, a, b, c) ==
                plan.batch_size() * plan.m_blocks() * plan.n_blocks() * plan.k_blocks());
          epilogues += plan.blocks_are_contiguous();
          most_tasks = std::max(most_tasks, plan.tasks());
          most_sums = std::max(most_sums, plan.k_blocks());
        }
  CHECK(epilogues > 0);
  CHECK(most_tasks > 1);
  CHECK(most_sums > 1);
}

TEST_CASE("oneDNN: what it does not take is done by tiles", "[onednn]") {
  const matrices<double> a(1, 60, 40), b(1, 40, 50), c(1, 60, 50);
  CHECK(calls_of(plan_of(a, b, c), a, b, c) == 0);
  const matrices<float> sparse(1, 60, 40, false, 0, 2), dense(1, 40, 50), to(1, 60, 50);
  CHECK(calls_of(plan_of(sparse, dense, to), sparse, dense, to) == 0);
}

TEST_CASE("oneDNN: one thread, the same bits, however many OpenMP would give it", "[onednn]") {
  const auto get = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  const auto set = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (get == nullptr || set == nullptr) SKIP("this oneDNN has no threads");
  const std::size_t threads_before = nk::on_cpu::threads();
  const int before = get();
  nk::on_cpu::set_threads(1);  // all calls are this thread's, whose setting it is
  for (const std::size_t k : {700u, 8'000u}) {
    const matrices<float> a(1, 24, k), b(1, k, 40);
    matrices<float> c(1, 24, 40);
    const contraction_plan plan = plan_of(a, b, c);
    std::vector<float> first, workspace(plan.workspace / sizeof(float) + 16);
    for (const int threads : {1, 2, 3, 16}) {
      INFO("k is " << k << ", " << threads << " threads of OpenMP");
      set(threads);
      std::size_t space = workspace.size() * sizeof(float);
      void* at = workspace.data();
      nk::on_cpu::contract(plan, a.elements.data(), b.elements.data(), c.elements.data(),
                           std::align(64, plan.workspace, at, space));
      if (threads == 1) first = c.elements;
      CHECK(nk::testing::same_bits(c.elements, first));
      CHECK(get() == threads);
    }
  }
  set(before);
  nk::on_cpu::set_threads(threads_before);
}
