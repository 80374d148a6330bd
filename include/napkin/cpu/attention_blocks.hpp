// Which attentions the CPU does by blocks of queries and keys, whose scores stay in cache.
#pragma once

#include "napkin/plan/records.hpp"

namespace napkin::on_cpu {

/// Of a head's queries, keys and values: elements that a block has room for.
inline constexpr std::size_t widest_of_blocks = 256;

constexpr bool has_blocks(dtype type) {
  return type == dtype::f32 || type == dtype::f64 || type == dtype::f16 || type == dtype::bf16;
}
constexpr bool goes_by_blocks(const planning::attention_record& r) {
  return has_blocks(r.type) && r.extent.widest() <= widest_of_blocks &&
         (!r.backward || r.of(passes::attention_tensor::delta).there);
}

}  // namespace napkin::on_cpu
