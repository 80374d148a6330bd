// Running a training step on a GPU: one allocation there, sized by the compiler, and all of a step -
// gradient, norm, clipping, update - as one captured graph that is launched again and again. After
// construction nothing is allocated, on the device or pinned on the host.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "napkin/core/buffer.hpp"
#include "napkin/cuda/graph_capture.hpp"
#include "napkin/cuda/session.hpp"
#include "napkin/cuda/tensor.hpp"
#include "napkin/cuda/transfer.hpp"
#include "napkin/train/cuda_step_plans.hpp"
#include "napkin/train/finite.hpp"
#include "napkin/train/has_step_kernels.hpp"

namespace napkin {

namespace detail {
[[noreturn]] void throw_launched(const char* call);
[[noreturn]] void throw_unprepared(const char* call);
}  // namespace detail

/// The trainer of train/trainer.hpp, on a GPU. Differences:
///
/// - A step may be taken apart, so that the next batch goes over while the device computes:
///
///       trainer.stage(first...);
///       for (...) { trainer.launch(rate); trainer.stage(next...); step_result r = trainer.wait(); }
///
/// - `value`, `gradient`, `state` and `scales` are copies on the host: `fetch` makes them, `store` puts what
///   was changed back.
/// - A sticky error ends the process (cuda/error.hpp), so that nothing is saved of what it left.
///
/// The sum of a step is the same at every run with the same algorithms, which a checkpoint keeps.
template <class For>
requires(detail::has_step_kernels<For>) class trainer<For, cuda> {
  using Step = detail::step_on<For, cuda>;
  using rule = typename Step::optimizer;
  using plans = detail::step_plans<Step>;
  static constexpr cuda_step_layout layout = plans::layout;
  static_assert(layout.end == Step::memory.peak && layout.arena % 256 == 0);
  static_assert(offsetof(on_cuda::index_fault, noted) == 0, "the clipping graph reads it there, as a u32");

 public:
  using step_type = Step;
  using options = trainer_options<rule>;
  static constexpr std::size_t parameters = parameter_table<typename Step::model>.size();
  static constexpr std::size_t timed_kernels = detail::timed_kernels<Step>::count;
  static constexpr std::size_t quantized = Step::quantized_tensors;
  /// Of the host's memory, pinned: two batches on their way, and the numbers that go over and come back.
  static constexpr std::size_t pinned_bytes =
      2 * layout.batch_bytes + layout.number_bytes + layout.report_bytes;

  /// Work goes into the session's stream, which is the caller's if the session was given one, and to its
  /// device, whichever the calling thread uses. A session that the program made outlives this; a thread's own
  /// lives as long as this does. Products for which it has no algorithms are timed here, and these are added
  /// to it. Parameters are drawn as on the CPU.
  ///
  /// Errors  `cuda_error`; `error` where cuBLASLt runs no algorithm for a product that something follows;
  ///         `input_error` where kernels are to start early on a device that cannot
  explicit trainer(seed s, options o = {}, on_cuda::session& on = on_cuda::current_session(),
                   std::source_location where = std::source_location::current())
      : trainer(on.use(where), s, o, on, where) {}
  /// The optimizer's own options alone, {.weight_decay = 0}. A template: by {} the other is meant.
  template <class Options = typename rule::options>
  trainer(seed s, std::type_identity_t<Options> o, on_cuda::session& on = on_cuda::current_session(),
          std::source_location where = std::source_location::current())
      : trainer(s, options{.optimizer = o}, on, where) {}
  trainer(const trainer&) = delete;
  trainer& operator=(const trainer&) = delete;
  ~trainer() {  // a step under way still writes to pinned memory
    on_cuda::cuda_calls& calls = session_->calls();
    on_cuda::report_failure(calls, calls.stream_synchronize(session_->on().handle()),
                            "cudaStreamSynchronize");
  }

  /// One step on a batch: data inputs of the loss in order, each as many elements as its axes have; with
  /// micro_batches<n>, n times as many, the batches behind one another. Their loss is the mean.
  template <class... Data>
  auto step(double learning_rate, const Data&... data) {
    if constexpr (is_mistake<data_mistake<micro_batches, Data...>>) {
      return data_mistake<micro_batches, Data...>::raise();
    } else {
      return run_staged("step", learning_rate, {}, data...);
    }
  }
  template <detail::NoRate Given, class... Data>
  auto step(const Given&, const Data&...) {  // refused
    return detail::rate_mistake<Given>::raise();
  }

  /// The same, with a clock at each kernel and library call: timed_kernels numbers, their seconds, those of
  /// all micro-batches together, in the order of step_account::kernels. The calls are launched one by one.
  template <class... Data>
  auto step_timed(std::span<double> seconds, double learning_rate, const Data&... data) {
    if constexpr (is_mistake<data_mistake<micro_batches, Data...>>) {
      return data_mistake<micro_batches, Data...>::raise();
    } else {
      detail::require_places(seconds, timed_kernels);
      return run_staged("step_timed", learning_rate, seconds, data...);
    }
  }

  /// Begin to copy a batch over; it may be changed when this returns. At most two wait to be launched.
  template <class... Data>
  auto stage(const Data&... data) {
    if constexpr (is_mistake<data_mistake<micro_batches, Data...>>) {
      return data_mistake<micro_batches, Data...>::raise();
    } else {
      const detail::step_data<Step> handed(micro_batches, data...);
      batches_.stage(layout.batch_bytes, [&](std::span<std::byte> to) {
        for (std::size_t k = 0; k < micro_batches; ++k)
          for (std::size_t n = 0; n < data_inputs; ++n)
            handed.write(n, k, to.data() + k * layout.input_bytes + plans::offset_of_input(n));
      });
    }
  }
  /// Put a step on the oldest staged batch into the stream; if `seconds` has places, its kernels are timed as
  /// step_timed times them, and this returns when the last of them is over.
  void launch(double learning_rate, std::span<double> seconds = {}) {
    require_plans("launch");
    if (!seconds.empty()) detail::require_places(seconds, timed_kernels);
    fill_numbers(learning_rate, steps_ + 1);
    begin(learning_rate, seconds);
  }
  /// What the launched step came to, once it is over. Throws `input_error` where an index was outside its
  /// axis; nothing was changed then.
  step_result wait() {
    if (!launched_) throw error("trainer: no step is launched that could be waited for");
    launched_ = false;
    finished_.synchronize();
    throw_if_noted();
    const step_result r{reported_loss(), reported_norm(), rate_, reported<b8>(layout.applied)};
    if (r.applied) ++steps_;
    if constexpr (Step::scales_loss) scale_.update(r.applied, options_.scaling);
    return r;
  }

  /// The loss of a batch (one micro-batch). Nothing that a step begins with is changed, and staged batches
  /// stay so; the gradients of the step before may be overwritten, by a kernel that gives one with the loss.
  template <class... Data>
  auto evaluate(const Data&... data) {
    if constexpr (is_mistake<data_mistake<1, Data...>>) {
      return data_mistake<1, Data...>::raise();
    } else {
      require_idle("evaluate");
      const detail::step_data<Step> handed(1, data...);
      for (std::size_t i = 0; i < data_inputs; ++i) {
        std::span<const std::byte> bytes;
        if constexpr (handed.is_sized) {
          std::byte* const to = padded_.data() + plans::offset_of_input(i);  // copies may be under way
          handed.write(i, 0, to);
          bytes = {to, Step::input_bytes(i)};
        } else {
          bytes = handed.bytes(i);
        }
        on_cuda::copy_to_device(session_->on(), at(layout.inputs + plans::offset_of_input(i)), bytes);
      }
      loss_graph_.launch(session_->on());
      session_->on().synchronize();
      throw_if_noted();
      return reported<float>(plans::loss);
    }
  }

  /// Update the parameters by the gradients that lie there: what step does last. norm: theirs, of all.
  void apply_gradients(double learning_rate, double norm) {
    require_plans("apply_gradients");
    const on_cuda::using_device here = session_->use();
    fill_numbers(learning_rate, steps_ + 1);
    const auto clip = static_cast<float>(clip_factor(norm, options_.clip_norm));
    const b8 applied(true);
    const on_cuda::stream& on = session_->on();
    on_cuda::copy_to_device(on, at(layout.numbers), {pinned_.data(), layout.number_bytes});
    on_cuda::copy_to_device(on, at(layout.report + layout.clip), bytes_at(&clip, sizeof clip));
    on_cuda::copy_to_device(on, at(layout.report + layout.applied), bytes_at(&applied, sizeof applied));
    plans_.put_update(on);
    on.synchronize();
    ++steps_;
  }
  /// Of the gradients that lie there; NaN where a parameter or a state is not finite.
  double gradient_norm() {
    require_plans("gradient_norm");
    const on_cuda::using_device here = session_->use();
    const on_cuda::stream& on = session_->on();
    plans_.put_norm(on);
    on_cuda::copy_to_pinned(on, report(), at(layout.report));
    on.synchronize();
    return reported_norm();
  }

  /// How a step's launches are put: as the options say, or found fastest.
  launch_order order() const { return order_; }
  launch_start start() const { return start_; }

  /// Throws `error` where a step is launched that wait() has not seen the end of.
  void require_idle(const char* call) const {
    if (launched_) detail::throw_launched(call);
  }

  /// Updates made so far.
  std::int64_t steps() const { return steps_; }
  void set_steps(std::int64_t n) { steps_ = n; }

  /// What the loss of a step in f16 is multiplied with.
  loss_scale scale() const requires(Step::scales_loss) { return scale_; }
  void set_scale(loss_scale s) requires(Step::scales_loss) { scale_ = s; }
  /// Of the tensors that a step in f8 rounds: the host's copy.
  delayed_scales& scales() requires(quantized > 0) { return scales_; }
  const delayed_scales& scales() const requires(quantized > 0) { return scales_; }

  /// Copy parameters, gradients, states and scales to the host; waits for what is launched.
  void fetch(std::source_location where = std::source_location::current()) const {
    const std::span<const detail::tensor_on_host> relaid(relaid_.data(), relaid_.size());
    const storage room = detail::room_to_lay(relaid);  // first: without it they would stay as on the device
    on_cuda::copy_to_host(session_->on(), {static_cast<std::byte*>(host_.data()), layout.copies},
                          memory_.data(), where);
    detail::lay_behind_one_another(relaid, room);
  }
  /// Copy what the host has of them to the device, all of it: `fetch` before changing a part. Where a
  /// parameter or a state is not finite, steps change nothing.
  void store(std::source_location where = std::source_location::current()) {
    check_on_host();
    const detail::laid_by_rows while_copied({relaid_.data(), relaid_.size()});
    round_on_host();
    on_cuda::copy_to_device(session_->on(), memory_.data(),
                            {static_cast<const std::byte*>(host_.data()), host_.bytes()}, where);
    session_->on().synchronize(where);
  }
  // The host's copies.
  named_memory value(std::size_t i) const { return place(i, layout.parameters); }
  named_memory gradient(std::size_t i) const { return place(i, layout.gradients); }
  named_memory state(std::size_t s, std::size_t i) const {
    return place(i, layout.states + (Step::state_offset(s, i) - Step::layout.offset[i]) * sizeof(float));
  }
  /// For a program that reads them alone, such as a generator of text: in order of the table.
  parameter_pointers<typename Step::model> value_pointers() const {
    parameter_pointers<typename Step::model> p{};
    for (std::size_t i = 0; i < parameters; ++i) p[i] = value(i).data;
    return p;
  }

  /// Which algorithms run the products, as text for a checkpoint (cuda/blas_choices.hpp).
  std::string algorithms() const { return ran_.text(); }
  /// Of one step: products and epilogues that the plan gives to cuBLASLt, and it has no algorithm for here.
  on_cuda::blas_fallbacks fallbacks() const {
    return plans_.template sum_of<on_cuda::blas_fallbacks>(
        [](const on_cuda::executor& x) { return x.fallbacks(); });
  }
  /// Of one step: epilogues that the plan gives to a product's call, and the clock to kernels behind it.
  std::size_t epilogues_apart() const {
    return plans_.template sum_of<std::size_t>(
        [](const on_cuda::executor& x) { return x.epilogues_apart(); });
  }
  /// Of one step: products that the clock gives to a kernel of our own, not to cuBLASLt.
  std::size_t small_products() const {
    return plans_.template sum_of<std::size_t>([](const on_cuda::executor& x) { return x.small_products(); });
  }
  /// And products that the kernels which read them take in.
  std::size_t taken_products() const {
    return plans_.template sum_of<std::size_t>([](const on_cuda::executor& x) { return x.taken_products(); });
  }
  /// Run them by those of a text, where they run here; others are timed anew. Makes the plans' calls anew.
  /// Returns whether all that is run was in the text: if not, sums may round otherwise than in the run that
  /// wrote it.
  bool use_algorithms(std::string_view text, std::source_location where = std::source_location::current()) {
    require_idle("use_algorithms");
    on_cuda::blas_choices recorded;
    recorded.add(text);  // a damaged line is an algorithm that is not there
    storage kept(host_.bytes());
    const std::span<std::byte> all(static_cast<std::byte*>(kept.data()), kept.bytes());
    on_cuda::copy_to_host(session_->on(), all, memory_.data(), where);
    const auto restore = [&] {
      on_cuda::copy_to_device(session_->on(), memory_.data(), all, where);
      session_->on().synchronize(where);
    };
    on_cuda::blas_choices& choices = session_->choices();
    const on_cuda::blas_choices before = choices;  // other models of the session run by these
    choices = recorded;
    try {
      prepare(where);
    } catch (...) {  // no step can be launched, but what was trained is there
      restore();
      choices.add_missing(before);
      throw;
    }
    restore();
    const bool has_all = choices == recorded;
    choices.add_missing(before);
    return has_all;
  }

 private:
  static constexpr std::size_t data_inputs = Step::data_inputs;
  static constexpr std::size_t micro_batches = Step::micro_batches;
  template <std::size_t Batches, class... Data>
  using data_mistake = detail::step_data_mistake<Step, Batches, Data...>;

  /// With the session's device in use.
  trainer(const on_cuda::using_device&, seed s, const options& o, on_cuda::session& on,
          std::source_location where)
      : options_(detail::checked(o)),
        scale_{o.scaling.initial, 0},
        session_(&on),
        kept_(on.weak_from_this().lock()),
        capture_(on.calls(), where),
        memory_(on.calls(), Step::memory.peak, where),
        plans_(on, memory_.data()),
        pinned_(on.calls(), layout.number_bytes + layout.report_bytes, where),
        batches_(on.calls(), layout.batch_bytes, at(layout.slots), where),
        finished_(on.calls(), false, where),
        host_(layout.arena),
        padded_(Step::data_inputs > model_graph<typename Step::model>::inputs::count ? layout.input_bytes
                                                                                     : 0) {
    std::memset(host_.data(), 0, host_.bytes());
    if constexpr (quantized > 0) scales_ = {reinterpret_cast<std::byte*>(on_host(layout.scales)), quantized};
    for (std::size_t i = 0; i < parameters; ++i)
      initialise(parameter_table<typename Step::model>[i], s.value,
                 on_host(layout.parameters) + Step::layout.offset[i]);
    relaid_ = detail::list_relaid(*this);
    std::memset(pinned_.data(), 0, pinned_.size());
    on_cuda::fill_with_zeros(session_->on(), memory_.data(), memory_.size(), where);
    store(where);  // products are timed on what they will multiply
    prepare(where);
    store(where);
  }

  options options_;
  loss_scale scale_;
  on_cuda::session* session_;
  std::shared_ptr<on_cuda::session> kept_;  // that one, where it is a thread's own
  on_cuda::stream capture_;  // only for capturing: the session's may be the default stream, which cannot
  on_cuda::device_memory memory_;
  plans plans_;
  on_cuda::pinned_memory pinned_;  // the numbers, the report
  on_cuda::staging batches_;
  on_cuda::event finished_;
  storage host_;
  buffer<detail::tensor_on_host> relaid_;  // of what `fetch` and `store` copy
  buffer<std::byte> padded_;  // where axes are sized at run time: inputs that `evaluate` was handed
  delayed_scales scales_;
  on_cuda::captured_graph step_graph_, loss_graph_;
  launch_order order_ = launch_order::in_order;
  launch_start start_ = launch_start::in_turn;
  on_cuda::blas_choices ran_;  // of the session's, when plans were made: others may replace those since
  std::int64_t steps_ = 0;
  double rate_ = 0;
  bool launched_ = false, prepared_ = false;

  /// A step on a batch of its own. A rate that is refused is refused before the batch is staged.
  template <class... Data>
  step_result run_staged(const char* call, double learning_rate, std::span<double> seconds,
                         const Data&... data) {
    require_plans(call);
    if (batches_.waiting() != 0)
      throw error("trainer: a batch is staged already: launch(rate) takes it, " + std::string(call) +
                  " brings its own");
    fill_numbers(learning_rate, steps_ + 1);
    stage(data...);
    begin(learning_rate, seconds);
    return wait();
  }
  /// The oldest staged batch, with the numbers that lie there.
  void begin(double learning_rate, std::span<double> seconds) {
    batches_.deliver(session_->on(), at(layout.batches));
    if (seconds.empty()) {
      step_graph_.launch(session_->on());
    } else {
      for (double& each : seconds) each = 0;
      const on_cuda::using_device here = session_->use();
      typename plans::way by;
      by.seconds = seconds;
      put_step(session_->on(), std::source_location::current(), by);
    }
    finished_.record(session_->on());
    rate_ = learning_rate;
    launched_ = true;
  }
  /// Of what runs plans; `evaluate` has a graph, which says so where there is none.
  void require_plans(const char* call) const {
    require_idle(call);
    if (!prepared_) detail::throw_unprepared(call);
  }

  std::byte* at(std::size_t offset) const { return memory_.data() + offset; }
  float* on_host(std::size_t offset) const {
    return reinterpret_cast<float*>(static_cast<std::byte*>(const_cast<void*>(host_.data())) + offset);
  }
  named_memory place(std::size_t i, std::size_t vector) const {
    const parameter_info& p = parameter_table<typename Step::model>[i];
    return {p.name, p.sizes, on_host(vector) + Step::layout.offset[i], p.count};
  }

  /// Says of the host's parameters and states, padding too, what the update says of the device's.
  void check_on_host() {
    const bool finite = detail::all_finite({on_host(layout.parameters), Step::layout.length}) &&
                        detail::all_finite({on_host(layout.states), Step::layout.state_length});
    for (std::size_t i = 0; i < Step::layout.checks(); ++i)
      on_host(layout.checks)[i] = finite ? 0.0f : std::numeric_limits<float>::quiet_NaN();
  }

  /// The parameters' narrow copies, as the update writes the device's.
  void round_on_host() {
    if constexpr (Step::keeps_copies) {
      const float* const from = on_host(layout.parameters);
      auto* const to = reinterpret_cast<typename Step::copy_type*>(on_host(layout.copies));
      for (std::size_t i = 0; i < Step::layout.length; ++i) to[i] = typename Step::copy_type(from[i]);
    }
  }

  // ---- what goes over with a step, and comes back
  static std::span<const std::byte> bytes_at(const void* at, std::size_t bytes) {
    return {static_cast<const std::byte*>(at), bytes};
  }
  std::span<std::byte> report() const { return {pinned_.data() + layout.number_bytes, layout.report_bytes}; }
  template <class T>
  T reported(std::size_t offset) const {
    T x;
    std::memcpy(&x, report().data() + offset, sizeof x);
    return x;
  }
  /// The mean of the micro-batches'.
  float reported_loss() const {
    double mean = 0;
    for (std::size_t k = 0; k < micro_batches; ++k)
      mean += static_cast<double>(reported<float>(layout.losses + k * sizeof(float))) /
              static_cast<double>(micro_batches);
    return static_cast<float>(mean);
  }
  double reported_norm() const { return std::sqrt(static_cast<double>(reported<float>(layout.squares))); }
  void throw_if_noted() const { on_cuda::throw_if_noted(reported<on_cuda::index_fault>(layout.fault)); }
  /// But for the first of each group, the clipping factor, which the device finds itself.
  void fill_numbers(double learning_rate, std::int64_t step) {
    std::memcpy(pinned_.data() + layout.most, &options_.clip_norm, sizeof options_.clip_norm);
    Step::fill(options_.optimizer, learning_rate, step, 1,
               reinterpret_cast<float*>(pinned_.data() + layout.first_number));
    if constexpr (Step::scales_loss)
      std::memcpy(pinned_.data() + layout.scale, &scale_.value, sizeof scale_.value);
    if constexpr (quantized > 0) {
      const on_cuda::scale_settings by{static_cast<std::uint64_t>(step - 1), options_.quantization.margin};
      std::memcpy(pinned_.data() + layout.scale, &by, sizeof by);
    }
  }

  // ---- plans, captured
  /// Overwrites parameters, gradients, states, and what is said of them. By numbers of a step whose rate is
  /// 0: products are timed on parameters as they are, and the loss's graph reads what scales are set by.
  void prepare(std::source_location where) {
    const on_cuda::using_device here = session_->use(where);
    session_->choices().forget_asked();
    prepared_ = false;
    step_graph_ = {};
    loss_graph_ = {};
    fill_numbers(0, steps_ + 1);
    on_cuda::copy_to_device(session_->on(), at(layout.numbers), {pinned_.data(), layout.number_bytes}, where);
    plans_.make(where);
    // Once outside of a capture, in which modules cannot be loaded everywhere, and errors say less.
    plans_.run_and_time(where);
    session_->on().synchronize(where);
    capture_step(where);
    loss_graph_ = on_cuda::captured_graph(
        capture_,
        [&] {
          forget_fault(capture_, where);
          plans_.put_loss(capture_, where);
          on_cuda::copy_to_pinned(capture_, report(), at(layout.report), where);
        },
        where);
    capture_.synchronize(where);  // graphs went over on it, and are launched on the session's
    ran_ = session_->choices().asked();
    prepared_ = true;
  }
  void capture_step(std::source_location where) {
    const auto way = [&](launch_order order, launch_start start) {
      typename plans::way by;
      by.by_data = order == launch_order::by_data;
      if (start == launch_start::early) by.start = on_cuda::kernel_start::early;
      return [=, this] { put_step(capture_, where, by); };
    };
    const auto keep_faster = [&](launch_order order, launch_start start) {
      if (on_cuda::keep_faster(step_graph_, capture_, way(order, start), session_->on(), where))
        order_ = order, start_ = start;
    };
    const bool starts_early = options_.start != launch_start::in_turn &&
                              on_cuda::can_start_early(session_->calls(), where) && plans_.may_start_early();
    if (options_.start == launch_start::early && !starts_early)
      throw input_error(
          "trainer: kernels start early on devices of compute capability 9.0 or later, compiled for these: "
          "launch_start::in_turn");
    const bool finds_order = options_.order == launch_order::fastest,
               finds_start = options_.start == launch_start::fastest;
    order_ = finds_order ? launch_order::in_order : options_.order;
    start_ = finds_start ? launch_start::in_turn : options_.start;
    step_graph_ = on_cuda::captured_graph(capture_, way(order_, start_), where);
    if (finds_order && plans_.has_calls_beside()) keep_faster(launch_order::by_data, start_);
    if (finds_start && starts_early) keep_faster(order_, launch_start::early);
  }
  /// All of a step but the batch's copy to the device.
  void put_step(const on_cuda::stream& on, std::source_location where, const typename plans::way& by) {
    forget_fault(on, where);
    on_cuda::copy_to_device(on, at(layout.numbers), {pinned_.data(), layout.number_bytes}, where);
    plans_.put(on, where, by);
    on_cuda::copy_to_pinned(on, report(), at(layout.report), where);
  }
  void forget_fault(const on_cuda::stream& on, std::source_location where) {
    on_cuda::fill_with_zeros(on, at(layout.report + layout.fault), cuda_step_layout::piece, where);
  }
};

/// Where no compiler of kernels is: says so, and then lets the rest of the program through.
template <class For>
requires(detail::step_facts<For>::is_sound && !detail::has_step_kernels<For>) class trainer<For, cuda>
    : public detail::refused_trainer<For, typename For::optimizer> {
  using raised = decltype(rule::trainer_needs_kernels<fact::type<For>>::raise());

 public:
  using detail::refused_trainer<For, typename For::optimizer>::refused_trainer;
};

}  // namespace napkin
