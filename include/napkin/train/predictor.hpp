// A function of a trained model, forward only: what it says of new data.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "napkin/core/error.hpp"
#include "napkin/cpu/executor.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/tensor/storage.hpp"
#include "napkin/train/data.hpp"
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
  using plan = on_cpu::frozen_plan<function>;
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
  /// Of memory that no type speaks for: pointers to f32, in the order of the model's table.
  explicit predictor(std::span<const void* const> values)
      : arena_(plan::value.peak),
        run_(plan::view(), on_cpu::kernels_of<plan>.data(), static_cast<std::byte*>(arena_.data())) {
    if (values.size() != parameters)
      throw error("predictor: the model has " + std::to_string(parameters) + " parameters, " +
                  std::to_string(values.size()) + " were given");
    const graph_view g = graph_of_it();
    result_.resize(numel(g.shape_of(g.outputs[0])));
    data_.resize(inputs);
    for (int id = 0; id < static_cast<int>(g.size()); ++id) {
      if (g[id].kind != op::input) continue;
      const auto slot = static_cast<std::size_t>(g.attribute(id, 0));
      if (slot >= parameters) data_[slot - parameters].resize(numel(g.shape_of(id)) * size_of(g[id].type));
    }
    std::vector<const void*> in(values.begin(), values.end());
    for (const std::vector<std::byte>& d : data_) in.push_back(d.data());
    void* const out[] = {result_.data()};
    run_.bind(in, out);
  }

  /// The function's value, in row-major order, valid until the next call. Throws input_error where an
  /// argument has another number of bytes than its input.
  template <class... Data>
  auto operator()(const Data&... data) {
    using mistake = detail::data_mistake<predictor, typename function::inputs, 1, Data...>;
    if constexpr (is_mistake<mistake>) {
      return mistake::raise();
    } else {
      std::size_t i = 0;
      const auto one = [&](const auto& d) {
        const auto bytes = detail::bytes_of_data(d);
        if (bytes.size() != data_[i].size())
          throw input_error(detail::misfit_of_size("predictor: input " + std::to_string(i),
                                                   detail::described_inputs<typename function::inputs>[i], 1,
                                                   bytes.size()));
        std::memcpy(data_[i].data(), bytes.data(), bytes.size());
        ++i;
      };
      (one(data), ...);
      run_.run();
      return std::span<const float>(result_);
    }
  }

 private:
  storage arena_;
  on_cpu::executor run_;
  std::vector<std::vector<std::byte>> data_;
  std::vector<float> result_;
};

}  // namespace napkin
