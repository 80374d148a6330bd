// Suite S16: a run that stops at any of its steps and goes on from its checkpoint has the bits of a run that
// did not stop: losses, parameters, the optimizer's states.
#include <catch2/catch.hpp>
#include <cstdio>

#include "memory_files.hpp"
#include "small_text.hpp"
#include "support/compare.hpp"
#include "support/temporary_folder.hpp"
#include "trained.hpp"

namespace nk = napkin;

namespace {

constexpr int steps = 50;

class stopped_runs {
 public:
  explicit stopped_runs(trained_by optimizer) : optimizer_(optimizer) {
    const auto run = make_trained(optimizer_, text_, 7);
    for (int i = 0; i < steps; ++i) losses_.push_back(run->step());
    everything_ = run->everything();
  }

  /// Stop after each of these steps, as a process would: nothing is left but the checkpoint.
  void check(const std::vector<int>& stops) {
    memory_files disk;
    nk::checkpoint_folder folder(disk, "/out");
    std::vector<float> losses;
    // Another seed's parameters and batches, which must not matter.
    std::uint64_t seed = 7;
    auto run = make_trained(optimizer_, text_, seed);
    for (const int stop : stops) {
      while (run->steps() < stop) losses.push_back(run->step());
      run->save(folder);
      run = make_trained(optimizer_, text_, ++seed);
      run->step();
      const nk::resumed_run found = run->load(folder);
      REQUIRE(found.passed_over.empty());
      REQUIRE(run->steps() == stop);
      REQUIRE(found.state.sampler.step == static_cast<std::uint64_t>(stop));
    }
    while (run->steps() < steps) losses.push_back(run->step());
    CHECK(nk::testing::same_bits(losses, losses_));
    CHECK(nk::testing::same_bits(run->everything(), everything_));
  }

 private:
  // Short files, so that many a window spans the border of two.
  static std::vector<std::string> write_shards(const temporary_folder& folder) {
    std::vector<std::string> paths;
    const std::string text = small_text();
    for (std::size_t at = 0; at < text.size(); at += 61)
      paths.push_back(folder.write("shard" + std::to_string(at), text.substr(at, 61)));
    return paths;
  }

  trained_by optimizer_;
  temporary_folder texts_;
  nk::token_source text_ = source_of(write_shards(texts_));
  std::vector<float> losses_, everything_;
};

}  // namespace

TEST_CASE("resume: stopped at every step from 1 to 50, and ten times in a row") {
  std::size_t cases = 0;
  for (const trained_by optimizer : {trained_by::adamw, trained_by::momentum, trained_by::muon}) {
    stopped_runs runs(optimizer);
    for (int stop = 1; stop <= steps; ++stop, ++cases) runs.check({stop});
    for (int first = 1; first <= 10; ++first, ++cases) {
      std::vector<int> stops;
      for (int k = 0; k < 10; ++k) stops.push_back(first + 4 * k);
      runs.check(stops);
    }
  }
  std::printf("resume: %zu runs, stopped and gone on with\n", cases);
}
