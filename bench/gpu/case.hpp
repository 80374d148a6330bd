// What a rung's library says of its cases, each a plan that runs on memory of the caller's or a training step
// with its trainer: what rung.hpp makes, and interface.cpp gives to programs in other languages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <napkin/core/dtype.hpp>
#include <napkin/cost/sheet.hpp>
#include <napkin/cuda/plan.hpp>
#include <napkin/cuda/session.hpp>
#include <napkin/train/trainer.hpp>
#include <span>
#include <string>
#include <vector>

namespace napkin::benched {

struct array {
  std::string name;  // of a parameter; of K5's numbers, how many elements each group has; else empty
  dtype type;
  std::vector<std::size_t> sizes;
};

/// A plan that can be run.
class running {
 public:
  virtual ~running() = default;
  /// Addresses on the device, aligned to 16, of what the case says.
  virtual void bind(std::span<const void* const> inputs, std::span<void* const> outputs) = 0;
  /// Into the session's stream; may be captured there.
  virtual void run() = 0;
};

/// A trainer.
class training {
 public:
  virtual ~training() = default;
  /// So many steps, on the batches in turn: each one's data inputs, on the host. A loss of each step.
  virtual void step(double rate, std::span<const void* const> batches, std::span<float> losses) = 0;
  /// What a step costs and how long each of its kernels and calls took, on batches as `step` takes them: the
  /// account as a table. `device`: as CUDA names it.
  virtual std::string account(const std::string& name, const std::string& device, double rate,
                              std::span<const void* const> batches) = 0;
  /// How launches follow one another: "in order" or "by data", and ", early" behind it; and how many
  /// products the clock gave to a kernel of our own. Valid until it is asked again.
  virtual const char* order() const = 0;
  /// All parameters behind one another.
  virtual void read(float* to) = 0;
  virtual void write(const float* from) = 0;
};

struct rung_case {
  std::string name;
  std::vector<array> inputs, outputs;  // of a step: of one batch; none
  std::vector<array> parameters;       // of a step
  cost_sheet cost;
  std::size_t memory = 0;  // bytes: a plan's arena, a trainer's one allocation
  std::map<std::string, std::size_t> facts;
  std::unique_ptr<running> (*open)(on_cuda::session&, std::byte* arena) = nullptr;
  std::unique_ptr<training> (*train)(on_cuda::session&, launch_start) = nullptr;
};

/// Each rung's file defines it.
std::vector<rung_case> cases();

/// Launches of those of a plan that follow one another by the data that they touch (plan/task_order.hpp).
std::uint64_t longest_chain(const planning::plan_view<on_cuda::product>& plan);

}  // namespace napkin::benched
