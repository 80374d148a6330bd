// What a generated case includes. A valid case registers itself with the types of its operands and its call;
// the program evaluates it as a user would, and compares shape, values, gradient and planned FLOPs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "napkin/cpu/lower.hpp"
#include "napkin/ops/einsum.hpp"
#include "napkin/ops/pack.hpp"
#include "napkin/ops/pattern.hpp"
#include "napkin/passes/grad.hpp"
#include "napkin/tensor/create.hpp"
#include "values.hpp"

namespace nk = napkin;

namespace cases {

/// What is expected of a case.
struct row {
  const char* id;
  const char* rule;  // how operands are filled
  std::vector<std::size_t> shape{};
  double sum = 0, abs_sum = 0, rtol = 0;
  std::vector<double> first{};
  std::optional<std::uint64_t> flops{}, flops_sums_first{};  // of an einsum of several operands
};

using values = std::vector<double>;

/// Each throws std::runtime_error, saying what was expected and what was found.
void compare_shape(const row& r, std::span<const std::size_t> shape);
void compare_values(const row& r, const values& found);
void compare_flops(const row& r, const nk::graph& g);

/// A function of operands and its claimed gradient, as the check of gradients sees it. `step` is that of the
/// central differences, which are exact for what is linear in each element.
struct differentiated {
  std::vector<values> operands;
  std::vector<values> gradients;
  values weights;  // of the result's elements: their sum is differentiated
  values (*evaluate)(const std::vector<values>& operands);  // the result's elements
};
void compare_gradient(const row& r, const differentiated& d, double step);

/// One part of a case: what it checks is run, and must not throw.
struct part {
  row expected;
  void (*check)(const row&);
};
std::vector<part>& all_parts();
struct registered {
  registered(row r, void (*check)(const row&)) { all_parts().push_back({std::move(r), check}); }
};

template <class X>
X filled(const char* rule, std::size_t k) {
  X x(nk::uninitialized);
  for (std::size_t i = 0; i < x.numel(); ++i)
    x.data()[i] = static_cast<typename X::element>(element_of(rule, i, k));
  return x;
}
template <class X>
X tensor_from(const values& v) {
  X x(nk::uninitialized);
  for (std::size_t i = 0; i < v.size(); ++i) x.data()[i] = static_cast<typename X::element>(v[i]);
  return x;
}
template <class T>
double as_number(const T& x) {
  if constexpr (nk::is_complex(nk::dtype_of<T>))
    return static_cast<double>(x.real);
  else
    return static_cast<double>(x);
}
template <class X>
values values_of(const X& x) {
  values v;
  v.reserve(nk::numel(x));
  for (const auto& element : x) v.push_back(as_number(element));
  return v;
}

template <class Call, class... Xs>
using result_of = decltype(Call{}(std::declval<const Xs&>()...));

/// The shape and the planned FLOPs, which are facts of types.
template <class Call, class... Xs>
void check_facts(const row& r) {
  using result = result_of<Call, Xs...>;
  compare_shape(r, nk::shape_of<result>);
  if constexpr (sizeof...(Xs) > 1) compare_flops(r, nk::expression_graph<result>::make());
}

/// These and the values, by the kernels that users get.
template <class Call, class... Xs>
void check_values(const row& r) {
  check_facts<Call, Xs...>(r);
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    compare_values(r, values_of(nk::eval(Call{}(filled<Xs>(r.rule, K)...))));
  }
  (std::index_sequence_for<Xs...>{});
}

template <class Call>
struct weighted_sum_of {
  constexpr auto operator()(const auto& weights, const auto&... xs) const {
    return nk::sum(Call{}(xs...) * weights);
  }
};

template <class X>
using in_f64 = typename nk::detail::tensor_of<nk::f64, nk::axes_of<X>>::type;

template <class Call, class... Xs>
struct gradient_check {
  using weights = in_f64<result_of<Call, Xs...>>;

  template <std::size_t... K>
  static values evaluate_on(const std::vector<values>& x, std::index_sequence<K...>) {
    return values_of(nk::eval(Call{}(tensor_from<Xs>(x[K])...)));
  }
  static values evaluate(const std::vector<values>& x) {
    return evaluate_on(x, std::index_sequence_for<Xs...>{});
  }

  template <std::size_t... K>
  static differentiated run(const char* rule, std::index_sequence<K...>) {
    differentiated d;
    weights w(nk::uninitialized);
    for (std::size_t i = 0; i < w.numel(); ++i) w.data()[i] = weight_of(i);
    const std::tuple<Xs...> x(filled<Xs>(rule, K)...);
    const auto all = nk::value_and_grad<(K + 1)...>(weighted_sum_of<Call>{})(w, std::get<K>(x)...);
    d.operands = {values_of(std::get<K>(x))...};
    d.gradients = {values_of(std::get<K + 1>(all))...};
    d.weights = values_of(w);
    d.evaluate = &evaluate;
    return d;
  }
};

/// The gradient with respect to every operand, in f64, of the result's elements weighted and summed.
template <class Call, class... Xs>
void check_gradient(const row& r) {
  using check = gradient_check<Call, in_f64<Xs>...>;
  compare_gradient(r, check::run(r.rule, std::index_sequence_for<Xs...>{}), 0.25);
}

}  // namespace cases
