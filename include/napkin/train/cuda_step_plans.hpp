// The plans of a training step on a GPU, bound to the trainer's memory there: gradient, norm and update. How they
// follow one another is said here; what launches them, and what goes over with them, is the trainer's
// (train/cuda_trainer.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <source_location>
#include <span>
#include <utility>

#include "napkin/core/box.hpp"
#include "napkin/core/buffer.hpp"
#include "napkin/cuda/executor.hpp"
#include "napkin/cuda/launch.hpp"
#include "napkin/cuda/session.hpp"
#include "napkin/cuda/transfer.hpp"
#include "napkin/train/cuda_scales.hpp"
#include "napkin/train/timed_kernels.hpp"

namespace napkin::detail {

template <class Step>
class step_plans {
 public:
  static constexpr cuda_step_layout layout = lay_out_on_device<Step>();
  /// Of the report: where the gradient's plan puts the loss.
  static constexpr std::size_t loss = Step::micro_batches > 1 ? layout.loss : layout.losses;
  /// Of a batch's bytes.
  static constexpr std::size_t offset_of_input(std::size_t i) {
    std::size_t at = 0;
    for (std::size_t n = 0; n < i; ++n) at += passes::aligned(Step::input_bytes(n));
    return at;
  }

  /// memory: the device's, as `layout` says. The session outlives this.
  step_plans(on_cuda::session& on, std::byte* memory) : session_(&on), memory_(memory) {}

  /// By the session's choices of algorithms.
  void make(std::source_location where) {
    if constexpr (Step::adds_gradients) make<typename Step::zero_plan>(zeros_, where);
    make<typename Step::gradient_plan>(gradient_, where);
    make<typename Step::norm_plan>(norm_, where);
    make_updates(where, std::make_index_sequence<Step::update_runs>{});
    bind();
  }
  /// A step, but for the copies between micro-batches; products for which there is no choice are timed then.
  void run_and_time(std::source_location where) {
    const on_cuda::stream& on = session_->on();
    if constexpr (Step::adds_gradients) zeros_.run->run(on);
    scales().set(on, where);
    gradient_.run->run(on);
    scales().add_seen(on, where);
    norm_.run->run(on);
    scales().keep_seen(on, where);
    for (run_of_plan& u : updates_) u.run->run(on);
    choose_by_time(gradient_), choose_by_time(norm_);
    for (run_of_plan& u : updates_) choose_by_time(u);
  }

  /// How launches are put, and where each one's seconds go; nowhere: nothing is timed.
  struct way {
    bool by_data = false;  // each behind those alone whose memory it touches
    on_cuda::kernel_start start = on_cuda::kernel_start::in_turn;
    std::span<double> seconds;
  };
  /// The gradient, its norm, and the update.
  void put(const on_cuda::stream& on, std::source_location where, const way& by) {
    put_gradient(on, where, by);
    run(norm_, on, timed::norm, by);
    scales().keep_seen(on, where);
    put_update(on, by);
  }
  void put_loss(const on_cuda::stream& on, std::source_location where) {
    scales().set(on, where);
    gradient_.run->run_first_output(on);
  }
  void put_norm(const on_cuda::stream& on) { norm_.run->run(on); }
  void put_update(const on_cuda::stream& on, const way& by = {}) {
    for (std::size_t r = 0; r < Step::update_runs; ++r) run(updates_[r], on, timed::updates[r], by);
  }

  /// of(executor) of each plan that a step runs, added up: as often as it does.
  template <class Sum, class Of>
  Sum sum_of(Of of) const {
    Sum n{};
    for (std::size_t k = 0; k < Step::micro_batches; ++k) n += of(*gradient_.run);
    n += of(*norm_.run);
    for (const run_of_plan& update : updates_) n += of(*update.run);
    return n;
  }
  bool may_start_early() const {
    return sum_of<std::size_t>(
               [](const on_cuda::executor& x) { return std::size_t{!x.may_start_early()}; }) == 0;
  }
  bool has_calls_beside() const { return gradient_.run->has_calls_beside(); }

 private:
  using timed = timed_kernels<Step>;
  /// A plan and what it is bound to.
  struct run_of_plan {
    box<on_cuda::executor> run;
    buffer<const void*> inputs;
    buffer<void*> outputs;
    void clear() { inputs.clear(), outputs.clear(); }
    void bind() { run->bind({inputs.data(), inputs.size()}, {outputs.data(), outputs.size()}); }
  };

  on_cuda::session* session_;
  std::byte* memory_;
  run_of_plan zeros_, gradient_, norm_;  // the first where gradients are added
  std::array<run_of_plan, Step::update_runs> updates_;

  std::byte* at(std::size_t offset) const { return memory_ + offset; }
  /// Of the parameters' copies, by element.
  std::byte* copy_at(std::size_t element) const {
    return at(layout.copies + element * sizeof(typename Step::copy_type));
  }
  scales_on_device<Step> scales() const { return scales_on_device<Step>(memory_); }

  template <class Plan>
  void make(run_of_plan& of, std::source_location where) {
    of.run = box<on_cuda::executor>(std::in_place, Plan::view(), on_cuda::compiled_kernels<Plan>::table(),
                                    at(layout.arena),
                                    reinterpret_cast<on_cuda::index_fault*>(at(layout.report + layout.fault)),
                                    session_->blas(where), session_->choices());
  }
  template <std::size_t... Run>
  void make_updates(std::source_location where, std::index_sequence<Run...>) {
    (make<typename Step::template update_plan<Run>>(updates_[Run], where), ...);
  }
  void choose_by_time(run_of_plan& of) { of.run->choose_by_time(session_->on(), session_->choices()); }

  /// The mean of all micro-batches', each adding its share.
  void put_gradient(const on_cuda::stream& on, std::source_location where, const way& by) {
    if constexpr (Step::adds_gradients) run(zeros_, on, timed::zeros, by);
    scales().set(on, where);
    for (std::size_t k = 0; k < Step::micro_batches; ++k) {
      if constexpr (Step::micro_batches > 1)
        on_cuda::copy_within_device(on, at(layout.inputs), at(layout.batches + k * layout.input_bytes),
                                    layout.input_bytes, where);
      if (by.by_data)
        gradient_.run->put_by_data(on, by.start);
      else
        run(gradient_, on, timed::gradient, by);
      scales().add_seen(on, where);
      if constexpr (Step::micro_batches > 1)
        on_cuda::copy_within_device(on, at(layout.report + layout.losses + k * sizeof(float)),
                                    at(layout.report + loss), sizeof(float), where);
    }
  }
  void run(run_of_plan& plan, const on_cuda::stream& on, std::size_t first_timed, const way& by) {
    if (by.seconds.empty())
      plan.run->run(on, by.start);
    else
      plan.run->run_timed(on, by.seconds.subspan(first_timed));
  }

  void bind() {
    std::byte* const said = at(layout.report);
    gradient_.clear();
    gradient_.outputs.push_back(said + loss);
    for (const detail::stored_tensor& t : Step::layout.tensors) {
      const std::size_t offset = t.offset * sizeof(float);
      gradient_.inputs.push_back(at(layout.parameters + offset));
      gradient_.outputs.push_back(at(layout.gradients + offset));
    }
    for (std::size_t i = 0; i < Step::data_inputs; ++i)
      gradient_.inputs.push_back(at(layout.inputs + offset_of_input(i)));
    if constexpr (Step::scales_loss) gradient_.inputs.push_back(at(layout.numbers + layout.scale));
    if constexpr (Step::quantized_tensors > 0) {
      const scale_memory all = scales().all();
      for (std::size_t i = 0; i < Step::quantized_tensors; ++i) gradient_.inputs.push_back(all.scales + i);
      for (std::size_t i = 0; i < Step::quantized_tensors; ++i) gradient_.inputs.push_back(all.reciprocal(i));
    }
    if constexpr (Step::micro_batches > 1)
      for (std::size_t i = 0; i < Step::gradients::parameters; ++i)
        gradient_.inputs.push_back(gradient_.outputs[1 + i]);
    if constexpr (Step::keeps_copies)
      for (const detail::stored_tensor& t : Step::layout.tensors)
        gradient_.inputs.push_back(copy_at(t.offset));
    if constexpr (Step::quantized_tensors > 0)
      for (std::size_t i = 0; i < Step::quantized_tensors; ++i) gradient_.outputs.push_back(scales().used(i));
    gradient_.bind();
    if constexpr (Step::adds_gradients) {
      zeros_.clear();
      zeros_.outputs.push_back(at(layout.gradients));
      zeros_.bind();
    }
    norm_.clear();
    const void* const norm_in[] = {at(layout.gradients), at(layout.checks), said + layout.losses,
                                   said + layout.fault, at(layout.numbers + layout.most)};
    norm_.inputs.append(norm_in, std::size(norm_in));
    if constexpr (Step::layout.matrices > 0)
      norm_.inputs.push_back(at(layout.checks + Step::layout.first_matrix_check() * sizeof(float)));
    if constexpr (Step::quantized_tensors > 0) norm_.inputs.push_back(scales().all().most);
    void* const norm_out[] = {said + layout.squares, said + layout.clip, said + layout.applied};
    norm_.outputs.append(norm_out, std::size(norm_out));
    norm_.bind();
    for (std::size_t r = 0; r < Step::update_runs; ++r) bind_update(Step::updates[r], updates_[r]);
  }
  /// In place: no run writes what it has yet to read.
  void bind_update(const update_run& run, run_of_plan& to) {
    const std::size_t vectors[] = {layout.parameters, layout.gradients, layout.states};
    const auto place_of = [&](const update_operand& o) {
      return at(vectors[static_cast<int>(o.of)] + o.offset * sizeof(float));
    };
    to.clear();
    for (const update_operand& o : run.inputs) to.inputs.push_back(place_of(o));
    for (const update_operand& o : run.outputs) to.outputs.push_back(place_of(o));
    to.outputs.push_back(at(layout.checks + run.check * sizeof(float)));
    if (Step::keeps_copies && run.outputs[0].of == update_operand::vector::value)
      to.outputs.push_back(copy_at(run.outputs[0].offset));
    to.inputs.push_back(at(layout.report + layout.clip));  // the first of the numbers
    to.inputs.push_back(at(layout.numbers + layout.first_number + run.first_number * sizeof(float)));
    to.inputs.push_back(at(layout.report + layout.applied));
    to.bind();
  }
};

}  // namespace napkin::detail
