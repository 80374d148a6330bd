// Where a model's parameters lie, for programs that read them alone: a predictor, a generator of text.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>

#include "napkin/ops/reflect.hpp"

namespace napkin {

/// f32 each, in the order of Model's table; valid as long as what holds them.
template <class Model>
struct parameter_pointers : std::array<const void*, parameter_table<Model>.size()> {};

namespace rule {
/// type<the model that reads them>, type<the model whose they are>
template <class... Facts>
struct parameters_of_another_model {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "predictor, generator: these are parameters of a model that has others, by name, sizes or order: the "
      "trained model reads them, or the same with another batch");
};
}  // namespace rule

namespace detail {

template <class A, class B>
constexpr bool have_equal_parameters() {
  const auto &a = parameter_table<A>, &b = parameter_table<B>;
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].name != b[i].name || !(a[i].sizes == b[i].sizes)) return false;
  return true;
}

/// What is wrong with Model's reading the parameters of Owner.
template <class Model, class Owner>
using foreign_parameters =
    mistake_unless<have_equal_parameters<Model, Owner>(),
                   rule::parameters_of_another_model<fact::type<Model>, fact::type<Owner>>>;

}  // namespace detail

}  // namespace napkin
