// A step of the training program's model, by what it is computed in, length of its sequences and number of threads:
// its time, tokens a second, and the FLOPs that it executes a second.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <napkin/cpu/threads.hpp>
#include <napkin/train/step_report.hpp>
#include <napkin/train/trainer.hpp>
#include <vector>

#include "language_model.hpp"

namespace nk = napkin;

namespace {

constexpr std::size_t tokens_a_step = benchmarked::batch * benchmarked::seq;

template <std::size_t Seq, class Compute>
void train(benchmark::State& state) {
  using step = benchmarked::step_of<tokens_a_step / Seq, Seq, Compute>;
  nk::on_cpu::set_threads(static_cast<std::size_t>(state.range(0)));
  nk::trainer<step> trainer(nk::seed{1});
  std::vector<std::uint16_t> tokens(tokens_a_step), targets(tokens_a_step);
  const nk::random_stream stream = nk::stream_of(1, "tokens");
  for (std::size_t i = 0; i < tokens_a_step; ++i) {
    tokens[i] = static_cast<std::uint16_t>(nk::integer(stream, i, benchmarked::vocabulary));
    targets[i] = static_cast<std::uint16_t>(nk::integer(stream, i + 1, benchmarked::vocabulary));
  }
  for (auto _ : state) benchmark::DoNotOptimize(trainer.step(1e-3, tokens, targets));

  const auto steps = static_cast<double>(state.iterations());
  using benchmark::Counter;
  state.counters["tokens/s"] = Counter(steps * static_cast<double>(tokens_a_step), Counter::kIsRate);
  state.counters["FLOP/s"] = Counter(steps * static_cast<double>(nk::step_flops<step>()), Counter::kIsRate);
}
// Wall time: the work is done by the pool's threads. The median of five.
void settings(benchmark::internal::Benchmark* of) {
  of->Arg(1)->Arg(2)->ArgName("threads")->UseRealTime()->Repetitions(5)->ReportAggregatesOnly()->Unit(
      benchmark::kMillisecond);
}
BENCHMARK(train<128, nk::f32>)->Name("train/f32/seq:128")->Apply(settings);
BENCHMARK(train<1024, nk::f32>)->Name("train/f32/seq:1024")->Apply(settings);
BENCHMARK(train<128, nk::bf16>)->Name("train/bf16/seq:128")->Apply(settings);
BENCHMARK(train<1024, nk::bf16>)->Name("train/bf16/seq:1024")->Apply(settings);

}  // namespace

BENCHMARK_MAIN();
