// Tensors on the GPU: cuda::tensor. To operations it is a leaf of a lazy expression, which is computed on the
// device when it is assigned to another; to_cuda and to_host are the only ways over. Host and device never
// meet in one expression. What is computed needs kernels, so that nvcc compiles it; all else any compiler
// does.
#pragma once

#include <array>
#include <cstddef>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>

#include "napkin/cost/sheet.hpp"
#include "napkin/cuda/attention.hpp"
#include "napkin/cuda/run_once.hpp"
#include "napkin/cuda/storage.hpp"
#include "napkin/cuda/transfer.hpp"
#include "napkin/ops/actual_sizes.hpp"

namespace napkin {

namespace rule {

/// from<Ds...>
template <class... Facts>
struct host_value_into_a_device_tensor {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "assignment: the value is on the host and the tensor on the GPU: nothing is copied unasked, write "
      "nk::to_cuda(x)");
};
/// from<Ds...>
template <class... Facts>
struct kernels_are_compiled_by_nvcc {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "assignment: this is computed on the GPU, by kernels that are compiled with the line itself: compile "
      "this "
      "file with nvcc, and include <napkin/cuda.hpp>");
};
/// from<Ds...>
template <class... Facts>
struct elements_are_on_the_device {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "a tensor on the GPU has its elements there, none to print, index or change on the host: "
      "nk::to_host(x) copies them");
};
/// call<"f">, from<Ds...>
template <class... Facts>
struct is_there_already {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise, "to_cuda takes what is on the host, to_host what is on the GPU: this is there already");
};

}  // namespace rule

template <class X>
concept DeviceTensor = LazyExpression<X> && requires {
  typename X::device_tensor_tag;
};
/// What is computed on the device.
template <class X>
concept OnDevice = LazyExpression<X> &&(detail::places_of<X> == detail::on_device);

namespace detail {

template <class E>
using device_plan = on_cuda::frozen_plan<on_cuda::device_expression<E>>;

template <class From, class To, class... As>
constexpr auto find_device_assignment_mistake(axes<As...>) {
  if constexpr (places_of<From> == on_host)
    return std::type_identity<rule::host_value_into_a_device_tensor<fact::from<As...>>>{};
  else
    return find_assignment_mistake<From, To>(axes_of<From>{}, axes_of<To>{});
}
template <class From, class To>
constexpr auto find_device_assignment_mistake() {
  if constexpr (is_failed<From> || !HasAxes<From>) {
    return std::type_identity<accepted>{};
  } else {
    using found = decltype(find_device_assignment_mistake<From, To>(axes_of<From>{}));
    if constexpr (found_mistake<found> || DeviceTensor<From>)
      return found{};
    else if constexpr (!on_cuda::compiled_kernels<device_plan<From>>::there)
      return std::type_identity<rule::kernels_are_compiled_by_nvcc<fact::from<axes_of<From>>>>{};
    else
      return found{};
  }
}
template <class From, class To>
using device_assignment_mistake = typename decltype(find_device_assignment_mistake<From, To>())::type;

/// A tensor is there; a number goes over.
template <class X>
on_cuda::leaf device_leaf(const X& x) {
  if constexpr (Scalar<X>)
    return {&x.value, sizeof(x.value)};
  else
    return {x.data(), 0};
}

/// The actual size of an axis, which goes over as a number does.
inline on_cuda::leaf device_size(const run_time_sizes& sizes, std::size_t k) {
  return {sizes.address(k), sizeof(std::int32_t)};
}

/// Compute e into `destination`, on the device, row-major.
template <class E>
void evaluate_on_device(const E& e, void* destination, std::source_location where) {
  using plan = device_plan<E>;
  constexpr bool sized = is_sized_at_run_time<E>;
  std::array<on_cuda::leaf, leaves_of<E> + (sized ? max_run_time_sizes : 0) + 1> inputs{};
  std::size_t next = 0;
  for_each_leaf(e, [&](const auto& leaf) { inputs[next++] = device_leaf(leaf); });
  void* const outputs[] = {destination};
  [[maybe_unused]] run_time_sizes sizes;
  if constexpr (sized) {
    sizes = run_time_sizes_of(e);
    for (std::size_t k = 0; k < sizes.size(); ++k) inputs[next++] = device_size(sizes, k);
  }
  on_cuda::run_once(on_cuda::current_session(), plan::view(), on_cuda::compiled_kernels<plan>::table(),
                    {inputs.data(), next}, outputs, where);
}

}  // namespace detail

/// The backend of NVIDIA's GPUs: the device that the calling thread uses.
struct cuda {
  /// Elements of T along named axes on the device, row-major in storage of its own. As on the host a copy
  /// shares the storage, and assigning makes it share another's; made from an expression it has its own. Work
  /// goes to the thread's session (cuda/session.hpp), and is over when the call returns: any stream may read
  /// what it made, but what another stream writes has to be over before the call. Laid out for the bounds of
  /// axes that are sized at run time; actual sizes are the host's to know.
  ///
  /// Rules  host_value_into_a_device_tensor, kernels_are_compiled_by_nvcc, elements_are_on_the_device
  template <class T, class... Dims>
  class tensor : public lazy_expression<T, Dims...>,
                 public detail::kept_sizes<any_dynamic<Dims...>, Dims...> {
    using kept = detail::kept_sizes<any_dynamic<Dims...>, Dims...>;
    using checked = decltype(detail::wrong_axes<Dims...>::raise());
    static constexpr std::size_t dynamic_axes = (static_cast<std::size_t>(Dims::dynamic) + ... + 0);

   public:
    using device_tensor_tag = void;
    using element = T;
    static constexpr unsigned char places = detail::on_device;
    static constexpr cost_sheet cost{};  // is computed already
    static constexpr std::size_t rank = sizeof...(Dims);
    static constexpr std::size_t bytes = detail::checked_product(total_size<Dims...>, sizeof(T));

    /// Zeros.
    tensor(std::source_location where = std::source_location::current()) : tensor(uninitialized, where) {
      fill_with_zeros(where);
    }
    explicit tensor(uninitialized_t, std::source_location where = std::source_location::current())
        : storage_(on_cuda::device_storage(on_cuda::current_session(), bytes, where)) {}
    /// Zeros of the given run-time sizes. Throws input_error above a bound.
    template <std::size_t N,
              class Raised = raised_by_caller<typename detail::sizes_given<dynamic_axes, N>::mistake>>
    explicit tensor(const sized<N>& given, Raised = {},
                    std::source_location where = std::source_location::current()) {
      if constexpr (N != dynamic_axes) {
        (void)detail::sizes_given<dynamic_axes, N>::mistake::raise();
      } else {
        *this = tensor(uninitialized, detail::actual_sizes<Dims...>(given), where);
        fill_with_zeros(where);
      }
    }
    /// Of these actual sizes, of all axes, each at most its bound.
    tensor(uninitialized_t, const std::array<std::size_t, rank>& actual,
           std::source_location where = std::source_location::current())
        : kept(actual), storage_(on_cuda::device_storage(on_cuda::current_session(), bytes, where)) {}

    /// A tensor of the same axes under other types: shared. An expression of tensors on the device: computed
    /// there.
    template <class X, class Raised = raised_by_caller<detail::device_assignment_mistake<X, tensor>>>
    requires(Assignable<X> && !std::same_as<X, tensor>)
        tensor(const X& x, Raised = {}, std::source_location where = std::source_location::current()) {
      using mistake = detail::device_assignment_mistake<X, tensor>;
      if constexpr (is_failed<X>) {
      } else if constexpr (is_mistake<mistake>) {
        (void)mistake::raise();
      } else {
        static_cast<kept&>(*this) = kept(x.sizes());
        if constexpr (DeviceTensor<X>) {
          storage_ = x.shared_storage();
        } else {
          storage_ = on_cuda::device_storage(on_cuda::current_session(), bytes, where);
          detail::evaluate_on_device(x, storage_.data(), where);
        }
      }
    }

    /// On the device.
    T* data() const { return static_cast<T*>(storage_.data()); }
    const storage& shared_storage() const { return storage_; }

    // Refused.
    template <class... Index>
    auto operator()(const Index&...) const {
      return rule::elements_are_on_the_device<fact::from<Dims...>, fact::type<Index>...>::raise();
    }
    template <class Index>
    auto operator[](const Index&) const {
      return rule::elements_are_on_the_device<fact::from<Dims...>, fact::type<Index>>::raise();
    }
    template <class Number>
    requires(std::is_arithmetic_v<Number>) explicit operator Number() const {
      (void)rule::elements_are_on_the_device<fact::from<Dims...>, fact::type<Number>>::raise();
      return {};
    }

   private:
    void fill_with_zeros(std::source_location where) {
      const on_cuda::stream& on = on_cuda::current_session().on();
      on_cuda::fill_with_zeros(on, data(), bytes, where);
      on.synchronize(where);
    }

    storage storage_;
  };

  // Refused: the first type is no dtype, or one after it no axis.
  template <class T, class... Dims>
  requires(detail::MakesNoTensor<T, Dims...>) class tensor<T, Dims...> : public failed {
    using refused = decltype(detail::declaration_mistake<T, Dims...>::raise());

   public:
    constexpr tensor(const auto&...) {}
  };

  template <class T, class... Ds>
  tensor(const lazy_expression<T, Ds...>&) -> tensor<T, Ds...>;
  template <class T, class Layout, class... Ds>
  tensor(const elements<T, Layout, Ds...>&) -> tensor<T, Ds...>;  // to be refused in words
  template <class Refusal>
  requires(is_failed<Refusal>) tensor(Refusal)
  ->tensor<failed>;
};

/// What a declaration without a type makes of an error.
template <>
class cuda::tensor<failed> : public failed {
 public:
  tensor(failed) {}
};

namespace detail {

template <class X>
requires(DeviceTensor<X>) struct replay_of<X> {
  static constexpr replay_step value{.type = dtype_of<typename X::element>,
                                     .sizes = traced_shape<axes_of<X>>()};
};

template <class T, class Axes>
struct device_tensor_of;
template <class T, class... Ds>
struct device_tensor_of<T, axes<Ds...>> {
  using type = cuda::tensor<T, Ds...>;
};
template <class X>
using device_result = typename device_tensor_of<typename X::element, axes_of<X>>::type;

}  // namespace detail

/// A copy on the device, there when this returns. It goes into the session's stream, or into the one given.
///
/// Rules   is_there_already; not_computed_yet, of an expression
/// Errors  `cuda_error`
template <class X>
requires(TensorLike<X>) auto to_cuda(const X& x,
                                     std::source_location where = std::source_location::current()) {
  return to_cuda(x, on_cuda::current_session().on().handle(), where);
}
template <class X>
requires(TensorLike<X>) auto to_cuda(const X& x, on_cuda::stream_handle on,
                                     std::source_location where = std::source_location::current()) {
  const detail::device_result<X> result(uninitialized, x.sizes(), where);
  const auto from = contiguous(x);
  const on_cuda::stream copies(on_cuda::current_session().calls(), on);
  constexpr std::size_t elements = detail::facts_of_axes<axes_of<X>>::numel;  // at the bounds
  on_cuda::copy_to_device(copies, result.data(), std::as_bytes(std::span(from.data(), elements)), where);
  copies.synchronize(where);  // registered memory may be read later than a copy's call returns
  return result;
}
template <class X>
requires(LazyExpression<X> || is_failed<X>) auto to_cuda(const X&, on_cuda::stream_handle = {}) {
  if constexpr (is_failed<X>)
    return failed{};
  else if constexpr (OnDevice<X>)
    return rule::is_there_already<fact::call<"to_cuda">, axes_of<X>>::raise();
  else
    return rule::not_computed_yet<axes_of<X>, fact::call<"to_cuda">>::raise();
}

/// A copy on the host, of a tensor or of an expression, which is computed on the device first: behind what
/// the stream that is given has to do until now. Waits for it.
///
/// Rules   is_there_already
/// Errors  `cuda_error`
template <class X>
requires(OnDevice<X>) auto to_host(const X& x, on_cuda::stream_handle on,
                                   std::source_location where = std::source_location::current()) {
  const on_cuda::session& s = on_cuda::current_session();
  const on_cuda::stream copies(s.calls(), on);
  if constexpr (!DeviceTensor<X>)
    if (on != s.on().handle()) on_cuda::wait_for(s.on(), copies, where);
  const detail::device_result<X> from = x;
  typename detail::tensor_of<typename X::element, axes_of<X>>::type result(uninitialized, from.sizes());
  constexpr std::size_t elements = detail::facts_of_axes<axes_of<X>>::numel;  // at the bounds
  on_cuda::copy_to_host(copies, std::as_writable_bytes(std::span(result.data(), elements)), from.data(),
                        where);
  return result;
}
template <class X>
requires(OnDevice<X>) auto to_host(const X& x, std::source_location where = std::source_location::current()) {
  return to_host(x, on_cuda::current_session().on().handle(), where);
}
template <class X>
requires((Assignable<X> && !OnDevice<X>) || is_failed<X>) auto to_host(const X&,
                                                                       on_cuda::stream_handle = {}) {
  if constexpr (is_failed<X>)
    return failed{};
  else
    return rule::is_there_already<fact::call<"to_host">, axes_of<X>>::raise();
}

/// The value of an expression of tensors on the device, as a tensor there.
template <OnDevice E>
auto eval(const E& e) {
  return detail::device_result<E>(e);
}

/// A tensor with storage of its own and the same elements.
template <DeviceTensor X>
auto clone(const X& x) {
  X result(uninitialized, x.sizes());
  const on_cuda::stream& on = on_cuda::current_session().on();
  on_cuda::copy_within_device(on, result.data(), x.data(), X::bytes);
  on.synchronize();
  return result;
}

// Refused: they look at elements, or write them, on the host.
template <DeviceTensor X>
auto fill(const X&, const auto&) {
  return rule::elements_are_on_the_device<axes_of<X>, fact::call<"fill">>::raise();
}
template <DeviceTensor From, TensorLike To>
auto copy(const From&, const To&) {
  return rule::elements_are_on_the_device<axes_of<From>, fact::call<"copy">>::raise();
}
template <DeviceTensor X>
auto as_view(const X&) {
  return rule::elements_are_on_the_device<axes_of<X>, fact::call<"as_view">>::raise();
}
template <class Char, class Traits, DeviceTensor X>
auto operator<<(std::basic_ostream<Char, Traits>&, const X&) {
  return rule::elements_are_on_the_device<axes_of<X>>::raise();
}

}  // namespace napkin
