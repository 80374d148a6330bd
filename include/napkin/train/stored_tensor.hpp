// Parameters that a device stores as one tensor lie by rows there, and one behind the other on the host, where
// checkpoints and programs read each as it is. What goes over is laid as the other side has it.
#pragma once

#include <cstddef>
#include <span>

#include "napkin/core/inplace_vector.hpp"
#include "napkin/passes/stored_parameters.hpp"
#include "napkin/tensor/storage.hpp"

namespace napkin::detail {

/// On the device a row is a piece of each parameter; on the host each has its own behind one another.
struct stored_tensor {
  std::size_t offset = 0;  // elements, of a flat vector of all
  std::size_t rows = 1;
  inplace_vector<std::size_t, passes::most_stored_as_one> pieces;  // elements of each parameter's

  constexpr bool is_the_same_on_both() const { return rows == 1 || pieces.size() == 1; }
  constexpr std::size_t length() const {
    std::size_t row = 0;
    for (const std::size_t piece : pieces) row += piece;
    return rows * row;
  }
};

/// Where the host has a tensor, of parameters, gradients or a state.
struct tensor_on_host {
  float* data = nullptr;
  stored_tensor as;
};

/// Of a trainer's parameters, gradients and states the tensors that lie otherwise on its device.
template <class Trainer>
buffer<tensor_on_host> list_relaid(const Trainer& t) {
  using step = typename Trainer::step_type;
  buffer<tensor_on_host> list;
  for (std::size_t i = 0; i < Trainer::parameters; ++i) {
    const passes::stored_parameter& stored = step::gradients::stored[i];
    const stored_tensor& as = step::layout.tensors[static_cast<std::size_t>(stored.tensor)];
    if (stored.start > 0 || as.is_the_same_on_both()) continue;  // with the first of its parameters
    const auto add = [&](const auto& first) { list.push_back(tensor_on_host{first.data, as}); };
    add(t.value(i)), add(t.gradient(i));
    for (std::size_t s = 0; s < step::states_of(i); ++s) add(t.state(s, i));
  }
  return list;
}

/// What laying them takes beside them.
storage room_to_lay(std::span<const tensor_on_host> tensors);

/// From rows, as a device's memory was copied, to what the host has.
void lay_behind_one_another(std::span<const tensor_on_host> tensors, const storage& room);

/// The other way, until the end of its life: for a copy to the device.
class laid_by_rows {
 public:
  explicit laid_by_rows(std::span<const tensor_on_host> tensors);
  ~laid_by_rows();
  laid_by_rows(const laid_by_rows&) = delete;
  laid_by_rows& operator=(const laid_by_rows&) = delete;

 private:
  std::span<const tensor_on_host> tensors_;
  storage room_;
};

}  // namespace napkin::detail
