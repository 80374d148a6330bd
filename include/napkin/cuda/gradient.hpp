// Gradients of functions of tensors on the device, outside any training step: nk::grad there, by kernels that
// nvcc compiles with the line.
#pragma once

#include "napkin/cuda/tensor.hpp"
#include "napkin/passes/grad.hpp"

namespace napkin {

namespace rule {
/// from<Ds...>
template <class... Facts>
struct gradient_needs_kernels {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "grad: gradients of tensors on the GPU are computed there, by kernels that are compiled with the line "
      "itself: compile this file with nvcc, and include <napkin/cuda.hpp>; or copy it over, nk::to_host(x)");
};
}  // namespace rule

namespace detail {

template <>
struct gradient_place<on_device> {
  template <class X>
  using tensor_like = device_result<X>;
  template <class Graph>
  using plan = on_cuda::frozen_plan<typename Graph::template rewritten<on_cuda::gradient_rewrite>>;

  template <class Graph, class X>
  static constexpr auto find_mistake() {
    if constexpr (on_cuda::compiled_kernels<plan<Graph>>::there)
      return std::type_identity<accepted>{};
    else
      return std::type_identity<rule::gradient_needs_kernels<fact::from<axes_of<X>>>>{};
  }

  template <class X>
  static on_cuda::leaf leaf(const X& x) {
    return device_leaf(x);
  }
  template <class X>
  static tensor_like<X> like(const X& x) {
    if constexpr (Scalar<X>)
      return tensor_like<X>(uninitialized);
    else
      return tensor_like<X>(uninitialized, x.sizes());
  }
  static on_cuda::leaf size(const run_time_sizes& sizes, std::size_t k) { return device_size(sizes, k); }
  template <class Graph>
  static void run(std::span<const on_cuda::leaf> inputs, std::span<void* const> outputs) {
    on_cuda::run_once(on_cuda::current_session(), plan<Graph>::view(),
                      on_cuda::compiled_kernels<plan<Graph>>::table(), inputs, outputs);
  }
};

}  // namespace detail

}  // namespace napkin
