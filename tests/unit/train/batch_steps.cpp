// Which batch a step is made of after one that failed, and which batches are said to have been used: by
// trainers that write down what they are given. tests/device_on_host/batch_steps.cpp has real ones.
#include "napkin/train/batch_steps.hpp"

#include <catch2/catch.hpp>
#include <new>
#include <stdexcept>
#include <vector>

#include "support/temporary_folder.hpp"

namespace nk = napkin;

namespace {

constexpr std::size_t rows = 1, time_steps = 4;
constexpr auto nothing = [] {};
using numbers = std::vector<std::uint16_t>;

/// Takes rates above 0.
struct host_trainer {
  std::vector<numbers> made;
  bool takes_data = true;

  nk::step_result step(double rate, std::span<const std::uint16_t> tokens, std::span<const std::uint16_t>) {
    if (!takes_data) throw nk::input_error("no batch of the model's");
    if (!(rate > 0)) throw nk::error("the rate");
    made.emplace_back(tokens.begin(), tokens.end());
    return {};
  }
  nk::step_result step_timed(std::span<double>, double rate, std::span<const std::uint16_t> tokens,
                             std::span<const std::uint16_t> targets) {
    return step(rate, tokens, targets);
  }
};

/// The same, taken apart as a GPU's is.
struct device_trainer {
  std::vector<numbers> made, staged;
  int stages_until_failure = -1;  // -1: none fails
  bool launched = false, takes_data = true;

  void stage(std::span<const std::uint16_t> tokens, std::span<const std::uint16_t>) {
    if (!takes_data) throw nk::input_error("no batch of the model's");
    if (stages_until_failure-- == 0) throw std::bad_alloc();
    staged.emplace_back(tokens.begin(), tokens.end());
  }
  void launch(double rate, std::span<double>) {
    CHECK_FALSE(launched);
    if (!(rate > 0)) throw nk::error("the rate");
    made.push_back(staged.front());
    staged.erase(staged.begin());
    launched = true;
  }
  nk::step_result wait() {
    CHECK(launched);
    launched = false;
    return {};
  }
};

/// A text of which no two windows are alike, and the batches that a run without failures has.
struct text {
  temporary_folder folder;
  nk::token_source source{nk::posix_file_system(),
                          "the text",
                          {nk::find_bytes(nk::posix_file_system(), folder.write("f", letters()))},
                          256};
  nk::batch_prefetcher batches{source, rows, time_steps, {5, 40}};

  static std::string letters() {
    std::string all;
    for (int i = 0; i < 200; ++i) all += static_cast<char>(i);
    return all;
  }
  std::vector<numbers> first(std::size_t count) const {
    nk::batch_prefetcher all(source, rows, time_steps, {5, 40});
    std::vector<numbers> list;
    for (std::size_t n = 0; n < count; ++n) {
      const nk::token_batch b = all.next();
      list.emplace_back(b.tokens.begin(), b.tokens.end());
    }
    return list;
  }
};

}  // namespace

TEST_CASE("batch steps on the CPU: a batch that no step was made of is the next step's, and is not counted") {
  text t;
  host_trainer trainer;
  nk::batch_steps steps(trainer, t.batches);
  steps.step(1, {}, nothing);
  CHECK(steps.state() == nk::sampler_state{5, 41});
  CHECK_THROWS_AS(steps.step(0, {}, nothing), nk::error);
  CHECK(steps.state() == nk::sampler_state{5, 41});
  CHECK_THROWS_AS(steps.step(1, {}, [] { throw nk::system_error("the disk is full"); }), nk::system_error);
  CHECK_THROWS_AS(steps.step(1, {}, [] { throw nk::input_error("another file"); }), nk::input_error);
  CHECK(steps.state() == nk::sampler_state{5, 41});
  std::vector<double> kernels(1);
  steps.step(1, kernels, nothing);
  CHECK(steps.state() == nk::sampler_state{5, 42});
  CHECK(trainer.made == t.first(2));
}

TEST_CASE("batch steps on the CPU: one that is none of the model's is passed over") {
  text t;
  host_trainer trainer;
  nk::batch_steps steps(trainer, t.batches);
  trainer.takes_data = false;
  CHECK_THROWS_AS(steps.step(1, {}, nothing), nk::input_error);
  CHECK(steps.state() == nk::sampler_state{5, 40});
  trainer.takes_data = true;
  steps.step(1, {}, nothing);
  CHECK(steps.state() == nk::sampler_state{5, 42});
  CHECK(trainer.made == std::vector<numbers>{t.first(2).back()});
}

TEST_CASE("batch steps on a GPU: a launched step is waited for whatever staging the next batch throws") {
  text t;
  device_trainer trainer;
  trainer.stages_until_failure = 2;  // of the third batch
  nk::batch_steps steps(trainer, t.batches);
  steps.step(1, {}, nothing);
  CHECK_THROWS_AS(steps.step(1, {}, nothing), std::bad_alloc);
  CHECK_FALSE(trainer.launched);
  CHECK(steps.state() == nk::sampler_state{5, 42});  // the second step is made
  steps.step(1, {}, nothing);
  CHECK(steps.state() == nk::sampler_state{5, 43});
  CHECK(trainer.made == t.first(3));
}

TEST_CASE("batch steps on a GPU: a batch that was not staged, or not launched, is the next step's") {
  text t;
  device_trainer trainer;
  trainer.stages_until_failure = 0;
  nk::batch_steps steps(trainer, t.batches);
  CHECK_THROWS_AS(steps.step(1, {}, nothing), std::bad_alloc);
  CHECK_THROWS_AS(steps.step(0, {}, nothing), nk::error);
  CHECK(steps.state() == nk::sampler_state{5, 40});
  steps.step(1, {}, nothing);
  CHECK(steps.state() == nk::sampler_state{5, 41});
  CHECK_THROWS_AS(steps.step(1, {}, [] { throw std::runtime_error("the disk is full"); }),
                  std::runtime_error);
  CHECK(steps.state() == nk::sampler_state{5, 42});  // it is made all the same
  steps.step(1, {}, nothing);
  CHECK(trainer.made == t.first(3));
}

TEST_CASE("batch steps on a GPU: one that is none of the model's is told at its turn, and passed over") {
  text t;
  device_trainer trainer;
  nk::batch_steps steps(trainer, t.batches);
  steps.step(1, {}, [&] { trainer.takes_data = false; });  // the second batch is staged
  steps.step(1, {}, nothing);                              // and the third is not
  CHECK_THROWS_AS(steps.step(1, {}, nothing), nk::input_error);
  CHECK(steps.state() == nk::sampler_state{5, 42});
  trainer.takes_data = true;
  steps.step(1, {}, nothing);
  CHECK(steps.state() == nk::sampler_state{5, 44});
  std::vector<numbers> expected = t.first(4);
  expected.erase(expected.begin() + 2);
  CHECK(trainer.made == expected);
}
