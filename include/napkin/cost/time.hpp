// How long a device must take at least, and how much of it a measured run used. A bound: no launch, latency
// or cache miss is in it, and no run of kernels one after another is faster unless it computes something else.
#pragma once

#include "napkin/core/error.hpp"
#include "napkin/cost/cost.hpp"
#include "napkin/cost/devices.hpp"
#include "napkin/cost/gradient.hpp"

namespace napkin {

/// What bounds a kernel or a library call from below. FLOPs on units of their own overlap.
struct kernel_bound {
  double matrix = 0;  // seconds of its products at the dense peak of their operands
  double vector = 0;  // of all other arithmetic; of the products too where no other unit has them
  double memory = 0;  // of its bytes

  constexpr double compute() const { return matrix > vector ? matrix : vector; }
  constexpr double seconds() const { return memory > compute() ? memory : compute(); }
  constexpr bool by_memory() const { return memory > compute(); }
};

/// A lower bound of several kernels that run one after another: beside one another they may take less.
struct time_bound {
  double seconds = 0;
  double compute = 0, memory = 0;            // if either were all
  std::uint64_t kernels = 0, by_memory = 0;  // of the kernels, those whose bytes take longest
  std::uint64_t flops = 0;                   // matrix products
  arithmetic products = arithmetic::none;    // of the products that take longest

  constexpr time_bound& operator+=(const kernel_bound& k) {
    seconds += k.seconds();
    compute += k.compute();
    memory += k.memory;
    ++kernels;
    by_memory += k.by_memory();
    return *this;
  }
};

namespace detail {

/// Arithmetic on f32, unless the plan, or `f32_products`, says that products of it read tf32.
constexpr arithmetic products_of(const plan_line& line, arithmetic f32_products) {
  const arithmetic a = arithmetic_of(line.operands);
  if (a != arithmetic::f32) return a;
  return line.f32_products == arithmetic::f32 ? f32_products : line.f32_products;
}
/// 16- and 8-bit floats are computed with in f32, integers at its rate; where some of it is in f64, all of it
/// takes no less than at f32's.
constexpr arithmetic elements_of(const plan_line& line) { return arithmetic_of(line.others); }
/// An arithmetic that the line needs and the device has no rate of; `none` where it has all.
constexpr arithmetic missing_rate(const plan_line& line, const device& on, arithmetic f32_products) {
  if (line.flops.matmul != 0 && on.peak(products_of(line, f32_products)).per_second == 0)
    return products_of(line, f32_products);
  const bool computes = line.flops.total() + line.flops.transcendental > line.flops.matmul;
  return computes && on.peak(elements_of(line)).per_second == 0 ? elements_of(line) : arithmetic::none;
}

[[noreturn]] inline void refuse_rate(arithmetic missing, const device& on) {
  throw input_error("no peak of " + std::string(name_of(missing)) + " is known of " +
                    std::string(std::string_view(on.name)) + ", and none is guessed");
}

}  // namespace detail

/// Of one line of a plan. Products in f32 run on the vector unit, or in `tf32` where that is said.
///
/// Errors  `input_error` where the device has no known peak of what the line computes with
constexpr kernel_bound bound_of(const plan_line& line, const device& on,
                                arithmetic f32_products = arithmetic::f32) {
  const arithmetic missing = detail::missing_rate(line, on, f32_products);
  if (missing != arithmetic::none) detail::refuse_rate(missing, on);
  if (on.bandwidth == 0) throw input_error("bound_of: a device without a bandwidth");
  const auto seconds = [](std::uint64_t count, std::uint64_t rate) {
    return count == 0 ? 0 : static_cast<double>(count) / static_cast<double>(rate);
  };
  kernel_bound k;
  const arithmetic products = detail::products_of(line, f32_products);
  const std::uint64_t others = detail::counted_rest(
      detail::counted_sum(line.flops.total(), line.flops.transcendental), line.flops.matmul);
  if (line.flops.matmul != 0) k.matrix = seconds(line.flops.matmul, on.peak(products).per_second);
  if (others != 0) k.vector = seconds(others, on.peak(detail::elements_of(line)).per_second);
  if (products == detail::elements_of(line)) {  // the same unit, one after the other
    k.vector += k.matrix;
    k.matrix = 0;
  }
  k.memory = seconds(line.bytes.total(), on.bandwidth);
  return k;
}

namespace detail {

/// f(line) for each kernel and library call of an expression, a gradient or a training step.
template <class E, class Backend, class F>
constexpr void for_each_line_of(F&& f) {
  if constexpr (requires { E::template for_each_line<F>(static_cast<F&&>(f)); }) {
    E::template for_each_line<F>(static_cast<F&&>(f));
  } else {
    for (const plan_line& line : plan_of<E, Backend>.instructions) f(line);
  }
}

template <class E, class Backend>
constexpr time_bound bound_of_all(const device& on, arithmetic f32_products) {
  time_bound sum;
  double longest = -1;
  for_each_line_of<E, Backend>([&](const plan_line& line) {
    const kernel_bound k = bound_of(line, on, f32_products);
    sum += k;
    sum.flops = counted_sum(sum.flops, line.flops.matmul);
    if (line.flops.matmul == 0 || k.compute() <= longest) return;
    longest = k.compute();
    sum.products = products_of(line, f32_products);
  });
  return sum;
}

template <class E, class Backend>
constexpr arithmetic first_missing_rate(const device& on, arithmetic f32_products) {
  arithmetic missing = arithmetic::none;
  for_each_line_of<E, Backend>([&](const plan_line& line) {
    if (missing == arithmetic::none) missing = missing_rate(line, on, f32_products);
  });
  return missing;
}

}  // namespace detail

namespace fact {
template <arithmetic A>
struct computes_in;
template <const device& On>
struct on_device;
}  // namespace fact

namespace rule {
/// computes_in<A>, on_device<D>
template <class... Facts>
struct device_has_no_such_peak {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "time_on: no peak of this device is known for what the step computes in, and none is guessed: give "
      "the device that rate, device::with(arithmetic, dense_flops), from its data sheet");
};
}  // namespace rule

namespace detail {
template <const device& On, class E, class Backend, arithmetic F32Products>
constexpr auto find_time_mistake() {
  if constexpr (is_failed<E>) {
    return std::type_identity<silent>{};
  } else if constexpr (is_mistake<cost_mistake_of<E>>) {
    return std::type_identity<cost_mistake_of<E>>{};
  } else {
    constexpr arithmetic missing = first_missing_rate<E, Backend>(On, F32Products);
    if constexpr (missing == arithmetic::none)
      return std::type_identity<accepted>{};
    else
      return std::type_identity<
          rule::device_has_no_such_peak<fact::computes_in<missing>, fact::on_device<On>>>{};
  }
}
template <const device& On, class E, class Backend, arithmetic F32Products>
using time_mistake = typename decltype(find_time_mistake<On, E, Backend, F32Products>())::type;

template <const device& On, class E, class Backend, arithmetic F32Products, class Raised>
constexpr time_bound time_asked_for() {
  if constexpr (std::is_same_v<time_mistake<On, E, Backend, F32Products>, accepted>)
    return bound_of_all<E, Backend>(On, F32Products);
  else
    return {};
}
}  // namespace detail

/// The least time that E (an expression, a gradient_of or a training step), lowered to Backend, takes on a
/// device: for each kernel the larger of FLOPs over the dense peak and bytes over the bandwidth, summed. A
/// lower bound. `arithmetic::tf32` as last argument where all products of f32 may read tf32: those that
/// compute_in<tf32> has read it do without.
///
/// Rules    device_has_no_such_peak, type_has_no_cost
/// Example  static_assert(nk::time_on<nk::h100_sxm, step>.seconds < 0.1);
template <const device& On, class E, class Backend = cpu, arithmetic F32Products = arithmetic::f32>
inline constexpr time_bound time_on = detail::time_asked_for<
    On, std::remove_cvref_t<E>, Backend, F32Products,
    decltype(detail::time_mistake<On, std::remove_cvref_t<E>, Backend, F32Products>::raise())>();
/// The same of a device that is known at run time, as the host is. Errors as bound_of.
///
/// Rules    type_has_no_cost
template <class E, class Backend = cpu>
constexpr time_bound time_on_device(const device& on, arithmetic f32_products = arithmetic::f32) {
  using mistake = detail::cost_mistake_of<std::remove_cvref_t<E>>;
  using raised [[maybe_unused]] = decltype(mistake::raise());
  if constexpr (is_mistake<mistake>)
    return {};
  else
    return detail::bound_of_all<E, Backend>(on, f32_products);
}

/// What part of a peak so many FLOPs in so many seconds are.
///
/// Errors  `input_error`, a compile error where the arguments are constants: no time, no peak, or more than
///         all of it, which is a time taken without waiting for the device, or the peak of another arithmetic
constexpr double utilisation(std::uint64_t flops, double seconds, dense_flops peak) {
  if (!(seconds > 0)) throw input_error("utilisation: the time must be longer than nothing");
  if (peak.per_second == 0) throw input_error("utilisation: no peak is known of this device and arithmetic");
  const double part = static_cast<double>(flops) / seconds / static_cast<double>(peak.per_second);
  if (!(part <= 1))
    throw input_error(
        "utilisation: more than all of the peak; was the time taken without waiting for the device, or is "
        "the peak that of another arithmetic?");
  return part;
}

/// Model FLOPs utilisation of a measured time: conventions::exact over what the device could have done in the
/// arithmetic of the longest products. HFU counts what was executed, recomputation and squares of causal
/// attention included. Errors as utilisation and bound_of.
///
/// Rules    type_has_no_cost
template <class Step, class Backend = cpu>
constexpr double mfu(const device& on, double seconds, arithmetic f32_products = arithmetic::f32) {
  using mistake = detail::cost_mistake_of<std::remove_cvref_t<Step>>;
  using raised [[maybe_unused]] = decltype(mistake::raise());
  if constexpr (is_mistake<mistake>) {
    return 0;
  } else {
    const time_bound t = detail::bound_of_all<Step, Backend>(on, f32_products);
    return utilisation(conventions::exact<Step>.total(), seconds, on.peak(t.products));
  }
}
template <class Step, class Backend = cpu>
constexpr double hfu(const device& on, double seconds, arithmetic f32_products = arithmetic::f32) {
  using mistake = detail::cost_mistake_of<std::remove_cvref_t<Step>>;
  using raised [[maybe_unused]] = decltype(mistake::raise());
  if constexpr (is_mistake<mistake>) {
    return 0;
  } else {
    const time_bound t = detail::bound_of_all<Step, Backend>(on, f32_products);
    return utilisation(t.flops, seconds, on.peak(t.products));
  }
}

}  // namespace napkin
