// How an account's parts are called, in tables and in JSON alike.
#pragma once

#include <string>

#include "napkin/ops/composite.hpp"
#include "napkin/ops/primitives/table.hpp"
#include "napkin/train/step_account.hpp"

namespace napkin {

/// "f32[4,128,128]"
inline std::string result_text(dtype type, const shape& result) {
  std::string text(name_of(type));
  text += '[';
  for (std::size_t i = 0; i < result.size(); ++i) text += (i > 0 ? "," : "") + std::to_string(result[i]);
  return text + "]";
}
inline std::string result_text(const plan_line& line) { return result_text(line.type, line.result); }
/// "tanh of gelu", "einsum"
inline std::string value_text(const remade_value& v) {
  const std::string made(facts_of(v.kind).name);
  return v.composite == 0 ? made : made + " of " + std::string(name_of(static_cast<composite>(v.composite)));
}
/// "einsum", "12 to sum"
inline std::string computes_text(const account_kernel& k) {
  const std::string last(facts_of(k.line.last).name);
  return k.operations.size() > 1 ? std::to_string(k.operations.size()) + " to " + last : last;
}
inline std::string bound_text(const kernel_bound& bound) {
  return bound.by_memory() ? "memory" : "arithmetic";
}
/// "-" of a layer without kernels of its own.
inline std::string bound_text(const account_sum& sum) {
  if (sum.cost.launches == 0) return "-";
  return sum.bound.memory > sum.bound.compute ? "memory" : "arithmetic";
}

}  // namespace napkin
