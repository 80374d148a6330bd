// All that is known of a training step before it runs, and what was measured of it, as plain data: each
// kernel's costs, its least time on a device, the memory map. step_account_text.hpp writes it for people and
// programs; nothing here knows how it looks.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "napkin/cost/conventions.hpp"
#include "napkin/cost/time.hpp"
#include "napkin/train/seconds.hpp"
#include "napkin/train/step_report.hpp"

namespace napkin {

/// Seconds of one step's kernels and library calls, each timed by itself, in the order of
/// step_account::kernels (what runs once for each micro-batch: of all together), and of the whole step, timed
/// as it is without that.
struct step_timing {
  std::vector<double> kernels;
  double step = 0;
  std::size_t steps = 0;  // how many were timed by kernel; 0: none
};

struct loss_point {
  std::int64_t step = 0;
  double loss = 0;  // nats per token
};

enum class step_phase : std::uint8_t { forward, backward, optimizer };
constexpr std::string_view name_of(step_phase p) {
  constexpr std::string_view names[] = {"forward", "backward", "optimizer"};
  return names[static_cast<std::size_t>(p)];
}

/// FLOPs, bytes and launches of a whole step, and the least time they take.
struct account_sum {
  cost_sheet cost;
  time_bound bound;
  double measured = 0;  // seconds; 0: not measured
};

/// A kernel or library call: a fusion group of the lowered plan.
struct account_kernel {
  std::size_t plan = 0;  // into step_account::plans
  step_phase phase = step_phase::forward;
  std::string layer;  // "blocks.3.attention", "optimizer", "other"
  plan_line line;     // of one run
  std::size_t runs = 1;
  arithmetic products = arithmetic::none;  // of its matrix products, where it has any
  kernel_bound bound;                      // of one run
  std::uint64_t live = 0;                  // bytes of the arena that are needed while it runs
  std::vector<op> operations;              // computed together
  std::vector<std::size_t> reads_from;     // kernels whose results it reads, of the same plan
  double measured = 0;                     // seconds of one run; 0: not measured
  cost_sheet cost() const { return sheet_of(line); }
};

/// A buffer in the arena, from its first kernel to its last.
struct account_buffer {
  std::size_t first = 0, last = 0;  // kernels, both included
  std::uint64_t offset = 0, bytes = 0;
};

/// A value that is made again to save memory, or kept for those: of one run.
struct account_value {
  std::string layer;
  std::size_t kernel = 0;  // that makes it, into step_account::kernels
  remade_value value;
};
/// Those that are alike, of all equal layers ("blocks.*.mlp") together.
struct account_remade {
  std::string layers;
  remade_value value;  // one of them; bytes and flops of all together
  std::size_t count = 0;
};

struct account_layer : account_sum {
  std::string name;
  std::uint64_t parameters = 0;  // how many
  std::uint64_t kept = 0;        // bytes that its forward kernels leave for the backward pass
};

struct step_account {
  std::string name;
  device on{""};
  std::uint64_t tokens = 0, parameters = 0;
  std::size_t micro_batches = 1;
  std::vector<std::string> plans;       // in the order that they run in
  std::vector<account_kernel> kernels;  // in that order too
  std::vector<account_buffer> buffers;
  std::vector<account_layer> layers;  // in the order of the parameters, then "optimizer" and "other"
  account_sum total, phases[3];       // by step_phase
  struct {
    conventions::counts exact, torch, rule_6nd;
  } model_flops;
  step_memory memory;
  recomputation recomputed;
  passes::attention_choice attention;
  std::vector<account_value> remade;
  std::map<dtype, std::uint64_t> kept;  // bytes for the backward pass, by what they are kept in
  std::size_t peak_kernel = 0;          // while it runs most of the arena is needed
  step_timing timing;
  std::vector<loss_point> losses;

  bool is_measured() const { return timing.steps > 0; }
  /// Model FLOPs utilisation of the measured step, by the peak of its longest products. Errors as
  /// utilisation.
  double mfu() const { return utilisation(model_flops.exact.total(), timing.step, peak()); }
  /// Of what was executed.
  double hfu() const { return utilisation(total.bound.flops, timing.step, peak()); }
  dense_flops peak() const { return on.peak(total.bound.products); }
};

/// What an account's budget decides, by equal layers: what frees most first, what is kept last.
std::vector<account_remade> remade_groups(const step_account& account);

namespace detail {
step_account account_of(const step_description& step, std::string name, const device& on);
}

/// What a step costs on a device; `name` is the program's or the model's, for headings.
///
/// Errors  `input_error` where the device has no known peak of what the step computes with
/// Rules   no_training_step
template <detail::TrainingStep Step>
step_account account_of(std::string name, const device& on) {
  return detail::account_of(detail::describe<Step>(), static_cast<std::string&&>(name), on);
}
template <class NoStep>
auto account_of(std::string, const device&) {  // refused
  return detail::step_misfit<NoStep>::raise();
}

/// Put what was measured beside what was predicted.
///
/// Errors  `error` where it was another step that was timed
void add_timing(step_account& account, step_timing timing, std::vector<loss_point> losses);

/// Records a run for its report: the loss of each step, thinned out to a curve, and the times of steps, a few
/// of them by kernel.
///
/// Example  const bool timed = recorder.begin();
///          r = timed ? trainer.step_timed(recorder.kernels(), ...) : trainer.step(...);
///          recorder.end(trainer.steps(), r.loss);
class step_recorder {
 public:
  /// Of steps of so many kernels; of 0, none is timed by kernel.
  explicit step_recorder(std::size_t kernels) : now_(kernels) {}

  /// A step begins. Returns whether it is one to time by kernel: every other one of the first few, but for
  /// those that find all caches cold.
  bool begin();
  std::span<double> kernels() { return now_; }
  void end(std::int64_t step, double loss);

  /// Medians of at least 5: of fewer steps, or of fewer that were timed by kernel, there is none.
  step_timing timing() const;
  const std::vector<loss_point>& losses() const { return losses_; }

 private:
  static constexpr std::size_t warm_up = 3, samples = 7, fewest = 5, most_losses = 1000, most_steps = 1001;
  std::vector<double> now_;
  std::vector<std::vector<double>> kernels_;
  std::vector<double> steps_;  // the last ones
  std::vector<loss_point> losses_;
  std::int64_t every_ = 1;
  std::size_t count_ = 0;
  bool timed_ = false;
  double began_ = 0;  // seconds
};

}  // namespace napkin
