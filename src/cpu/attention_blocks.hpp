// Attention by blocks of queries and keys, whose scores stay in cache: products by the tiles of matrix
// multiplication (gemm_tile.hpp), what lies between them by lanes (attention_lanes.hpp). Scores lie keys by
// queries: so they are the product of K as it lies with packed queries, a softmax has a query to a lane, and
// they are left operands of the other products, transposed or not, without a copy.
//
// Source  Dao et al. 2022, "FlashAttention"
#pragma once

#include "napkin/cpu/attention.hpp"

namespace napkin::on_cpu::detail {

/// An attention that `goes_by_blocks`, T the record's type. Takes 0.6 MB of each thread's stack.
template <class T>
void attend_by_blocks(const planning::attention_record& record, const attention_call& at);

}  // namespace napkin::on_cpu::detail
