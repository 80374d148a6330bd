// What the training loop costs beside the step's kernels: checks, batches, dispatch, the log and the display,
// as a share of the default example's step (bar: 1%). Kernels have clocks of their own while it is measured,
// which count as loop.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <napkin/train/corpus.hpp>
#include <napkin/train/finite.hpp>
#include <napkin/train/prefetch.hpp>
#include <napkin/train/progress.hpp>
#include <napkin/train/run_log.hpp>
#include <napkin/train/trainer.hpp>
#include <numeric>
#include <vector>

#include "language_model.hpp"

namespace nk = napkin;

namespace {

using benchmarked::step;

struct folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / "napkin_bench_loop";
  folder() { std::filesystem::create_directories(path); }
  ~folder() { std::filesystem::remove_all(path); }
};

double since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Of steps, as other programs take the processor away in some of them.
double median(std::vector<double>& of) {
  const auto half = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::nth_element(of.begin(), half, of.end());
  return *half;
}

/// The loop of examples/train_lm.cpp, on a text of random bytes in a thousand files.
void loop(benchmark::State& state) {
  const folder place;
  constexpr std::size_t files = 1000, bytes = 10'000;
  for (std::size_t f = 0; f < files; ++f) {
    std::string text(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i)
      text[i] = static_cast<char>(nk::integer(nk::stream_of(f, "text"), i, 256));
    std::ofstream(place.path / ("text" + std::to_string(f)), std::ios::binary) << text;
  }
  const nk::corpus text = nk::open_corpus(nk::posix_file_system(), place.path, benchmarked::vocabulary);
  nk::batch_prefetcher batches(text.train, benchmarked::batch, benchmarked::seq, {1, 0});
  nk::trainer<step> trainer(nk::seed{1});
  const nk::step_work work = nk::work_of<step>(nullptr);
  nk::run_log log(nk::posix_file_system(), {place.path / "log.jsonl", place.path / "curves"},
                  {"bench_loop", 0, 1000, 0, "", work, {}});
  std::FILE* const nowhere = std::fopen("/dev/null", "w");
  if (nowhere == nullptr) return state.SkipWithError("cannot open /dev/null");
  nk::progress display(0, 1000, work, {.to = nowhere});

  std::vector<double> kernels(nk::trainer<step>::timed_kernels);
  std::vector<double> shares, outside, waiting, telling;  // by step
  nk::step_clock clock;
  const auto one = [&] {
    const auto begin = std::chrono::steady_clock::now();
    const nk::token_batch b = batches.next();
    waiting.push_back(since(begin));
    const nk::step_result r = trainer.step_timed(kernels, 1e-3, b.tokens, b.targets);
    nk::require_applied(trainer, r);
    const nk::step_made made{trainer.steps(), static_cast<double>(r.loss), r.norm, r.rate, clock.lap()};
    const auto made_at = std::chrono::steady_clock::now();
    log.step(made);
    display.update(made);
    telling.push_back(since(made_at));
    const double all = since(begin);
    outside.push_back(all - std::accumulate(kernels.begin(), kernels.end(), 0.0));
    shares.push_back(outside.back() / all);
  };
  for (int i = 0; i < 3; ++i) one();  // caches and threads
  for (std::vector<double>* of : {&shares, &outside, &waiting, &telling}) of->clear();
  for (auto _ : state) one();
  std::fclose(nowhere);

  state.counters["outside kernels, %"] = 100 * median(shares);
  state.counters["outside, us"] = 1e6 * median(outside);
  state.counters["batch, us"] = 1e6 * median(waiting);
  state.counters["log and display, us"] = 1e6 * median(telling);
}
BENCHMARK(loop)->UseRealTime()->Unit(benchmark::kMillisecond)->Iterations(50);

}  // namespace

BENCHMARK_MAIN();
