// What a training step has on a GPU beside the model's graph. The host is not asked between gradient and
// update: the norm, what gradients are clipped by, and whether the step may be taken at all are computed on
// the device, as graphs that are lowered like any other.
#pragma once

#include <array>

#include "napkin/cuda/plan.hpp"
#include "napkin/optim/optimizer.hpp"
#include "napkin/train/step.hpp"

namespace napkin {

/// Inputs: the flat vector of gradients; the loss; what a gather noted (u32, 0: nothing); what the norm may
/// be at most (f64, 0: anything). Outputs: the sum of squares; what to multiply gradients with; whether to
/// update (b8): loss and norm are finite, and no index was outside its axis. The arithmetic is clip_factor's,
/// in f64.
template <std::size_t Length>
struct clipping_graph {
  static constexpr graph make() {
    builder b;
    const std::int32_t squares = sum_of_squares(b, b.input(0, dtype::f32, {Length / flat_block, flat_block}));
    const std::int32_t loss = b.input(1, dtype::f32, {}), noted = b.input(2, dtype::u32, {});
    const std::int32_t most = b.input(3, dtype::f64, {});

    const std::int32_t norm = b.unary(op::sqrt, b.cast(squares, dtype::f64));
    const std::int32_t factor = b.div(most, b.add(norm, b.constant(1e-6, dtype::f64, {})));
    const std::int32_t one = b.constant(1, dtype::f64, {}), none = b.constant(0, dtype::f64, {});
    const std::int32_t clipped = b.select(b.binary(op::less_equal, one, factor), one, factor);
    const std::int32_t clip = b.select(b.binary(op::less_equal, most, none), one, clipped);

    const std::int32_t finite = b.binary(op::logical_and, is_finite(b, loss), is_finite(b, squares));
    const std::int32_t inside = b.binary(op::equal, noted, b.constant(0, dtype::u32, {}));
    b.output(squares);
    b.output(b.cast(clip, dtype::f32));
    b.output(b.binary(op::logical_and, finite, inside));
    return b.take();
  }

 private:
  static constexpr std::int32_t is_finite(builder& b, std::int32_t x) {
    return b.binary(op::less_equal, b.unary(op::abs, x), b.constant(finfo<f32>::max, dtype::f32, {}));
  }
};

/// An optimizer's update that leaves all as it is where the input behind its own (b8) is false.
template <class Optimizer, class T, std::size_t Length>
struct guarded_update_graph {
  using update = optimizer_graph<Optimizer, T, Length>;
  static constexpr std::size_t own_inputs = update::vectors + Optimizer::scalars;

  static constexpr graph make() {
    builder b;
    update::emit(b, std::make_index_sequence<update::vectors>{},
                 std::make_index_sequence<Optimizer::scalars>{});
    std::array<std::int32_t, 1 + Optimizer::states> next{};
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = b.result.outputs[i];
    b.result.outputs.clear();  // not `= {}`: nvcc 13 then finds an allocation that is not given back
    const std::int32_t everywhere[] = {-1};
    const std::int32_t take =
        b.expand(b.input(static_cast<int>(own_inputs), dtype::b8, {}), {Length}, everywhere);
    for (std::size_t i = 0; i < next.size(); ++i)
      b.output(b.select(take, next[i], input_at(b, i == 0 ? 0 : i + 1)));  // the gradient is input 1
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
/// the arena of 256. What is copied as one lies together: a batch; the optimizer's numbers; what a step
/// reports.
struct cuda_step_layout {
  static constexpr std::size_t piece = passes::alignment;

  std::size_t parameters = 0, gradients = 0, states = 0, arena = 0, batch = 0, slots = 0, numbers = 0,
              report = 0, end = 0;
  std::size_t vector_bytes = 0, batch_bytes = 0, number_bytes = 0;

  // Of the numbers: what the norm may be at most, then the optimizer's, of both groups.
  static constexpr std::size_t most = 0, scalars = piece;
  // Of the report:
  static constexpr std::size_t loss = 0, squares = piece, clip = 2 * piece, applied = 3 * piece,
                               fault = 4 * piece, report_bytes = 5 * piece;

  static constexpr std::size_t bytes_of_numbers(std::size_t count) {
    return piece + passes::aligned(count * sizeof(f32));
  }
};

template <>
struct step_parts<cuda> {
  template <std::size_t Length>
  using norm = clipping_graph<Length>;
  template <class Optimizer, std::size_t Length>
  using update = guarded_update_graph<Optimizer, f32, Length>;
  /// The batch is there three times: where the step reads it, and in two slots for those on their way.
  static constexpr std::size_t input_bytes(std::size_t data, std::size_t scalars) {
    return 3 * data + cuda_step_layout::bytes_of_numbers(scalars) + cuda_step_layout::report_bytes;
  }
};

/// The layout of a step's one allocation: `end` is Step::memory.peak.
template <class Step>
constexpr cuda_step_layout lay_out_on_device() {
  cuda_step_layout l;
  l.vector_bytes = Step::memory.parameters;
  for (std::size_t i = 0; i < Step::data_inputs; ++i) l.batch_bytes += passes::aligned(Step::input_bytes(i));
  l.number_bytes = cuda_step_layout::bytes_of_numbers(2 * Step::optimizer::scalars);
  l.gradients = l.parameters + l.vector_bytes;
  l.states = l.gradients + l.vector_bytes;
  l.arena = l.states + Step::optimizer::states * l.vector_bytes;
  l.batch = l.arena + Step::memory.intermediates;
  l.slots = l.batch + l.batch_bytes;
  l.numbers = l.slots + 2 * l.batch_bytes;
  l.report = l.numbers + l.number_bytes;
  l.end = l.report + cuda_step_layout::report_bytes;
  return l;
}

}  // namespace napkin
