// How a rung's file makes its cases: functions and their gradients as plans, training steps as trainers. nvcc
// compiles a rung for the device; any other compiler, with tests/support, for the host that plays one, at
// sizes that it can bear.
#pragma once

#include <algorithm>
#include <memory>
#include <napkin/cuda.hpp>
#include <napkin/train/step_account.hpp>
#include <napkin/train/step_account_text.hpp>
#include <string>
#include <tuple>
#include <utility>

#include "case.hpp"

#if !defined(__CUDACC__)
#include "support/host_kernels.hpp"
#endif

namespace napkin::benched {

/// A size on the device, and on the host that plays one.
constexpr std::size_t sized([[maybe_unused]] std::size_t on_device, [[maybe_unused]] std::size_t on_host) {
#if defined(__CUDACC__)
  return on_device;
#else
  return on_host;
#endif
}

// ---- functions

namespace detail {

template <class F, class... Inputs, std::size_t... I>
constexpr graph trace(std::index_sequence<I...>) {
  builder b;
  const auto given = F{}(Inputs(&b, b.input(static_cast<int>(I), dtype_of<typename Inputs::element>,
                                            napkin::detail::shape_over<axes_of<Inputs>>))...);
  if constexpr (Traced<std::remove_cvref_t<decltype(given)>>)
    b.output(given.id);
  else
    std::apply([&b](const auto&... x) { (b.output(x.id), ...); }, given);
  const graph g = b.take();
  return passes::find_attention(g.view(), on_cuda::attention_fits{});
}

}  // namespace detail

/// The graph of a function as nk::fn takes one, which may give a tuple.
template <class F, class... Inputs>
struct function_graph {
  static constexpr graph make() { return detail::trace<F, Inputs...>(std::index_sequence_for<Inputs...>{}); }
};

template <std::size_t... Argument>
using in_arguments = std::index_sequence<Argument...>;

/// What a function gives, a scalar and perhaps more, and the scalar's gradients in some of its arguments.
/// Kept: the first of these that are outputs; 1 leaves the scalar out.
template <class F, std::size_t FirstKept, class Arguments, class... Inputs>
struct gradient_graph;
template <class F, std::size_t FirstKept, std::size_t... Argument, class... Inputs>
struct gradient_graph<F, FirstKept, in_arguments<Argument...>, Inputs...> {
  static constexpr graph make() {
    const graph f = function_graph<F, Inputs...>::make();
    const std::int32_t wanted[] = {argument(f.view(), static_cast<std::int32_t>(Argument))...};
    graph g = passes::differentiate(f.view(), wanted);
    buffer<std::int32_t> kept;
    for (std::size_t o = FirstKept; o < g.outputs.size(); ++o) kept.push_back(g.outputs[o]);
    g.outputs = std::move(kept);
    return g;
  }

 private:
  static constexpr std::int32_t argument(const graph_view& g, std::int32_t slot) {
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(g.size()); ++id)
      if (g[id].kind == op::input && g.attribute(id, 0) == slot) return id;
    return -1;
  }
};

// ---- their plans

namespace detail {

inline array array_of(const graph_view& g, std::int32_t id) {
  const shape& s = g.shape_of(id);
  return {"", g[id].type, {s.begin(), s.end()}};
}

/// The executor of a plan, with what it notes of indices in front of its arena.
class running_plan : public running {
 public:
  static constexpr std::size_t note_bytes = 256;

  running_plan(on_cuda::session& s, const on_cuda::plan_view& plan, const on_cuda::kernel_entry* kernels,
               std::byte* memory)
      : session_(&s),
        run_(plan, kernels, memory + note_bytes, reinterpret_cast<on_cuda::index_fault*>(memory), s.blas(),
             s.choices()) {
    on_cuda::fill_with_zeros(s.on(), memory, note_bytes);
  }
  void bind(std::span<const void* const> inputs, std::span<void* const> outputs) override {
    inputs_.assign(inputs.begin(), inputs.end());
    outputs_.assign(outputs.begin(), outputs.end());
    run_.bind(inputs_, outputs_);
    run_.choose_by_time(session_->on(), session_->choices());
  }
  void run() override { run_.run(session_->on()); }

 private:
  on_cuda::session* session_;
  on_cuda::executor run_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

}  // namespace detail

/// A graph's plan for the device. nvcc 13 misspells a plan that is named outside of a template.
template <class Graph>
struct lowered {
  using plan = on_cuda::frozen_plan<Graph>;
  static constexpr std::size_t memory = detail::running_plan::note_bytes + plan::value.peak;  // bytes

  static constexpr cost_sheet cost() { return planning::cost_of(plan::view(), plan::graph()); }
  static std::unique_ptr<running> open(on_cuda::session& s, std::byte* memory) {
    return std::make_unique<detail::running_plan>(s, plan::view(), on_cuda::compiled_kernels<plan>::table(),
                                                  memory);
  }
};

template <class Graph>
rung_case case_of(std::string name) {
  rung_case c;
  c.name = std::move(name);
  const graph_view g = frozen<Graph>::view();
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(g.size()); ++id) {
    if (g[id].kind != op::input) continue;
    const auto slot = static_cast<std::size_t>(g.attribute(id, 0));
    if (slot >= c.inputs.size()) c.inputs.resize(slot + 1);
    c.inputs[slot] = detail::array_of(g, id);
  }
  for (const std::int32_t id : g.output_ids()) c.outputs.push_back(detail::array_of(g, id));
  c.cost = lowered<Graph>::cost();
  c.memory = lowered<Graph>::memory;
  c.open = &lowered<Graph>::open;
  return c;
}
/// Of a function, or of its gradients.
template <class F, class... Inputs>
rung_case function_case(std::string name) {
  return case_of<function_graph<F, Inputs...>>(std::move(name));
}

/// Cases of types that have `make()`. A program derives a struct from it: nvcc 13 misspells types with
/// strings in them within functions.
template <class... Cases>
struct case_list {
  static std::vector<rung_case> make() { return {Cases::make()...}; }
};

// ---- training steps

namespace detail {

template <class Step>
class training_step : public training {
 public:
  training_step(on_cuda::session& s, launch_start start) : trainer_(seed{1}, options(start), s) {}

  void step(double rate, std::span<const void* const> batches, std::span<float> losses) override {
    const std::size_t count = batches.size() / Step::data_inputs;
    const auto stage = [&](std::size_t i) {
      stage_batch(batches.subspan(i % count * Step::data_inputs),
                  std::make_index_sequence<Step::data_inputs>{});
    };
    stage(0);
    for (std::size_t i = 0; i < losses.size(); ++i) {
      trainer_.launch(rate);
      if (i + 1 < losses.size()) stage(i + 1);
      const step_result r = trainer_.wait();
      if (!r.applied) throw error("step " + std::to_string(i) + ": loss or gradient is not finite");
      losses[i] = r.loss;
    }
  }
  std::string account(const std::string& name, const std::string& device, double rate,
                      std::span<const void* const> batches) override {
    const std::size_t count = batches.size() / Step::data_inputs;
    step_recorder recorder(trainer_type::timed_kernels);
    for (std::size_t i = 0; i < account_steps; ++i) {
      const bool timed = recorder.begin();
      stage_batch(batches.subspan(i % count * Step::data_inputs),
                  std::make_index_sequence<Step::data_inputs>{});
      trainer_.launch(rate, timed ? recorder.kernels() : std::span<double>{});
      recorder.end(static_cast<std::int64_t>(i), static_cast<double>(trainer_.wait().loss));
    }
    step_account a = account_of<Step>(name, device_named(device));
    add_timing(a, recorder.timing(), recorder.losses());
    return account_table(a);
  }
  const char* order() const override {
    order_ = trainer_.order() == launch_order::by_data ? "by data" : "in order";
    if (trainer_.start() == launch_start::early) order_ += ", early";
    if (const std::size_t small = trainer_.small_products(); small > 0)
      order_ += "; " + std::to_string(small) + " products by our own kernel";
    if (const std::size_t taken = trainer_.taken_products(); taken > 0)
      order_ += "; " + std::to_string(taken) + " within the kernels that read them";
    return order_.c_str();
  }
  void read(float* to) override {
    trainer_.fetch();
    for (std::size_t i = 0; i < trainer_.parameters; ++i) {
      const named_memory p = trainer_.value(i);
      to = std::copy_n(static_cast<const float*>(p.data), p.count, to);
    }
  }
  void write(const float* from) override {
    trainer_.fetch();
    for (std::size_t i = 0; i < trainer_.parameters; ++i) {
      const named_memory p = trainer_.value(i);
      std::copy_n(from, p.count, static_cast<float*>(p.data));
      from += p.count;
    }
    trainer_.store();
  }

 private:
  using trainer_type = trainer<Step, cuda>;
  static constexpr std::size_t account_steps = 24;  // the recorder times seven of them by kernel
  /// Without momentum a step is not clipped, as its peers are not.
  static typename trainer_type::options options(launch_start start) {
    typename trainer_type::options o;
    o.start = start;
    if (Step::optimizer::states == 0) o.clip_norm = 0;
    return o;
  }
  template <std::size_t... I>
  void stage_batch(std::span<const void* const> of, std::index_sequence<I...>) {
    trainer_.stage(std::span(static_cast<const std::byte*>(of[I]), Step::input_bytes(I))...);
  }

  trainer_type trainer_;
  mutable std::string order_;  // what was last told
};

}  // namespace detail

template <class Step>
rung_case step_case(std::string name) {
  rung_case c;
  c.name = std::move(name);
  const graph_view g = Step::forward_graph();
  constexpr std::size_t parameters = parameter_table<typename Step::model>.size();
  c.inputs.resize(Step::data_inputs);
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(g.size()); ++id)
    if (g[id].kind == op::input && static_cast<std::size_t>(g.attribute(id, 0)) >= parameters)
      c.inputs.at(static_cast<std::size_t>(g.attribute(id, 0)) - parameters) = detail::array_of(g, id);
  for (const parameter_info& p : parameter_table<typename Step::model>)
    c.parameters.push_back({std::string(p.name), dtype::f32, {p.sizes.begin(), p.sizes.end()}});
  c.cost = Step::cost;
  c.memory = Step::memory.peak;
  c.facts["of the gradient's launches one after the other, by data"] =
      longest_chain(Step::gradient_plan::view());
  c.train = [](on_cuda::session& s, launch_start start) -> std::unique_ptr<training> {
    return std::make_unique<detail::training_step<Step>>(s, start);
  };
  return c;
}

}  // namespace napkin::benched
