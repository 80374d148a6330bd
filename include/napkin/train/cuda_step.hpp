// What a training step has on a GPU beside the model's graph. The host is not asked between gradient and
// update: the norm, what gradients are clipped by, and whether the step may be taken at all are computed on
// the device, as graphs that are lowered like any other. Parameters and states are not read to ask whether
// they are finite: the update says so of each block of what it wrote, for the next step's norm to add.
#pragma once

#include <array>

#include "napkin/cuda/attention.hpp"
#include "napkin/cuda/plan.hpp"
#include "napkin/optim/optimizer.hpp"
#include "napkin/train/step.hpp"

namespace napkin {

/// Inputs: the flat vector of gradients; what the update said of each block of parameters and states
/// (guarded_graph); the loss of each micro-batch; what a gather noted (u32, 0: nothing); what the norm may be
/// at most (f64, 0: anything); where there are any, what the update said of each matrix, and the largest
/// magnitude of each tensor that is rounded to 8 bits. Outputs: the sum of squares, NaN where parameters or
/// states are not finite; what to multiply gradients with; whether to update (b8): losses, norm, magnitudes,
/// parameters and states are finite, and no index was outside its axis. The arithmetic is clip_factor's, in
/// f64.
///
/// What was said of a block, 0 or NaN, is added to its squares' sum, so that the kernel of those reads it and
/// the one that adds blocks up has them alone to read.
template <std::size_t Length, std::size_t Matrices, std::size_t Batches, std::size_t Quantized>
struct clipping_graph {
  static constexpr graph make() {
    builder b;
    const std::int32_t said = b.input(1, dtype::f32, {Length / flat_block});
    const std::int32_t losses = b.input(2, dtype::f32, {Batches}), noted = b.input(3, dtype::u32, {});
    const std::int32_t most = b.input(4, dtype::f64, {});
    const std::int32_t blocks = detail::sums_of_rows(b, detail::squares(b, dtype::f32, Length));
    std::int32_t squares = detail::sum_by_rows(b, b.add(blocks, said));
    if constexpr (Matrices > 0)
      squares = b.add(squares, zero_if_all_finite(b, b.input(5, dtype::f32, {Matrices})));

    const std::int32_t norm = b.unary(op::sqrt, b.cast(squares, dtype::f64));
    const std::int32_t factor = b.div(most, b.add(norm, b.constant(1e-6, dtype::f64, {})));
    const std::int32_t one = b.constant(1, dtype::f64, {}), none = b.constant(0, dtype::f64, {});
    const std::int32_t clipped = b.select(b.binary(op::less_equal, one, factor), one, factor);
    const std::int32_t clip = b.select(b.binary(op::less_equal, most, none), one, clipped);

    std::int32_t all = b.add(squares, zero_if_all_finite(b, losses));
    if constexpr (Quantized > 0)
      all = b.add(all, zero_if_all_finite(b, b.input(Matrices > 0 ? 6 : 5, dtype::f32, {Quantized})));
    const std::int32_t finite = is_finite(b, all);
    const std::int32_t inside = b.binary(op::equal, noted, b.constant(0, dtype::u32, {}));
    b.output(squares);
    b.output(b.cast(clip, dtype::f32));
    b.output(b.binary(op::logical_and, finite, inside));
    return b.take();
  }

 private:
  /// Of a few numbers, each read where the sum is wanted; more take a kernel.
  static constexpr std::int32_t zero_if_all_finite(builder& b, std::int32_t x) {
    const std::size_t count = b.shape_of(x)[0];
    if (count > 8) return detail::sum_by_rows(b, detail::zero_if_finite(b, x));
    std::int32_t sum = -1;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int32_t start[] = {static_cast<std::int32_t>(i)}, step[] = {1};
      const std::int32_t one = detail::zero_if_finite(b, b.reshape(b.slice(x, {1}, start, step), {}));
      sum = sum < 0 ? one : b.add(sum, one);
    }
    return sum;
  }
  static constexpr std::int32_t is_finite(builder& b, std::int32_t x) {
    return b.binary(op::less_equal, b.unary(op::abs, x),
                    b.constant(finfo<f32>::max, dtype::f32, b.shape_of(x)));
  }
};

/// An update that leaves all as it is where an input behind its own (b8) is false. Output 0 is the next of
/// input 0, the others of the inputs from `First` on: their places are one another's. One output more: 0
/// where the outputs from `FirstKept` on, which the next step reads, are finite, else NaN. It is a sum in the
/// kernel that writes them, which are of one shape: of flat vectors one for each block, for the next step's
/// norm to add up, of a matrix one in all. Then, unless Copy is f32, output 0 in Copy.
template <class Update, std::size_t First, std::size_t FirstKept, class Copy = f32, bool Flat = true>
struct guarded_graph {
  static constexpr graph make() {
    builder b;
    b.result = Update::make();
    std::int32_t inputs = 0;
    for (std::int32_t id = 0; id < b.size(); ++id)
      if (b[id].kind == op::input && b.attribute(id, 0) >= inputs) inputs = b.attribute(id, 0) + 1;
    const std::int32_t update = b.input(inputs, dtype::b8, {});
    for (std::size_t o = 0; o < b.result.outputs.size(); ++o) {
      const std::int32_t next = b.result.outputs[o];
      const shape s = b.shape_of(next);  // a copy: what is emitted may move it
      const std::int32_t take = b.fill(update, s);
      b.result.outputs[o] = b.select(take, next, input_at(b, o == 0 ? 0 : First + o - 1));
    }
    std::int32_t check = -1;
    for (std::size_t o = FirstKept; o < b.result.outputs.size(); ++o) {
      const std::int32_t one = detail::zero_if_finite(b, b.result.outputs[o]);
      check = check < 0 ? one : b.add(check, one);
    }
    b.output(Flat ? detail::sums_of_rows(b, check) : detail::sum_by_rows(b, check));
    if (dtype_of<Copy> != dtype::f32) b.output(b.cast(b.result.outputs[0], dtype_of<Copy>));
    return b.take();
  }

 private:
  static constexpr std::int32_t input_at(const builder& b, std::size_t slot) {
    for (std::int32_t id = 0; id < b.size(); ++id)
      if (b[id].kind == op::input && b.attribute(id, 0) == static_cast<std::int32_t>(slot)) return id;
    return -1;
  }
};

/// Where things lie in a trainer's memory on the device, in bytes from its beginning; all multiples of 64,
/// the arena of 256. What is copied as one lies together: parameters, gradients, states, what the update said
/// of them, the scales of 8-bit floats with what they follow from, and the parameters' narrow copies; all
/// micro-batches of a step; the optimizer's numbers; what a step reports. `used`: what a run says of the
/// tensors that it rounds.
struct cuda_step_layout {
  static constexpr std::size_t piece = passes::alignment;

  std::size_t parameters = 0, gradients = 0, states = 0, checks = 0, scales = 0, copies = 0, arena = 0,
              inputs = 0, batches = 0, slots = 0, numbers = 0, report = 0, used = 0, end = 0;
  std::size_t input_bytes = 0, batch_bytes = 0, number_bytes = 0, report_bytes = 0;  // of one; of a step
  std::size_t scale = 0;  // of the numbers, the last: what the loss is scaled by, or on_cuda::scale_settings

  // Of the numbers: what the norm may be at most, the optimizer's.
  static constexpr std::size_t most = 0, first_number = piece;
  // Of the report: losses last, one for each micro-batch; `loss` is the latest, where there are several.
  static constexpr std::size_t squares = 0, clip = piece, applied = 2 * piece, fault = 3 * piece,
                               loss = 4 * piece, losses = 5 * piece;

  // The arena comes behind both.
  static constexpr std::size_t bytes_of_checks(std::size_t count) { return by_256(count * sizeof(f32)); }
  static constexpr std::size_t bytes_of_scales(std::size_t tensors) {
    return by_256(delayed_scales::lasting_bytes(tensors));
  }
  static constexpr std::size_t bytes_of_numbers(std::size_t count) {
    return first_number + passes::aligned(count * sizeof(f32));
  }
  static constexpr std::size_t bytes_of_report(std::size_t batches) {
    return losses + passes::aligned(batches * sizeof(f32));
  }
  /// Of what the loss is scaled by, or of what is said of the scales.
  static constexpr std::size_t bytes_of_scale(bool scales_loss, std::size_t quantized_tensors) {
    return scales_loss || quantized_tensors > 0 ? piece : 0;
  }

 private:
  static constexpr std::size_t by_256(std::size_t bytes) { return (bytes + 255) / 256 * 256; }
};

template <>
struct step_parts<cuda> {
  /// What is done to a loss before it is differentiated.
  using loss_rewrite = products_as_one<attention_as_one<on_cuda::attention_fits>>;
  template <std::size_t Length, std::size_t StateLength, std::size_t Matrices, std::size_t Batches,
            std::size_t Quantized>
  using norm = clipping_graph<Length, Matrices, Batches, Quantized>;
  /// Of 16-bit floats. What is rounded to 8 bits is scaled first, by what an update does not know yet.
  template <class Compute>
  static constexpr bool keeps_copies = !std::is_same_v<Compute, f32> && !detail::is_quantized<Compute>;
  static constexpr bool has_product_options = true;
  /// Groups that one kernel updates: it reads all their numbers for each block.
  static constexpr std::size_t groups_at_once = 8;
  template <class Optimizer, class Groups, class Copy = f32>  // First: behind value and gradient
  using update = guarded_graph<optimizer_graph<Optimizer, f32, Groups>, 2, 0, Copy>;
  template <class Optimizer, class Groups>
  using direction = guarded_graph<typename Optimizer::template direction_graph<f32, Groups>, 1, 1>;
  template <class Optimizer, std::size_t Rows, std::size_t Columns, bool RowsAreOutputs, class Copy = f32>
  using matrix = guarded_graph<typename Optimizer::template matrix_graph<f32, Rows, Columns, RowsAreOutputs>,
                               1, 0, Copy, false>;

  /// Data of a step are where they are delivered, and in two slots for steps on their way. Of several
  /// micro-batches one more is where the gradient's plan reads it; of one, that is where they are delivered.
  static constexpr std::size_t input_bytes(std::size_t data, std::size_t numbers, std::size_t checks,
                                           std::size_t batches) {
    return (batches > 1 ? data : 0) + 3 * batches * data + cuda_step_layout::bytes_of_numbers(numbers) +
           cuda_step_layout::bytes_of_checks(checks) + cuda_step_layout::bytes_of_report(batches);
  }
  static constexpr std::size_t staging_bytes(std::size_t data, std::size_t batches) {
    return data + 3 * batches * data;
  }
  static constexpr std::size_t scale_bytes(bool scales_loss, std::span<const std::size_t> quantized_rows) {
    return cuda_step_layout::bytes_of_scale(scales_loss, quantized_rows.size()) +
           cuda_step_layout::bytes_of_scales(quantized_rows.size()) +
           delayed_scales::used_bytes(quantized_rows);
  }
  /// What plans look up is the host's, the allocation's header the driver's: neither is the device's memory.
  static constexpr std::size_t table_bytes(const planning::plan_sizes&) { return 0; }
  static constexpr std::size_t header_bytes = 0;
};

/// The layout of a step's one allocation: `end` is Step::memory.peak.
template <class Step>
constexpr cuda_step_layout lay_out_on_device() {
  cuda_step_layout l;
  for (std::size_t i = 0; i < Step::data_inputs; ++i) l.input_bytes += passes::aligned(Step::input_bytes(i));
  l.batch_bytes = Step::micro_batches * l.input_bytes;
  l.scale = cuda_step_layout::bytes_of_numbers(Step::layout.numbers);
  l.number_bytes = l.scale + cuda_step_layout::bytes_of_scale(Step::scales_loss, Step::quantized_tensors);
  l.report_bytes = cuda_step_layout::bytes_of_report(Step::micro_batches);
  l.gradients = l.parameters + Step::memory.parameters;
  l.states = l.gradients + Step::memory.parameters;
  l.checks = l.states + Step::memory.optimizer_state;
  l.scales = l.checks + cuda_step_layout::bytes_of_checks(Step::layout.checks());
  l.copies = l.scales + cuda_step_layout::bytes_of_scales(Step::quantized_tensors);
  l.arena = l.copies + Step::memory.narrow_copies;
  l.inputs = l.arena + Step::memory.intermediates;
  l.batches = Step::micro_batches > 1 ? l.inputs + l.input_bytes : l.inputs;
  l.slots = l.batches + l.batch_bytes;
  l.numbers = l.slots + 2 * l.batch_bytes;
  l.report = l.numbers + l.number_bytes;
  l.used = l.report + l.report_bytes;
  l.end = l.used + delayed_scales::used_bytes(Step::quantized_rows);
  return l;
}

}  // namespace napkin
