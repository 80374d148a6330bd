// Which attentions the GPU's general kernels do, which take any shape: what its fast ones leave; and which of those
// are short.
#pragma once

#include "napkin/plan/records.hpp"

namespace napkin::on_cuda {

/// Fast kernels are made for widths of 64 and 128, some for 32; others are filled up with zeros.
inline constexpr std::size_t widest_fast_head = 128;

/// Of a result, a block's columns.
inline constexpr std::size_t general_attention_columns = 256;

/// Where one kernel gives all adjoints: keys that a block owns, all that there are, and queries of all heads
/// that share them, which it walks by itself where kernels apart have some blocks for them.
inline constexpr std::size_t most_keys_at_once = 64, most_queries_at_once = 256;

/// Steps of a mask, of queries and of keys, that a fast kernel counts in 32 bits: more than a tile has.
inline constexpr std::ptrdiff_t fast_mask_steps = 256;

/// Whatever its masks.
constexpr bool is_general(dtype type, std::size_t hidden, std::size_t value, double scale) {
  return type == dtype::f64 || hidden > widest_fast_head || value > widest_fast_head || !(scale > 0);
}
constexpr bool is_general(const planning::attention_record& r) {
  if (is_general(r.type, r.extent.hidden, r.extent.value, r.extent.scale)) return true;
  if (!r.extent.is_masked()) return false;
  constexpr std::ptrdiff_t most = (std::ptrdiff_t{1} << 31) / fast_mask_steps;
  const auto is_far = [](std::ptrdiff_t step) { return step >= most || step <= -most; };
  const passes::attention_walk& w = r.extent.walk(passes::attention_tensor::mask);
  return (r.extent.mask == attention_mask::adds && r.extent.mask_type == dtype::f64) || is_far(w.position) ||
         is_far(w.width);
}

/// Whether one block may have all keys of a head, of however many queries.
constexpr bool is_of_few_keys(const planning::attention_record& r) {
  return r.extent.keys <= most_keys_at_once && !r.extent.is_masked() && !is_general(r);
}

/// What passes::leave_out_deltas asks.
constexpr bool has_adjoints_at_once(const row::attention_form& f, dtype type) {
  using form = row::attention_form;
  return f.keys() <= most_keys_at_once && f.queries() * f.group() <= most_queries_at_once && !f.is_masked() &&
         !is_general(type, f.size[form::hidden], f.size[form::value], f.scale);
}

}  // namespace napkin::on_cuda
