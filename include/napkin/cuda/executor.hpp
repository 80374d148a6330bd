// Running a plan on the device: descriptors and arguments are made once, then each run puts the plan's calls
// into a stream, or one call into it once they have been captured. Nothing is allocated in a run.
#pragma once

#include <cstddef>
#include <span>

#include "napkin/core/box.hpp"
#include "napkin/cuda/blas.hpp"
#include "napkin/cuda/graph_capture.hpp"
#include "napkin/cuda/launch.hpp"
#include "napkin/cuda/movement.hpp"
#include "napkin/cuda/plan.hpp"

namespace napkin::on_cuda {

/// Calls of a plan that cuBLASLt has no algorithm for on this device, which only the device says: what the
/// plan counts as one call of the library's is done by kernels of our own. Not those of few numbers
/// (cuda/small_product.hpp), by which nothing is lost.
struct blas_fallbacks {
  std::size_t products = 0;           // whole, by the kernel for products that are no GEMM
  std::size_t unfused_epilogues = 0;  // what follows a product, by a kernel after it
  constexpr bool operator==(const blas_fallbacks&) const = default;
  constexpr blas_fallbacks& operator+=(const blas_fallbacks& x) {
    products += x.products;
    unfused_epilogues += x.unfused_epilogues;
    return *this;
  }
};

/// Runs one plan over tensors bound to its inputs and outputs, all of them on the device. Not copyable: calls
/// point into it.
class executor {
 public:
  /// `kernels`: `kernels_of<Plan>` (cuda/launch.cuh). `arena`: plan.peak bytes of the device, aligned to 256,
  /// which outlive the executor. `fault`: zeros, on the device; what a gather notes there is for the caller
  /// to look at (cuda/movement.hpp). `choices`: algorithms recorded before; for other products the first that
  /// cuBLASLt names, until `choose_by_time`.
  ///
  /// Errors  `cuda_error`, and `error` where cuBLASLt runs no algorithm for a product that something follows.
  executor(const plan_view& plan, const kernel_entry* kernels, std::byte* arena, index_fault* fault,
           const blas_library& blas, blas_choices& choices);
  ~executor();
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;

  /// Once before the first run, and again whenever a tensor moves. inputs: by slot; outputs: in order.
  /// Addresses on the device, aligned to 16. Forgets what was captured.
  ///
  /// Errors  `error` where several elements move at once from or to one that is not.
  void bind(std::span<const void* const> inputs, std::span<void* const> outputs);

  /// Of each product of which none is recorded, time the algorithms that fit its workspace, and record the
  /// fastest; of one with an epilogue also those without, and kernels of our own for the epilogue behind
  /// the call; of one of few numbers also a kernel of our own for all of it, and then the kernel that reads
  /// it, with it (cuda/taken_product.hpp). Where none runs at all, our own kernel.
  /// After bind(): calls run as in the plan, on what lies there, and overwrite their results. For what runs
  /// often; forgets what was captured. Errors as the constructor's.
  void choose_by_time(const stream& on, blas_choices& choices);

  /// Of one run, as algorithms are chosen now.
  blas_fallbacks fallbacks() const;
  /// Epilogues that are done, or summed, by kernels behind the call or behind our own kernel, since the clock
  /// says so.
  std::size_t epilogues_apart() const;
  /// Products by our own kernel for those of few numbers, since the clock says so or cuBLASLt runs none.
  std::size_t small_products() const;
  /// Products that the kernels which read them take in, since the clock says so: a launch less each.
  std::size_t taken_products() const;

  /// Put the plan's calls into the stream. Early, which is of a stream that is being captured: kernels of our
  /// own begin before those that they wait for are over.
  void run(const stream& on, kernel_start start = kernel_start::in_turn);
  /// The same as run(), with a clock: each instruction's seconds are added to its place in `seconds`, the
  /// stream synchronised before and after it. Launching is part of them.
  void run_timed(const stream& on, std::span<double> seconds);
  /// Only what the graph's first output needs: of a training step, the loss.
  void run_first_output(const stream& on);
  /// The same as run(), into a stream that is being captured: each call waits only for those whose memory it
  /// touches (plan/task_order.hpp), so that others may run beside it when the graph is launched; what the
  /// stream is given next waits for all. Bits are run()'s. Tensors bound are the same memory or have no byte
  /// in common.
  void put_by_data(const stream& capturing, kernel_start start = kernel_start::in_turn);
  /// May calls run beside others so? Else each waits for the one before it.
  bool has_calls_beside() const;
  /// May kernels start early here, where the device can? Not those that were compiled for earlier devices,
  /// which do not wait then.
  bool may_start_early() const;
  /// The same as run(), as one launch: captured at the first call, which is not on the default stream.
  void replay(const stream& on);

 private:
  struct state;
  enum class launches : unsigned char { all, without_joins, joins };  // of an instruction, of column sums
  void choose_takings_by_time(const stream& on, blas_choices& choices);
  void launch_product(std::size_t i, const stream& on, kernel_start start);
  void run_instruction(std::size_t i, const stream& on, kernel_start start = kernel_start::in_turn);
  void launch(std::size_t i, launches which, const stream& on, kernel_start start);
  box<state> state_;
};

}  // namespace napkin::on_cuda
