// Which attentions the CPU does by blocks of queries and keys, whose scores stay in cache.
#pragma once

#include "napkin/plan/records.hpp"

namespace napkin::on_cpu {

/// Of a head's queries, keys and values: elements that a block has room for.
inline constexpr std::size_t widest_of_blocks = 256;

constexpr bool goes_by_blocks(const planning::attention_record& r) {
  return (r.type == dtype::f32 || r.type == dtype::f64) && r.extent.widest() <= widest_of_blocks;
}

}  // namespace napkin::on_cpu
