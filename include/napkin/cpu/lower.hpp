// Evaluating a lazy expression on the CPU: what assigning it to a tensor does.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "napkin/cpu/attention.hpp"
#include "napkin/cpu/executor.hpp"
#include "napkin/ops/actual_sizes.hpp"

namespace napkin {

namespace on_cpu::detail {

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
  constexpr bool sized = detail::is_sized_at_run_time<E>;
  std::array<const void*, detail::leaves_of<E> + (sized ? max_run_time_sizes : 0) + 1> inputs{};
  std::size_t next = 0;
  detail::bounded_leaves leaves;
  detail::for_each_leaf(e, [&](const auto& leaf) { inputs[next++] = leaves.address_of(leaf); });
  void* const outputs[] = {destination};
  [[maybe_unused]] detail::run_time_sizes sizes;
  if constexpr (sized) {
    sizes = detail::run_time_sizes_of(e);
    for (std::size_t k = 0; k < sizes.size(); ++k) inputs[next++] = sizes.address(k);
  }
  on_cpu::detail::run_once<on_cpu::frozen_plan<on_cpu::host_expression<E>>>({inputs.data(), next}, outputs);
}

template <class Graph>
void run_graph(std::span<const void* const> inputs, std::span<void* const> outputs) {
  if constexpr (requires { Graph::template rewritten<on_cpu::gradient_rewrite>::make(); })
    on_cpu::detail::run_once<
        on_cpu::frozen_plan<typename Graph::template rewritten<on_cpu::gradient_rewrite>>>(inputs, outputs);
  else
    on_cpu::detail::run_once<on_cpu::frozen_plan<Graph>>(inputs, outputs);
}

template <class E>
bool reads_storage(const E& e, const storage& s) {
  bool reads = false;
  const auto begin = reinterpret_cast<std::uintptr_t>(s.data());
  const detail::address_range all{begin, begin + s.bytes()};
  detail::for_each_leaf(e, [&]<class Leaf>(const Leaf& leaf) {
    if constexpr (TensorLike<Leaf>) reads = reads || detail::addresses_of(leaf).overlaps(all);
  });
  return reads;
}

/// The value of an expression, as a tensor of its own. A tensor is given back, sharing its storage; a view as
/// a tensor.
///
/// Rules  nothing_to_evaluate, evaluated_in_a_function
template <Operand E>
constexpr auto eval(const E& e) {
  if constexpr (detail::is_traced_operand<E>)
    return rule::evaluated_in_a_function<fact::type<E>>::raise(detail::by<E>);
  else
    return typename detail::tensor_of<typename E::element, axes_of<E>>::type(e);
}

}  // namespace napkin
