// Suite S11: NaN, infinity and its negative get into an input, an activation, the loss, a gradient, a state
// of the optimizer, a weight, at each of 20 steps. Each is found in that step, nothing is updated, and the
// run goes on from its last checkpoint to the bits of a run without the fault.
#include <catch2/catch.hpp>
#include <cstdio>
#include <limits>
#include <memory>

#include "memory_files.hpp"
#include "napkin/nn/activation.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/train/checkpoint.hpp"
#include "napkin/train/exit_code.hpp"
#include "napkin/train/finite.hpp"
#include "support/compare.hpp"
#include "support/trained_numbers.hpp"

namespace nonfinite_test {

namespace nk = napkin;
using nk::testing::everything_of;
using nk::testing::same_bits;

struct batch : nk::dim<"batch", 4> {};
struct in : nk::dim<"in", 5> {};
struct hidden : nk::dim<"hidden", 8> {};

// `probe` is added where a fault is wanted, and is 0 without one. `scales` are 1; small ones first and large
// ones behind them multiply a weight to a finite number, and its gradient, which meets them the other way
// round, to infinity.
struct probed {
  BOOST_HANA_DEFINE_STRUCT(probed, (nk::param<in, hidden>, up), (nk::param<hidden>, down),
                           (nk::param<>, scaled));
  using number = nk::input<nk::f32>;
  constexpr auto loss(nk::input<nk::f32, batch, in> x, nk::input<nk::f32, batch> y, number activation_probe,
                      number loss_probe, number small, number smaller, number large, number larger) const {
    const auto h = nk::gelu(nk::dot<"in">(x, up)) + activation_probe;  // [batch, hidden]
    const auto off = nk::dot<"hidden">(h, down) - y;                   // [batch]
    return nk::mean(off * off) + loss_probe + scaled * small * smaller * large * larger;
  }
};
using step = nk::train_step<probed, nk::adamw>;

enum class site { nowhere, input, activation, loss, gradient, state, weight };
constexpr site sites[] = {site::input,    site::activation, site::loss,
                          site::gradient, site::state,      site::weight};
constexpr int steps = 20, save_every = 6;

class run {
 public:
  explicit run(nk::file_system& files) : folder(files, "/run"), trainer(nk::seed{3}) {}

  nk::checkpoint_folder folder;
  nk::trainer<step> trainer;

  /// As a training program makes it, with a fault.
  void make_step(site fault = site::nowhere, float value = 0) {
    const auto n = static_cast<std::uint64_t>(trainer.steps());
    std::vector<float> x(batch::size * in::size), y(batch::size);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = nk::normal<float>(nk::stream_of(1, "x", n), i);
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = nk::normal<float>(nk::stream_of(1, "y", n), i);
    if (fault == site::input) x[n % x.size()] = value;
    if (fault == site::state) trainer.state(n % 2, 0).data[n] = value;
    if (fault == site::weight) trainer.value(0).data[n] = value;
    const auto scalar = [&](site at) { return std::vector<float>{fault == at ? value : 0.0f}; };
    std::vector<float> scales = {1, 1, 1, 1};
    if (fault == site::gradient) {
      scales = {1e-30f, 1e-30f, 1e30f, value < 0 ? -1e30f : 1e30f};
      if (value != value) scales[0] = 0;
    }
    const std::vector<float> before = everything_of(trainer);
    const nk::step_result r = trainer.step(1e-2, x, y, scalar(site::activation), scalar(site::loss),
                                           std::vector<float>{scales[0]}, std::vector<float>{scales[1]},
                                           std::vector<float>{scales[2]}, std::vector<float>{scales[3]});
    if (!r.applied) unchanged = same_bits(before, everything_of(trainer));
    nk::require_applied(trainer, r);
  }
  void save() { nk::save_checkpoint(folder, trainer, {1, static_cast<std::uint64_t>(trainer.steps())}); }
  void go_to(int end) {
    while (trainer.steps() < end) {
      make_step();
      if (trainer.steps() % save_every == 0) save();
    }
  }

  bool unchanged = true;
};

}  // namespace nonfinite_test

TEST_CASE("not finite: found in the same step, nothing updated, and gone on from the last checkpoint") {
  using namespace nonfinite_test;
  memory_files straight_files;
  run straight(straight_files);
  straight.save();
  straight.go_to(steps);
  const std::vector<float> expected = everything_of(straight.trainer);

  const float infinity = std::numeric_limits<float>::infinity();
  std::size_t cases = 0;
  for (const site at : sites)
    for (const float value : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity})
      for (int when = 0; when < steps; ++when, ++cases) {
        INFO("site " << static_cast<int>(at) << ", " << value << ", after " << when << " steps");
        memory_files files;
        auto process = std::make_unique<run>(files);
        run& first = *process;
        first.save();
        first.go_to(when);
        nk::exit_code code = nk::exit_code::other;
        try {
          first.make_step(at, value);
        } catch (const nk::error& problem) {
          code = nk::exit_code_of(problem);
          const char* const words[] = {"", "loss", "loss", "loss", "gradients", "optimizer.", "up"};
          CHECK_THAT(problem.what(), Catch::Contains(words[static_cast<int>(at)]));
        }
        CHECK(code == nk::exit_code::nonfinite);
        CHECK(first.trainer.steps() == when);
        CHECK(first.unchanged);

        // A program that saves all the same, again and again, does not lose the last good checkpoint.
        const bool spoiled = at == site::state || at == site::weight;
        CHECK(nk::find_nonfinite(first.trainer).empty() == !spoiled);
        if (spoiled)
          for (int i = 0; i < 4; ++i) first.save();

        process = nullptr;  // and with it its lock of the folder
        run second(files);
        const nk::resumed_run found = nk::load_checkpoint(second.folder, second.trainer);
        CHECK(found.passed_over.size() == (spoiled ? 2 : 0));
        for (const std::string& reason : found.passed_over) CHECK_THAT(reason, Catch::Contains("not finite"));
        CHECK(found.state.step == static_cast<std::uint64_t>(when / save_every * save_every));
        CHECK(nk::find_nonfinite(second.trainer).empty());
        second.go_to(steps);
        CHECK(same_bits(everything_of(second.trainer), expected));
      }
  std::printf("not finite: %zu faults\n", cases);
  CHECK(cases == std::size(sites) * 3 * steps);
}
