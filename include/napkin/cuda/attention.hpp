// Attention on a GPU as one kernel forward and two backward, or one: which shapes they take, and how one is launched.
// Includes no header of CUDA's.
#pragma once

#include "napkin/cuda/general_attention.hpp"
#include "napkin/passes/expression_attention.hpp"
#include "napkin/plan/records.hpp"

struct CUstream_st;  // what cudaStream_t points to

namespace napkin::on_cuda {

using passes::attention_tensor;

/// What passes::find_attention asks: f64, f32, f16 and bf16, masks of these and of b8; any widths, lengths,
/// groups and strides, any scale.
struct attention_fits {
  constexpr passes::attention_fit operator()(const row::attention_form& f, dtype type) const {
    return has_kernel(type) && (f.mask != attention_mask::adds || has_kernel(f.mask_type))
               ? passes::attention_fit::fits
               : passes::attention_fit::no_kernel_for_dtype;
  }

 private:
  static constexpr bool has_kernel(dtype t) {
    return t == dtype::f64 || t == dtype::f32 || t == dtype::f16 || t == dtype::bf16;
  }
};

/// The graph of a lazy expression as it is lowered here; and of a gradient's, what it is rewritten by.
template <class E>
struct device_expression : passes::expression_with_attention<E, attention_fits> {};
using gradient_rewrite = passes::attention_before_gradient<attention_fits>;

/// Addresses on the device, of the element at index 0 of every axis; null for what a record lacks.
struct attention_addresses {
  std::byte* of[passes::attention_tensors] = {};
};

/// What a kernel is given.
struct attention_arguments {
  struct tensor_walk {
    std::int64_t position, width, outer[row::max_attention_axes];  // elements; of a mask outer is bytes
  };
  std::byte* memory[passes::attention_tensors];
  tensor_walk walks[passes::attention_tensors];
  unsigned queries, keys, hidden, value;
  unsigned outer_rank, outer_size[row::max_attention_axes];
  unsigned key_heads, group;
  double exact_scale;       // the general kernels', as of f64
  float scale, scale_log2;  // scale_log2: times the binary logarithm of e
  bool causal;
  bool by_vectors;     // every row of every tensor lies together, in pieces of 16 bytes
  bool mask_shows;     // else it adds
  bool mask_by_pairs;  // two keys of a mask lie together, at multiples of both
  dtype mask_type;
  float hidden_score;                                // the score of what is hidden, where there is a mask
  std::int64_t mask_along_queries, mask_along_keys;  // elements
  unsigned window;  // how many keys a causal query sees at most; as many as there are queries: all

  template <attention_tensor X>
  constexpr const tensor_walk& walk() const {
    return walks[static_cast<std::size_t>(X)];
  }
  template <attention_tensor X>
  constexpr std::byte* at() const {
    return memory[static_cast<std::size_t>(X)];
  }
};

/// Put an attention into the stream. Launch errors are the stream's to check.
///
/// Errors  `error` for what attention_fits refuses, and where a size exceeds 32 bits
void attend(const planning::attention_record& record, const attention_addresses& at, CUstream_st* on);

}  // namespace napkin::on_cuda
