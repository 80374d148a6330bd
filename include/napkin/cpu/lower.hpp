// Evaluating a lazy expression on the CPU: what assigning it to a tensor does.
#pragma once

#include <array>
#include <span>

#include "napkin/cpu/executor.hpp"
#include "napkin/ops/expression.hpp"

namespace napkin {

namespace on_cpu::detail {

template <class E>
constexpr std::size_t leaf_count() {
  builder b;
  std::int32_t slot = 0;
  napkin::detail::replay<E>::run(b, slot);
  return static_cast<std::size_t>(slot);
}

/// Run a frozen plan once. The arena lives for the call.
template <class Plan>
void run_once(std::span<const void* const> inputs, std::span<void* const> outputs) {
  const storage arena(Plan::value.peak);
  executor run(Plan::view(), kernels_of<Plan>.data(), static_cast<std::byte*>(arena.data()));
  run.bind(inputs, outputs);
  run.run();
}

}  // namespace on_cpu::detail

template <class E>
void lower(const E& e, void* destination) {
  std::array<const void*, on_cpu::detail::leaf_count<E>() + 1> inputs{};
  std::size_t next = 0;
  detail::replay<E>::leaves(e, [&](const void* leaf) { inputs[next++] = leaf; });
  void* const outputs[] = {destination};
  on_cpu::detail::run_once<on_cpu::frozen_plan<expression_graph<E>>>({inputs.data(), next}, outputs);
}

template <class Graph>
void run_graph(std::span<const void* const> inputs, std::span<void* const> outputs) {
  on_cpu::detail::run_once<on_cpu::frozen_plan<Graph>>(inputs, outputs);
}

template <class E>
bool reads_storage(const E& e, const storage& s) {
  bool reads = false;
  const auto* begin = static_cast<const std::byte*>(s.data());
  detail::replay<E>::leaves(e, [&](const void* leaf) {
    const auto* at = static_cast<const std::byte*>(leaf);
    reads = reads || (at >= begin && at < begin + s.bytes());
  });
  return reads;
}

/// The value of an expression, as a tensor of its own. A tensor or view is given back as a tensor.
template <Operand E>
auto eval(const E& e) {
  return typename detail::tensor_of<typename E::element, axes_of<E>>::type(e);
}

}  // namespace napkin
