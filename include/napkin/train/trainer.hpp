// Running a training step on the CPU: one allocation, made at construction and sized by the compiler; after
// it a step allocates nothing.
#pragma once

#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "napkin/core/random.hpp"
#include "napkin/cpu/executor.hpp"
#include "napkin/optim/clip.hpp"
#include "napkin/tensor/create.hpp"
#include "napkin/train/handed_data.hpp"
#include "napkin/train/named_memory.hpp"
#include "napkin/train/parameter_pointers.hpp"
#include "napkin/train/step.hpp"
#include "napkin/train/timed_kernels.hpp"

namespace napkin {

struct step_result {
  float loss = 0;       // before the update
  double norm = 0;      // of all gradients together, before clipping
  double rate = 0;      // learning rate
  bool applied = true;  // false: a number was not finite, of the loss, gradients, parameters or states, or of
                        // what is rounded to 8 bits; nothing was changed then
};

namespace detail {
/// A step with policies added, but for the backend, which is Other; cpu is not said.
template <class Step, class Other, class... Policies>
struct moved_step;
template <class Model, class Optimizer, class... Kept, class Other>
struct moved_step<train_step<Model, Optimizer, Kept...>, Other> {
  using type = std::conditional_t<std::is_same_v<Other, cpu>, train_step<Model, Optimizer, Kept...>,
                                  train_step<Model, Optimizer, Kept..., Other>>;
};
template <class Model, class Optimizer, class... Kept, class Other, class Policy, class... Rest>
struct moved_step<train_step<Model, Optimizer, Kept...>, Other, Policy, Rest...>
    : moved_step<std::conditional_t<is_backend<Policy>, train_step<Model, Optimizer, Kept...>,
                                    train_step<Model, Optimizer, Kept..., Policy>>,
                 Other, Rest...> {};

template <class Step, bool = TrainingStep<Step>>
struct facts_of_other_step {
  using backend = cpu;
  static constexpr bool is_step = false, is_sound = false;
};
template <class Step>
struct facts_of_other_step<Step, true> {
  using backend = typename Step::backend;
  template <class>
  using on = Step;
  static constexpr bool is_step = true, is_sound = true;
};
/// Where a step runs, and the same step elsewhere. Looks at the type alone, as its model may be a mistake.
template <class Step>
struct step_facts : facts_of_other_step<Step> {};
template <class Model, class Optimizer, class... Policies>
struct step_facts<train_step<Model, Optimizer, Policies...>> {
  using backend = typename backend_among<Policies...>::type;
  template <class Other>
  using on = typename moved_step<train_step<Model, Optimizer>, Other, Policies...>::type;
  static constexpr bool is_step = true, is_sound = !is_mistake<run_mistake<Model, Optimizer, Policies...>>;
};
template <class Step, class Backend>
using step_on = typename step_facts<Step>::template on<Backend>;
}  // namespace detail

/// How a GPU is given the launches of a step, which it repeats as one graph. Bits are the same.
enum class launch_order : std::uint8_t {
  fastest,   // of the two below, by the clock, as a trainer is made: some steps more
  in_order,  // each behind the one before it
  by_data,   // each behind those alone whose memory it touches, so that others may run beside it
};

/// When a kernel of such a graph begins. Bits are the same.
enum class launch_start : std::uint8_t {
  fastest,  // of the two below, by the clock; in turn before compute capability 9.0
  in_turn,  // when what it waits for is over
  early,    // when the blocks of what it waits for have begun: it waits itself, before it touches memory
};

/// What a trainer is told beside its step.
template <class Optimizer>
struct trainer_options {
  typename Optimizer::options optimizer{};
  double clip_norm = 1.0;                      // 0: no clipping
  loss_scaling scaling{};                      // of a step in f16
  delayed_scaling quantization{};              // of a step in f8
  launch_order order = launch_order::fastest;  // of a step on a GPU
  launch_start start = launch_start::fastest;  // likewise
};

namespace detail {
/// Throws `error`. options_mistake: what an optimizer says of its own, or null.
void check_trainer_options(const char* optimizer, const char* options_mistake, double clip_norm,
                           const loss_scaling& scaling, const delayed_scaling& quantization);
template <class Optimizer>
const trainer_options<Optimizer>& checked(const trainer_options<Optimizer>& o) {
  const char* mistake = nullptr;
  if constexpr (requires { o.optimizer.mistake(); }) mistake = o.optimizer.mistake();
  check_trainer_options(Optimizer::name, mistake, o.clip_norm, o.scaling, o.quantization);
  return o;
}
}  // namespace detail

/// Runs a step: trainer<step> where the step says, trainer<step, cuda> on the GPU (train/cuda_trainer.hpp),
/// whatever it says.
template <class For, class Backend = typename detail::step_facts<For>::backend>
class trainer {
  static_assert(std::is_same_v<Backend, cpu>, "trainer: for a step on the GPU include napkin/cuda.hpp");
  using Step = detail::step_on<For, Backend>;
  using table = decltype(parameter_table<typename Step::model>);
  using rule = typename Step::optimizer;

 public:
  using step_type = Step;
  using options = trainer_options<rule>;
  static constexpr std::size_t parameters = parameter_table<typename Step::model>.size();
  static constexpr std::size_t timed_kernels = detail::timed_kernels<Step>::count;
  static constexpr std::size_t quantized = Step::quantized_tensors;

  /// Parameters are drawn from streams named by seed and parameter. Throws system_error if the memory is not
  /// to be had, error where an option is out of its range.
  explicit trainer(seed s, options o = {})
      : options_(detail::checked(o)), memory_(Step::memory.peak - storage::header_bytes) {
    std::memset(memory_.data(), 0, memory_.bytes());
    auto* at = static_cast<std::byte*>(memory_.data());
    const auto take = [&at](std::size_t bytes) {
      std::byte* taken = at;
      at += bytes;
      return taken;
    };
    values_ = reinterpret_cast<float*>(take(Step::memory.parameters));
    gradients_ = reinterpret_cast<float*>(take(Step::memory.parameters));
    states_ = reinterpret_cast<float*>(take(Step::memory.optimizer_state));
    for (std::size_t i = 0; i < Step::data_inputs; ++i)
      data_[i] = take(passes::aligned(Step::input_bytes(i)));
    scalars_ = reinterpret_cast<float*>(take(passes::aligned(Step::layout.numbers * sizeof(float))));
    loss_ = reinterpret_cast<float*>(take(passes::alignment));
    norm_ = reinterpret_cast<float*>(take(passes::alignment));
    if constexpr (Step::scales_loss) {
      scale_.value = options_.scaling.initial;
      scale_at_ = reinterpret_cast<float*>(take(Step::scale_bytes));
    }
    if constexpr (quantized > 0) scales_ = {take(Step::scale_bytes), Step::quantized_rows};
    std::byte* const arena = take(Step::memory.intermediates);

    for (std::size_t i = 0; i < parameters; ++i)
      initialise(parameter_table<typename Step::model>[i], s.value, values_ + Step::layout.offset[i]);

    if constexpr (Step::adds_gradients) zero_run_ = make<typename Step::zero_plan>(arena, at);
    gradient_run_ = make<typename Step::gradient_plan>(arena, at);
    norm_run_ = make<typename Step::norm_plan>(arena, at);
    make_updates(arena, at, std::make_index_sequence<Step::update_runs>{});
    bind();
  }
  /// The optimizer's own options alone, {.weight_decay = 0}. A template: by {} the other is meant.
  template <class Options = typename rule::options>
  trainer(seed s, std::type_identity_t<Options> o) : trainer(s, options{.optimizer = o}) {}
  trainer(const trainer&) = delete;
  trainer& operator=(const trainer&) = delete;

  /// One step on a batch: data inputs of the loss in order, each as many elements as its axes have; with
  /// micro_batches<n>, n times as many, the batches behind one another. Their loss is the mean. Throws
  /// `error` where the learning rate is not finite: nothing is changed then.
  template <class... Data>
  auto step(double learning_rate, const Data&... data) {
    if constexpr (is_mistake<data_mistake<micro_batches, Data...>>) {
      return data_mistake<micro_batches, Data...>::raise();
    } else {
      const detail::step_data<Step> handed(micro_batches, data...);
      Step::fill(options_.optimizer, learning_rate, steps_ + 1, 1, scalars_);  // refused before all else
      double loss = 0;
      if constexpr (Step::scales_loss) *scale_at_ = scale_.value;
      if constexpr (quantized > 0) {
        scales_.set(options_.quantization);
        scales_.forget_runs();
      }
      if constexpr (Step::adds_gradients) run(zero_run_, timed::zeros);
      for (std::size_t k = 0; k < micro_batches; ++k) {
        load(k, handed);
        run(gradient_run_, timed::gradient);
        if constexpr (quantized > 0) scales_.add_run();
        loss += static_cast<double>(*loss_) / static_cast<double>(micro_batches);
      }
      return update(learning_rate, static_cast<float>(loss));
    }
  }
  template <detail::NoRate Given, class... Data>
  auto step(const Given&, const Data&...) {  // refused
    return detail::rate_mistake<Given>::raise();
  }

  /// The same, with a clock at each kernel and library call: timed_kernels numbers, their seconds, those of
  /// all micro-batches together, in the order of step_account::kernels.
  template <class... Data>
  auto step_timed(std::span<double> seconds, double learning_rate, const Data&... data) {
    if constexpr (is_mistake<data_mistake<micro_batches, Data...>>) {
      return data_mistake<micro_batches, Data...>::raise();
    } else {
      detail::require_places(seconds, timed_kernels);
      const detail::timed_scope scope(timed_, seconds);
      return step(learning_rate, data...);
    }
  }

  /// The loss of a batch (one micro-batch). Nothing that a step begins with is changed; the gradients of the
  /// step before may be overwritten, by a kernel that gives one beside the loss.
  template <class... Data>
  auto evaluate(const Data&... data) {
    if constexpr (is_mistake<data_mistake<1, Data...>>) {
      return data_mistake<1, Data...>::raise();
    } else {
      load(0, detail::step_data<Step>(1, data...));
      if constexpr (quantized > 0) scales_.set(options_.quantization);
      gradient_run_.run_first_output();
      return *loss_;
    }
  }

  /// Update the parameters by the gradients that lie there: what step does last. norm: theirs, of all.
  void apply_gradients(double learning_rate, double norm) {
    const double clip = clip_factor(norm, options_.clip_norm);
    Step::fill(options_.optimizer, learning_rate, steps_ + 1, clip, scalars_);
    ++steps_;
    for (std::size_t r = 0; r < Step::update_runs; ++r) run(update_runs_[r], timed::updates[r]);
  }
  /// NaN where a parameter or a state is not finite.
  double gradient_norm() {
    run(norm_run_, timed::norm);
    return std::sqrt(static_cast<double>(*norm_));
  }

  /// Updates made so far.
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t n) { steps_ = n; }

  /// What the loss of a step in f16 is multiplied with.
  loss_scale scale() const requires(Step::scales_loss) { return scale_; }
  void set_scale(loss_scale s) requires(Step::scales_loss) { scale_ = s; }
  /// Of the tensors that a step in f8 rounds.
  delayed_scales& scales() requires(quantized > 0) { return scales_; }
  const delayed_scales& scales() const requires(quantized > 0) { return scales_; }

  named_memory value(std::size_t i) const { return place(i, values_); }
  /// The gradient of all micro-batches, before clipping; after a step by muon a matrix's place has its
  /// direction.
  named_memory gradient(std::size_t i) const { return place(i, gradients_); }
  /// State s, of Step::states_of(i), of parameter i.
  named_memory state(std::size_t s, std::size_t i) const {
    return place(i, states_ + Step::state_offset(s, i) - Step::layout.offset[i]);
  }
  /// For a program that reads them alone, such as a generator of text: in order of the table.
  parameter_pointers<typename Step::model> value_pointers() const {
    parameter_pointers<typename Step::model> p{};
    for (std::size_t i = 0; i < parameters; ++i) p[i] = values_ + Step::layout.offset[i];
    return p;
  }

 private:
  static constexpr std::size_t data_inputs = Step::data_inputs;
  template <std::size_t Batches, class... Data>
  using data_mistake = detail::step_data_mistake<Step, Batches, Data...>;
  static constexpr std::size_t micro_batches = Step::micro_batches;
  // a constant of its own: in the type of an array nvcc 13 writes host code of it that does not compile
  static constexpr std::size_t most_operands = decltype(update_run::inputs)::capacity() + 2;

  options options_;
  storage memory_;
  float* values_ = nullptr;
  float* gradients_ = nullptr;
  float* states_ = nullptr;
  std::array<std::byte*, data_inputs> data_{};
  float* scalars_ = nullptr;
  float* loss_ = nullptr;
  float* norm_ = nullptr;
  float* scale_at_ = nullptr;  // where the plan reads it
  loss_scale scale_;
  delayed_scales scales_;
  std::int64_t steps_ = 0;
  std::span<double> timed_;                              // where times go; empty: nothing is timed
  on_cpu::executor zero_run_, gradient_run_, norm_run_;  // the first where gradients are added
  std::array<on_cpu::executor, Step::update_runs> update_runs_;

  using timed = detail::timed_kernels<Step>;
  void run(on_cpu::executor& plan, std::size_t first_timed) {
    if (timed_.empty())
      plan.run();
    else
      plan.run_timed({timed_.data() + first_timed, timed_.size() - first_timed});
  }

  step_result update(double learning_rate, float loss) {
    step_result r{loss, gradient_norm(), learning_rate, true};
    r.applied = std::isfinite(r.loss) && std::isfinite(r.norm);
    if constexpr (Step::scales_loss) scale_.update(r.applied, options_.scaling);
    if constexpr (quantized > 0) {
      r.applied = r.applied && scales_.finite();
      if (r.applied) scales_.keep(steps_);
    }
    if (r.applied) apply_gradients(learning_rate, r.norm);
    return r;
  }
  template <class Plan>
  static on_cpu::executor make(std::byte* arena, std::byte*& at) {
    std::byte* const tables = at;
    at += on_cpu::tables::bytes(Plan::view().count);
    return {Plan::view(), on_cpu::kernels_of<Plan>.data(), arena, tables};
  }
  named_memory place(std::size_t i, float* vector) const {
    const parameter_info& p = parameter_table<typename Step::model>[i];
    return {p.name, p.sizes, vector + Step::layout.offset[i], p.count};
  }

  template <std::size_t... Run>
  void make_updates(std::byte* arena, std::byte*& at, std::index_sequence<Run...>) {
    ((update_runs_[Run] = make<typename Step::template update_plan<Run>>(arena, at)), ...);
  }

  void bind() {
    constexpr std::size_t sums = parameters + data_inputs + (Step::scales_loss ? 1 : 0) + 2 * quantized;
    std::array<const void*, sums + (micro_batches > 1 ? parameters : 0)> in{};
    std::array<void*, 1 + parameters + quantized> out{loss_};
    for (std::size_t i = 0; i < parameters; ++i) {
      in[i] = values_ + Step::layout.offset[i];
      out[1 + i] = gradients_ + Step::layout.offset[i];
      if constexpr (micro_batches > 1) in[sums + i] = out[1 + i];
    }
    for (std::size_t i = 0; i < data_inputs; ++i) in[parameters + i] = data_[i];
    if constexpr (Step::scales_loss) in[parameters + data_inputs] = scale_at_;
    if constexpr (quantized > 0) {  // nvcc warns of a loop over none
      for (std::size_t i = 0; i < quantized; ++i) {
        in[parameters + data_inputs + i] = scales_.scale(i);
        in[parameters + data_inputs + quantized + i] = scales_.reciprocal(i);
        out[1 + parameters + i] = scales_.used(i);
      }
    }
    if constexpr (Step::adds_gradients) {
      void* const zeros[] = {gradients_};
      zero_run_.bind({}, zeros);
    }
    gradient_run_.bind(in, out);
    const void* const norm_in[] = {gradients_, values_, states_};
    void* const norm_out[] = {norm_};
    norm_run_.bind(norm_in, norm_out);
    for (std::size_t r = 0; r < Step::update_runs; ++r) bind_update(Step::updates[r], update_runs_[r]);
  }
  /// In place: no run writes what it has yet to read.
  void bind_update(const update_run& run, on_cpu::executor& to) {
    float* const vectors[] = {values_, gradients_, states_};
    const auto at = [&vectors](const update_operand& o) {
      return vectors[static_cast<int>(o.of)] + o.offset;
    };
    inplace_vector<const void*, most_operands> in;
    inplace_vector<void*, most_operands> out;
    for (const update_operand& o : run.inputs) in.push_back(at(o));
    for (const update_operand& o : run.outputs) out.push_back(at(o));
    for (int i = 0; i < 2; ++i) in.push_back(scalars_ + run.first_number);  // the first, and all
    to.bind(std::span<const void* const>(in.items, in.size()), std::span<void* const>(out.items, out.size()));
  }

  /// Batch k of those that lie behind one another.
  void load(std::size_t k, const detail::step_data<Step>& handed) {
    for (std::size_t i = 0; i < data_inputs; ++i) handed.write(i, k, data_[i]);
  }
};

namespace detail {
struct no_optimizer {
  struct options {};
};
/// What the rest of a program asks of a trainer that a rule refuses, on the CPU or on a GPU. Nothing of it
/// runs.
template <class Step, class Optimizer>
class refused_trainer : public failed {
  using rule = std::conditional_t<Optimizes<Optimizer>, Optimizer, no_optimizer>;

 public:
  using step_type = Step;
  using options = trainer_options<rule>;
  static constexpr std::size_t parameters = 0, timed_kernels = 0, quantized = 0, pinned_bytes = 0;

  /// Of whatever was given: a missing seed would be the next error. Options stand in braces; More is a
  /// session.
  template <class... Given>
  explicit refused_trainer(const Given&...) {}
  template <class... More>
  refused_trainer(seed, options, const More&...) {}
  template <class Options = typename rule::options, class... More>
  refused_trainer(seed, std::type_identity_t<Options>, const More&...) {}

  template <class... Data>
  step_result step(double, const Data&...) {
    return {};
  }
  template <class... Data>
  step_result step_timed(std::span<double>, double, const Data&...) {
    return {};
  }
  template <class... Data>
  float evaluate(const Data&...) {
    return 0;
  }
  template <class... Data>
  void stage(const Data&...) {}
  void launch(double, std::span<double> = {}) {}
  step_result wait() { return {}; }

  void apply_gradients(double, double) {}
  double gradient_norm() { return 0; }
  std::int64_t steps() const { return 0; }
  void set_steps(std::int64_t) {}
  loss_scale scale() const { return {}; }
  void set_scale(loss_scale) {}
  failed scales() const { return {}; }

  named_memory value(std::size_t) const { return {}; }
  named_memory gradient(std::size_t) const { return {}; }
  named_memory state(std::size_t, std::size_t) const { return {}; }
  failed value_pointers() const { return {}; }
  template <class... Where>
  void fetch(const Where&...) const {}
  template <class... Where>
  void store(const Where&...) {}

  launch_order order() const { return {}; }
  launch_start start() const { return {}; }
  void require_idle(const char*) const {}
  std::string algorithms() const { return {}; }
  template <class... Where>
  bool use_algorithms(std::string_view, const Where&...) {
    return false;
  }
  failed fallbacks() const { return {}; }
  std::size_t epilogues_apart() const { return 0; }
  std::size_t small_products() const { return 0; }
  std::size_t taken_products() const { return 0; }
};
}  // namespace detail

/// Of a step that a rule refuses: says so, and then lets the rest of the program through.
template <class Model, class Optimizer, class... Policies, class Backend>
requires(is_mistake<detail::run_mistake<Model, Optimizer, Policies...>>) class trainer<
    train_step<Model, Optimizer, Policies...>, Backend>
    : public detail::refused_trainer<train_step<Model, Optimizer, Policies...>, Optimizer> {
  using raised = decltype(detail::run_mistake<Model, Optimizer, Policies...>::raise());

 public:
  using detail::refused_trainer<train_step<Model, Optimizer, Policies...>, Optimizer>::refused_trainer;
};

/// Of what is no step, as a model is: the same.
template <class For, class Backend>
requires(!detail::step_facts<For>::is_step) class trainer<For, Backend>
    : public detail::refused_trainer<For, detail::no_optimizer> {
  using raised = decltype(detail::step_mistake_of<For>::raise());

 public:
  using detail::refused_trainer<For, detail::no_optimizer>::refused_trainer;
};

}  // namespace napkin
