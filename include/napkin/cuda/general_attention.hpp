// Which attentions the GPU's general kernels do, which take any shape: what its fast ones leave.
#pragma once

#include "napkin/plan/records.hpp"

namespace napkin::on_cuda {

/// Fast kernels are made for widths of 64 and 128, others are filled up with zeros.
inline constexpr std::size_t widest_fast_head = 128;

/// Of a result, a block's columns.
inline constexpr std::size_t general_attention_columns = 256;

constexpr bool is_general(const planning::attention_record& r) {
  return r.type == dtype::f64 || r.extent.widest() > widest_fast_head || !(r.extent.scale > 0) ||
         (r.extent.mask == attention_mask::adds && r.extent.mask_type == dtype::f64);
}

}  // namespace napkin::on_cuda
