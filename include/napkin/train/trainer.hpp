// Running a training step on the CPU: one allocation, made at construction and sized by the compiler; after
// it a step allocates nothing.
#pragma once

#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "napkin/core/random.hpp"
#include "napkin/cpu/executor.hpp"
#include "napkin/optim/clip.hpp"
#include "napkin/tensor/create.hpp"
#include "napkin/train/step.hpp"

namespace napkin {

namespace rule {
/// expected<inputs of the loss>, given<n>
template <class... Facts>
struct wrong_number_of_inputs {
  NAPKIN_SAYS("trainer: one argument for each input of the model's loss, after the learning rate")
  auto raise() { return refusal{}; }
};
}  // namespace rule

namespace detail {
/// Data input i of a step's loss, as bytes. `input_error` if there are more or fewer than its axes have.
template <class Step, class Data>
std::span<const std::byte> bytes_of_input(std::size_t i, const Data& d) {
  const auto bytes = std::as_bytes(std::span(d.data(), std::size(d)));
  if (bytes.size() != Step::input_bytes(i))
    throw input_error("trainer: input " + std::to_string(i) + " of the loss takes " +
                      std::to_string(Step::input_bytes(i)) + " bytes, " + std::to_string(bytes.size()) +
                      " were given");
  return bytes;
}
}  // namespace detail

/// A parameter, or a state that belongs to it, where it lies.
struct named_memory {
  std::string_view name;
  shape sizes;
  float* data = nullptr;
  std::size_t count = 0;  // elements
};

struct step_result {
  float loss = 0;       // before the update
  double norm = 0;      // of all gradients together, before clipping
  double rate = 0;      // learning rate
  bool applied = true;  // false: loss or norm was not finite, and nothing was changed
};

namespace detail {
/// Where a step runs, and the same step elsewhere. Looks at the type alone, as its model may be a mistake.
template <class Step>
struct step_facts {
  using backend = typename Step::backend;
  template <class>
  using on = Step;
  static constexpr bool is_sound = true;
};
template <class Model, class Optimizer, class Backend>
struct step_facts<train_step<Model, Optimizer, Backend>> {
  using backend = Backend;
  template <class Other>
  using on = train_step<Model, Optimizer, Other>;
  static constexpr bool is_sound = !is_mistake<model_mistake<Model>>;
};
template <class Step, class Backend>
using step_on = typename step_facts<Step>::template on<Backend>;
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
  struct options {
    typename rule::options optimizer{};
    double clip_norm = 1.0;  // 0: no clipping
  };
  static constexpr std::size_t parameters = parameter_table<typename Step::model>.size();

  /// Parameters are drawn from streams named by seed and parameter. Throws system_error if the memory is not
  /// to be had.
  explicit trainer(seed s, options o = {}) : options_(o), memory_(Step::memory.peak) {
    std::memset(memory_.data(), 0, memory_.bytes());
    auto* at = static_cast<std::byte*>(memory_.data());
    const auto take = [&at](std::size_t bytes) {
      std::byte* taken = at;
      at += bytes;
      return taken;
    };
    values_ = reinterpret_cast<float*>(take(Step::memory.parameters));
    gradients_ = reinterpret_cast<float*>(take(Step::memory.gradients));
    for (auto& state : states_) state = reinterpret_cast<float*>(take(Step::memory.parameters));
    for (std::size_t i = 0; i < Step::data_inputs; ++i)
      data_[i] = take(passes::aligned(Step::input_bytes(i)));
    scalars_ = reinterpret_cast<float*>(take(passes::aligned(2 * rule::scalars * sizeof(float))));
    loss_ = reinterpret_cast<float*>(take(passes::alignment));
    norm_ = reinterpret_cast<float*>(take(passes::alignment));
    std::byte* arena = at;

    for (std::size_t i = 0; i < parameters; ++i)
      initialise(parameter_table<typename Step::model>[i], s.value, values_ + Step::layout.offset[i]);

    gradient_run_ = make<typename Step::gradient_plan>(arena);
    norm_run_ = make<typename Step::norm_plan>(arena);
    decayed_run_ = make<typename Step::decayed_plan>(arena);
    rest_run_ = make<typename Step::rest_plan>(arena);
    bind();
  }
  trainer(const trainer&) = delete;
  trainer& operator=(const trainer&) = delete;

  /// One step on a batch: data inputs of the loss in order, each as many elements as its axes have.
  template <class... Data>
  auto step(double learning_rate, const Data&... data) {
    if constexpr (sizeof...(Data) != data_inputs) {
      return inputs_mistake<sizeof...(Data)>::raise();
    } else {
      load(data...);
      return step_on_loaded(learning_rate);
    }
  }

  /// The loss of a batch, nothing changed.
  template <class... Data>
  auto evaluate(const Data&... data) {
    if constexpr (sizeof...(Data) != data_inputs) {
      return inputs_mistake<sizeof...(Data)>::raise();
    } else {
      load(data...);
      gradient_run_->run_first_output();
      return *loss_;
    }
  }

  /// Update the parameters by the gradients that lie there: what step does last. norm: theirs, of all.
  void apply_gradients(double learning_rate, double norm) {
    ++steps_;
    const double clip = clip_factor(norm, options_.clip_norm);
    rule::fill(options_.optimizer, learning_rate, true, steps_, clip, scalars_);
    rule::fill(options_.optimizer, learning_rate, false, steps_, clip, scalars_ + rule::scalars);
    if constexpr (Step::layout.decayed > 0) decayed_run_->run();
    if constexpr (Step::layout.rest > 0) rest_run_->run();
  }
  double gradient_norm() {
    norm_run_->run();
    return std::sqrt(static_cast<double>(*norm_));
  }

  /// Updates made so far.
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t n) { steps_ = n; }

  named_memory value(std::size_t i) const { return place(i, values_); }
  named_memory gradient(std::size_t i) const { return place(i, gradients_); }
  named_memory state(std::size_t s, std::size_t i) const { return place(i, states_[s]); }
  /// For a program that reads them alone, such as a generator of text: in order of the table.
  std::array<const void*, parameters> value_pointers() const {
    std::array<const void*, parameters> p{};
    for (std::size_t i = 0; i < parameters; ++i) p[i] = values_ + Step::layout.offset[i];
    return p;
  }

 private:
  static constexpr std::size_t data_inputs = Step::data_inputs;
  template <std::size_t Given>
  using inputs_mistake =
      napkin::rule::wrong_number_of_inputs<fact::type<Step>, fact::expected<data_inputs>, fact::given<Given>>;
  static constexpr std::size_t vectors = 2 + rule::states;

  options options_;
  storage memory_;
  float* values_ = nullptr;
  float* gradients_ = nullptr;
  std::array<float*, rule::states> states_{};
  std::array<std::byte*, data_inputs> data_{};
  float* scalars_ = nullptr;
  float* loss_ = nullptr;
  float* norm_ = nullptr;
  std::int64_t steps_ = 0;
  std::unique_ptr<on_cpu::executor> gradient_run_, norm_run_, decayed_run_, rest_run_;
  std::vector<const void*> model_inputs_, decayed_inputs_, rest_inputs_, norm_inputs_;
  std::vector<void*> gradient_outputs_, decayed_outputs_, rest_outputs_, norm_outputs_;

  step_result step_on_loaded(double learning_rate) {
    gradient_run_->run();
    step_result r{*loss_, gradient_norm(), learning_rate, true};
    if (!std::isfinite(r.loss) || !std::isfinite(r.norm)) {
      r.applied = false;
      return r;
    }
    apply_gradients(learning_rate, r.norm);
    return r;
  }
  template <class Plan>
  static std::unique_ptr<on_cpu::executor> make(std::byte* arena) {
    return std::make_unique<on_cpu::executor>(Plan::view(), on_cpu::kernels_of<Plan>.data(), arena);
  }
  named_memory place(std::size_t i, float* vector) const {
    const parameter_info& p = parameter_table<typename Step::model>[i];
    return {p.name, p.sizes, vector + Step::layout.offset[i], p.count};
  }

  void bind() {
    for (std::size_t i = 0; i < parameters; ++i) model_inputs_.push_back(values_ + Step::layout.offset[i]);
    for (std::byte* d : data_) model_inputs_.push_back(d);
    gradient_outputs_.push_back(loss_);
    for (std::size_t i = 0; i < parameters; ++i)
      gradient_outputs_.push_back(gradients_ + Step::layout.offset[i]);
    norm_inputs_.push_back(gradients_);
    norm_outputs_.push_back(norm_);
    const auto group = [this](std::vector<const void*>& in, std::vector<void*>& out, std::size_t begin,
                              float* scalars) {
      in.push_back(values_ + begin);
      in.push_back(gradients_ + begin);
      out.push_back(values_ + begin);  // in place: each element is read before it is written
      for (float* s : states_) {
        in.push_back(s + begin);
        out.push_back(s + begin);
      }
      for (std::size_t i = 0; i < rule::scalars; ++i) in.push_back(scalars + i);
    };
    group(decayed_inputs_, decayed_outputs_, 0, scalars_);
    group(rest_inputs_, rest_outputs_, Step::layout.decayed, scalars_ + rule::scalars);
    gradient_run_->bind(model_inputs_, gradient_outputs_);
    norm_run_->bind(norm_inputs_, norm_outputs_);
    decayed_run_->bind(decayed_inputs_, decayed_outputs_);
    rest_run_->bind(rest_inputs_, rest_outputs_);
  }

  template <class... Data>
  void load(const Data&... data) {
    std::size_t i = 0;
    const auto one = [&](const auto& d) {
      const auto bytes = detail::bytes_of_input<Step>(i, d);
      std::memcpy(data_[i], bytes.data(), bytes.size());
      ++i;
    };
    (one(data), ...);
  }
};

/// Of a model that a rule refuses: says so, and then lets the rest of the program through.
template <class Model, class Optimizer, class Where, class Backend>
requires(is_mistake<detail::model_mistake<Model>>) class trainer<train_step<Model, Optimizer, Where>, Backend>
    : public failed {
  using raised = decltype(detail::model_mistake<Model>::raise());

 public:
  struct options {
    typename Optimizer::options optimizer{};
    double clip_norm = 1.0;
  };
  static constexpr std::size_t parameters = 0;

  explicit trainer(seed) {}
  trainer(seed, options) {}
  template <class... Data>
  step_result step(double, const Data&...) {
    return {};
  }
  template <class... Data>
  float evaluate(const Data&...) {
    return 0;
  }
};

}  // namespace napkin
