// A program that trains the benchmarks' model for one step; with -DACCOUNTED one that also asserts what the
// step costs, in each way that can be asked; with -DBUDGET one whose step takes seven tenths of the memory. What
// these take the compiler longer is what accounting is, and what finding out what to make again is.
#include <cstdint>
#include <napkin/train/trainer.hpp>
#include <vector>

#include "../language_model.hpp"

#if defined(ACCOUNTED)
#include <napkin/cost/devices.hpp>
#include <napkin/cost/time.hpp>
#include <napkin/train/checkpoint_bytes.hpp>
#include <napkin/train/fits.hpp>

using benchmarked::step;
static_assert(step::cost.flops.matmul > 3 * step::cost.forward.flops.matmul / 2);
static_assert(step::cost.bytes.read > step::memory.parameters && step::cost.launches > 0);
static_assert(step::memory.peak < 200 * 1024 * 1024 && step::memory.activations < step::memory.intermediates);
static_assert(napkin::time_on<napkin::h100_sxm, step>.seconds < 0.001);
static_assert(napkin::fits<napkin::h100_sxm, step> && napkin::checkpoint_bytes<step> > 0);
#endif

#if defined(BUDGET)
using trained = napkin::train_step<benchmarked::step::model, napkin::adamw,
                                   napkin::recompute_to_fit<benchmarked::step::memory.peak * 7 / 10>>;
#else
using trained = benchmarked::step;
#endif

int main() {
  napkin::trainer<trained> trainer(napkin::seed{1});
  const std::vector<std::uint16_t> text(benchmarked::batch * benchmarked::seq);
  return trainer.step(1e-3, text, text).applied ? 0 : 1;
}
