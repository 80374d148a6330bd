// What a step or a predictor was handed, one argument for each input of its function, as its plan reads it:
// laid out for the bounds of axes that are sized at run time, and behind the arguments these axes' sizes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "napkin/core/function_ref.hpp"
#include "napkin/ops/actual_sizes.hpp"
#include "napkin/train/data.hpp"

namespace napkin::detail {

/// One input of a function, and how many elements there are of it along each axis. They lie as they would at
/// the bounds.
struct handed_input {
  described_type type;
  const std::byte* data = nullptr;
  std::array<std::size_t, max_rank> sizes{};
};

/// f(bytes, elements before them) for what there is, in order, in as few runs as it has.
void for_each_run(const handed_input& x, function_ref<void(std::span<const std::byte>, std::size_t)> f);
/// All of x, as many bytes as at its bounds. Behind the end of an axis stands its last position again:
/// whatever is computed of it is as good a number as those that count, and times an adjoint of 0 it is 0.
void write_padded(const handed_input& x, std::byte* to);
/// Of a container of so many bytes, which does not say how long axes are: right where it can be told, as the
/// outermost axis is the only one that is sized at run time. Throws input_error. `what`: "input 0".
std::array<std::size_t, max_rank> sizes_of_container(const std::string& what, const described_type& x,
                                                     std::size_t batches, std::size_t bytes);

/// Of a model's function (model_function_graph): what it is called with, several batches behind one another
/// where no axis is sized at run time.
template <class Function>
class handed_data {
  using inputs = typename Function::inputs;

 public:
  /// Inputs of the graph: arguments, then sizes.
  static constexpr std::size_t count = Function::data_inputs;
  static constexpr std::size_t arguments = inputs::count;
  static constexpr bool is_sized = count > arguments;

  /// Throws input_error where there are more elements or fewer than the axes have, or one axis has two sizes.
  /// `place`: what input i is called, "predictor: input 0".
  template <class... Data>
  handed_data(std::string (*place)(std::size_t), std::size_t batches, const Data&... data) {
    std::size_t i = 0;
    (take(i++, place, batches, data), ...);
    if constexpr (is_sized) sizes_.agree(Function::slots);
  }
  const handed_input& operator[](std::size_t i) const { return inputs_[i]; }
  /// Of the first batch, without what is behind the end of an axis.
  std::size_t bytes_of(std::size_t i) const {
    if (i >= arguments) return sizeof(std::int32_t);
    std::size_t n = size_of(inputs_[i].type.type);
    for (const axis_info& axis : inputs_[i].type.axes) n *= axis.size.bound;
    return n;
  }
  /// Input i of one batch, as the plan reads it.
  void write(std::size_t i, std::size_t batch, std::byte* to) const {
    if constexpr (is_sized) {
      if (i >= arguments)
        std::memcpy(to, sizes_.address(i - arguments), sizeof(std::int32_t));
      else
        write_padded(inputs_[i], to);
    } else {
      std::memcpy(to, inputs_[i].data + batch * bytes_of(i), bytes_of(i));
    }
  }
  /// Input i of the first batch where it lies, if that is how a plan reads it: not where axes are sized at
  /// run time.
  std::span<const std::byte> bytes(std::size_t i) const { return {inputs_[i].data, bytes_of(i)}; }
  const run_time_sizes& sizes() const { return sizes_; }

 private:
  std::array<handed_input, arguments> inputs_{};
  run_time_sizes sizes_;

  template <class Data>
  void take(std::size_t i, std::string (*place)(std::size_t), std::size_t batches, const Data& d) {
    const described_type type = described_inputs<inputs>[i];
    handed_input& x = inputs_[i];
    x.type = type;
    x.data = bytes_of_data(d).data();
    bool is_open = false;
    for (const axis_info& axis : type.axes) is_open = is_open || axis.size.dynamic;
    if (!is_open) {
      for (std::size_t k = 0; k < type.axes.size(); ++k) x.sizes[k] = type.axes[k].size.bound;
      if (const auto bytes = bytes_of_data(d); bytes.size() != batches * bytes_of(i))
        throw input_error(misfit_of_size(place(i), type, batches, bytes.size()));
      return;
    }
    if constexpr (is_tensor<Data>) {
      for (std::size_t k = 0; k < Data::rank; ++k) x.sizes[k] = d.sizes()[k];  // its axes are the input's
    } else {
      x.sizes = sizes_of_container(place(i), type, batches, bytes_of_data(d).size());
    }
    for (std::size_t k = 0; k < type.axes.size(); ++k)
      if (type.axes[k].size.dynamic)
        sizes_.add(run_time_size(type.axes[k].size.bound, type.axes[k].name), type.axes[k].name, x.sizes[k]);
  }
};

/// What a step's loss is handed; labels are looked at. Throws input_error.
template <class Step>
class step_data : public handed_data<model_graph<typename Step::model>> {
  using model = typename Step::model;
  using base = handed_data<model_graph<model>>;

 public:
  template <class... Data>
  explicit step_data(std::size_t batches, const Data&... data)
      : base([](std::size_t i) { return "trainer: input " + std::to_string(i) + " of the loss"; }, batches,
             data...) {
    for (std::size_t i = 0; i < base::arguments; ++i) {
      const label_range& r = label_ranges<model>[i];
      if (r.classes == 0) continue;
      const handed_input& x = (*this)[i];
      if constexpr (base::is_sized)
        for_each_run(x, [&](std::span<const std::byte> run, std::size_t before) {
          check_labels(i, r, x.type.type, run, before);
        });
      else
        check_labels(i, r, x.type.type, {x.data, batches * base::bytes_of(i)}, 0);
    }
  }
};

}  // namespace napkin::detail
