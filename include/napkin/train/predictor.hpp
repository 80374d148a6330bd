// A function of a trained model, forward only: what it says of new data.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "napkin/core/error.hpp"
#include "napkin/cpu/attention.hpp"
#include "napkin/cpu/executor.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/tensor/storage.hpp"
#include "napkin/train/handed_data.hpp"
#include "napkin/train/parameter_pointers.hpp"

namespace napkin {

/// Runs a member function of Model, `constexpr auto logits(input<...>...) const`, which gives f32, on the
/// CPU. The model is the trained one, or the same with another batch: parameters of equal names and shapes,
/// which are read where the trainer keeps them, so that it follows the training. Allocates at construction
/// alone.
///
/// Example  nk::predictor<model, &model::logits> predict(trainer.value_pointers());
///          const std::span<const float> logits = predict(images);
template <class Model, auto Function>
class predictor {
  using function = model_function_graph<Model, Function>;
  using plan = on_cpu::frozen_plan<on_cpu::host_function<function>>;
  using handed = detail::handed_data<function>;
  static constexpr std::size_t parameters = parameter_table<Model>.size();
  static constexpr graph_view graph_of_it() { return frozen<function>::view(); }
  static_assert(graph_of_it()[graph_of_it().outputs[0]].type == dtype::f32,
                "predictor: the model's function gives another dtype than f32: cast it");

 public:
  static constexpr std::size_t inputs = function::data_inputs;

  /// Rules  parameters_of_another_model
  template <class Trained, class Raised = raised_by_caller<detail::foreign_parameters<Model, Trained>>>
  explicit predictor(const parameter_pointers<Trained>& values, Raised = {})
      : predictor(std::span<const void* const>(values)) {
    detail::foreign_parameters<Model, Trained>::raise();
  }
  /// Of a trainer that a rule has refused.
  explicit predictor(const failed&) : predictor(std::span<const void* const>()) {}
  /// Of memory that no type speaks for: pointers to f32, in the order of the model's table.
  explicit predictor(std::span<const void* const> values)
      : arena_(plan::value.peak),
        run_(plan::view(), on_cpu::kernels_of<plan>.data(), static_cast<std::byte*>(arena_.data())) {
    if (values.size() != parameters)
      throw error("predictor: the model has " + std::to_string(parameters) + " parameters, " +
                  std::to_string(values.size()) + " were given");
    const graph_view g = graph_of_it();
    result_.resize(numel(g.shape_of(g.outputs[0])));
    if constexpr (handed::is_sized) there_.resize(result_.size());
    data_.resize(inputs);
    for (std::size_t i = handed::arguments; i < inputs; ++i) data_[i].resize(sizeof(std::int32_t));
    for (int id = 0; id < static_cast<int>(g.node_count); ++id) {
      if (g[id].kind != op::input) continue;
      const auto slot = static_cast<std::size_t>(g.attribute(id, 0));
      if (slot >= parameters) data_[slot - parameters].resize(numel(g.shape_of(id)) * size_of(g[id].type));
    }
    std::vector<const void*> in(values.begin(), values.end());
    for (const std::vector<std::byte>& d : data_) in.push_back(d.data());
    void* const out[] = {result_.data()};
    run_.bind(in, out);
  }

  /// The function's value, in row-major order, valid until the next call: as many elements as there are where
  /// axes are sized at run time. Throws input_error where an argument has another number of bytes than its
  /// input, or two have other sizes of one axis.
  template <class... Data>
  auto operator()(const Data&... data) {
    using mistake = detail::data_mistake<predictor, typename function::inputs, 1, Data...>;
    if constexpr (is_mistake<mistake>) {
      return mistake::raise();
    } else {
      const handed given([](std::size_t i) { return "predictor: input " + std::to_string(i); }, 1, data...);
      for (std::size_t i = 0; i < inputs; ++i)
        if (!data_[i].empty()) given.write(i, 0, data_[i].data());
      run_.run();
      if constexpr (handed::is_sized)
        return collect(given.sizes());
      else
        return std::span<const float>(result_);
    }
  }

 private:
  /// Of the result what there is, without gaps.
  std::span<const float> collect(const detail::run_time_sizes& sizes) {
    const graph_view g = graph_of_it();
    const shape& bounds = g.shape_of(g.outputs[0]);
    detail::handed_input result;
    result.data = reinterpret_cast<const std::byte*>(result_.data());
    result.type = detail::described<typename function::inputs::result>();
    for (std::size_t k = 0; k < bounds.size(); ++k) {
      const std::size_t from = function::slots.of_output[k];
      result.sizes[k] = from < sizes.size() ? sizes[from] : bounds[k];
    }
    std::size_t count = 0;
    detail::for_each_run(result, [&](std::span<const std::byte> run, std::size_t before) {
      std::memcpy(there_.data() + before, run.data(), run.size());
      count = before + run.size() / sizeof(float);
    });
    return {there_.data(), count};
  }

  storage arena_;
  on_cpu::executor run_;
  std::vector<std::vector<std::byte>> data_;
  std::vector<float> result_, there_;  // the second without gaps, where axes are sized at run time
};

}  // namespace napkin
