// Choices as if the clock had preferred products within the kernels that read them.
#pragma once

#include <string>
#include <string_view>

#include "napkin/cuda/session.hpp"
#include "napkin/tensor/create.hpp"

namespace napkin::testing {

/// Each pair of product and kernel that was timed.
inline void take_all(on_cuda::blas_choices& choices) {
  const std::string text = choices.text();
  on_cuda::blas_algorithm way;
  way.left = on_cuda::apart::product;
  for (std::string_view rest = text; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1)) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    const std::size_t then = line.find(" then kernel ");
    if (then == line.npos) continue;
    choices.set(std::string(line.substr(0, line.find('\t', then))), way);
  }
}

/// f(trainer) of one whose kernels take in each product that they may: a trainer before it has timed them.
template <class Trainer, class Options, class F>
auto with_products_taken(seed from, const Options& options, const F& f) {
  on_cuda::blas_choices& choices = on_cuda::current_session().choices();
  { const Trainer timed(from, options); }
  const on_cuda::blas_choices before = choices;
  take_all(choices);
  Trainer t(from, options);
  auto given = f(t);
  choices = before;
  return given;
}

}  // namespace napkin::testing
