// Writing text by the training program's model: a token by the cache of keys and values, beside a token by
// the whole window.
#include <benchmark/benchmark.h>

#include <napkin/train/generate.hpp>
#include <napkin/train/trainer.hpp>

#include "language_model.hpp"

namespace nk = napkin;

namespace {

using benchmarked::writer;
static_assert(nk::cached_reader<writer>::cost.flops.matmul < 3'000'000);  // as docs/training.md says

template <class Reader>
void write(benchmark::State& state) {
  nk::trainer<nk::train_step<writer, nk::adamw>> trainer(nk::seed{1});
  nk::generator<writer, Reader> write(trainer.value_pointers());
  const std::vector<std::uint16_t> prompt = {10};
  constexpr std::size_t tokens = benchmarked::seq - 1;  // the window is never full
  for (auto _ : state)
    write(prompt, tokens, {}, nk::stream_of(1, "sample"),
          [](std::uint16_t token) { benchmark::DoNotOptimize(token); });
  state.counters["tokens/s"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(tokens), benchmark::Counter::kIsRate);
  state.counters["FLOP a call"] = static_cast<double>(Reader::cost.flops.matmul);
}
void median_of_five(benchmark::internal::Benchmark* of) {
  of->UseRealTime()->Repetitions(5)->ReportAggregatesOnly()->Unit(benchmark::kMillisecond);
}
BENCHMARK_TEMPLATE(write, nk::cached_reader<writer>)->Apply(median_of_five);
BENCHMARK_TEMPLATE(write, nk::window_reader<writer>)->Apply(median_of_five);

}  // namespace

BENCHMARK_MAIN();
