// From a record of a plan to a kernel's arguments, for the device and, in tests, for the host.
#pragma once

#include <cstdint>
#include <numbers>

#include "attention_body.hpp"
#include "general_attention_body.hpp"
#include "napkin/core/error.hpp"

namespace napkin::on_cuda::detail {

inline unsigned narrow_size(std::size_t n) {
  if (n >> 31 != 0) throw error("attention: an axis is longer than a kernel counts");
  return static_cast<unsigned>(n);
}

inline attention_kernel attention_kernel_of(const planning::attention_record& r) {
  if (!r.backward) return attention_kernel::forward;
  if (!r.of(attention_tensor::delta).there) return attention_kernel::adjoints;
  return r.of(attention_tensor::d_query).there ? attention_kernel::query_adjoint
                                               : attention_kernel::key_adjoints;
}

/// Rows lie together, and begin at multiples of 16 bytes.
inline bool moves_by_vectors(const planning::attention_record& r, const attention_addresses& at) {
  const auto n = static_cast<std::ptrdiff_t>(16 / size_of(r.type));
  const passes::attention_extent& e = r.extent;
  const auto fits = [n](std::size_t width) { return static_cast<std::ptrdiff_t>(width) % n == 0; };
  if (!fits(e.hidden) || !fits(e.value)) return false;
  for (std::size_t x = 0; x < passes::attention_tensors; ++x) {
    const auto tensor = static_cast<attention_tensor>(x);
    if (!r.operands[x].there || tensor == attention_tensor::log_sum || tensor == attention_tensor::delta ||
        tensor == attention_tensor::largest || tensor == attention_tensor::mask)
      continue;
    const passes::attention_walk& w = e.walks[x];
    if (w.width != 1 || w.position % n != 0 || reinterpret_cast<std::uintptr_t>(at.of[x]) % 16 != 0)
      return false;
    for (const std::ptrdiff_t step : w.outer)
      if (step % n != 0) return false;
  }
  return true;
}

/// Two keys of the mask are one access.
inline bool masks_by_pairs(const planning::attention_record& r, const attention_addresses& at) {
  const passes::attention_walk& w = r.extent.walk(attention_tensor::mask);
  if (w.width != 1 || w.position % 2 != 0) return false;
  for (const std::ptrdiff_t step : w.outer)
    if (step % 2 != 0) return false;
  const auto address =
      reinterpret_cast<std::uintptr_t>(at.of[static_cast<std::size_t>(attention_tensor::mask)]);
  return address % (2 * size_of(r.extent.mask_type)) == 0;
}

inline attention_masking attention_masking_of(const planning::attention_record& r) {
  if (r.extent.is_masked()) return attention_masking::tensor;
  return r.extent.window > 0 ? attention_masking::window : attention_masking::causal;
}

inline attention_arguments attention_arguments_of(const planning::attention_record& r,
                                                  const attention_addresses& at) {
  const passes::attention_extent& e = r.extent;
  attention_arguments a{};
  for (std::size_t x = 0; x < passes::attention_tensors; ++x) {
    a.memory[x] = r.operands[x].there ? at.of[x] : nullptr;
    a.walks[x].position = e.walks[x].position;
    a.walks[x].width = e.walks[x].width;
    for (std::size_t o = 0; o < e.walks[x].outer.size(); ++o) a.walks[x].outer[o] = e.walks[x].outer[o];
  }
  a.queries = narrow_size(e.queries);
  a.keys = narrow_size(e.keys);
  a.hidden = narrow_size(e.hidden);
  a.value = narrow_size(e.value);
  a.outer_rank = static_cast<unsigned>(e.outer.size());
  for (std::size_t o = 0; o < e.outer.size(); ++o) a.outer_size[o] = narrow_size(e.outer[o]);
  a.key_heads = narrow_size(e.key_heads());
  a.group = narrow_size(e.group());
  a.exact_scale = e.scale;
  a.scale = static_cast<float>(e.scale);
  a.scale_log2 = static_cast<float>(e.scale * std::numbers::log2e);
  a.causal = e.causal;
  a.by_vectors = moves_by_vectors(r, at);
  a.window = e.window > 0 ? narrow_size(e.window) : a.queries;
  if (e.is_masked()) {
    a.mask_shows = e.mask == attention_mask::shows;
    a.mask_by_pairs = masks_by_pairs(r, at);
    a.mask_type = e.mask_type;
    const passes::attention_walk& w = e.walk(attention_tensor::mask);
    for (std::int64_t& step : a.walks[static_cast<std::size_t>(attention_tensor::mask)].outer)
      step *= static_cast<std::int64_t>(size_of(e.mask_type));
    a.mask_along_queries = w.position;
    a.mask_along_keys = w.width;
    a.hidden_score = e.hidden_score;
  }
  return a;
}

/// Blocks of a launch: of every head so many, behind one another. They run in about that order, so that what
/// a head's blocks all read comes from memory once, and then from the second cache.
struct attention_grid {
  unsigned heads, blocks;
  unsigned size() const { return heads * blocks; }
};
inline attention_grid attention_grid_of(const attention_arguments& a, bool owns_keys, unsigned rows,
                                        std::size_t pieces) {
  constexpr std::size_t most = 0x7fffffff;  // blocks along a grid's first axis
  const std::size_t all = owns_keys ? a.keys : a.queries, blocks = (all + rows - 1) / rows * pieces;
  const std::size_t heads = owns_keys ? a.key_heads : std::size_t{a.key_heads} * a.group;
  if (heads > 0 && blocks > most / heads) throw error("attention: more rows than a grid has blocks for");
  return {narrow_size(heads), static_cast<unsigned>(blocks)};
}
template <class Shape>
attention_grid attention_grid_of(const attention_arguments& a) {
  return attention_grid_of(a, Shape::owns_keys, Shape::rows, 1);
}
/// How many blocks share a row of what a general kernel gives.
template <attention_kernel Kernel>
unsigned general_attention_pieces(const attention_arguments& a) {
  using enum attention_tensor;
  unsigned pieces = 0;
  if constexpr (Kernel == attention_kernel::forward) {
    pieces = pieces_of(a.value);
  } else if constexpr (Kernel == attention_kernel::query_adjoint) {
    pieces = pieces_of(a.hidden);
  } else {
    if (a.at<d_key>() != nullptr) pieces += pieces_of(a.hidden);
    if (a.at<d_value>() != nullptr) pieces += pieces_of(a.value);
  }
  return pieces;
}
template <dtype Type, attention_kernel Kernel>
attention_grid general_attention_grid(const attention_arguments& a) {
  return attention_grid_of(a, Kernel == attention_kernel::key_adjoints, general_attention_shape<Type>::rows,
                           general_attention_pieces<Kernel>(a));
}

/// f.operator()<Type, Width, Kernel, Masking>() for the kernel that does it.
template <dtype Type, unsigned Width, attention_kernel Kernel, class F>
void dispatch_attention_masking(attention_masking masking, F&& f) {
  switch (masking) {
    case attention_masking::causal:
      return f.template operator()<Type, Width, Kernel, attention_masking::causal>();
    case attention_masking::window:
      return f.template operator()<Type, Width, Kernel, attention_masking::window>();
    case attention_masking::tensor:
      return f.template operator()<Type, Width, Kernel, attention_masking::tensor>();
  }
}
template <dtype Type, unsigned Width, class F>
void dispatch_attention_kernel(attention_kernel kernel, attention_masking masking, F&& f) {
  switch (kernel) {
    case attention_kernel::forward:
      return dispatch_attention_masking<Type, Width, attention_kernel::forward>(masking, f);
    case attention_kernel::query_adjoint:
      return dispatch_attention_masking<Type, Width, attention_kernel::query_adjoint>(masking, f);
    case attention_kernel::key_adjoints:
      return dispatch_attention_masking<Type, Width, attention_kernel::key_adjoints>(masking, f);
    case attention_kernel::adjoints:  // without a window, of one that is as long as the queries
      return f.template operator()<Type, Width, attention_kernel::adjoints, attention_masking::window>();
  }
}
/// Errors  `error` where no kernel gives what the record asks
inline void check_attention(const planning::attention_record& r) {
  if (attention_kernel_of(r) == attention_kernel::adjoints && !is_of_few_keys(r))
    throw error("attention: a backward pass without deltas is not of few keys");
}
/// Of a shape that attention_body.hpp takes.
template <class F>
void dispatch_attention(const planning::attention_record& r, F&& f) {
  check_attention(r);
  const attention_kernel kernel = attention_kernel_of(r);
  const attention_masking masking = attention_masking_of(r);
  const auto by_width = [&]<dtype Type>() {
    // Half as wide, where filling up would double what a short kernel multiplies.
    if (r.extent.widest() <= 32) {
      if (kernel == attention_kernel::adjoints)
        return f.template operator()<Type, 32, attention_kernel::adjoints, attention_masking::window>();
      if constexpr (Type == dtype::f32) {
        if (kernel == attention_kernel::forward && masking == attention_masking::causal)
          return f.template operator()<Type, 32, attention_kernel::forward, attention_masking::causal>();
        if (kernel == attention_kernel::forward && masking == attention_masking::window)
          return f.template operator()<Type, 32, attention_kernel::forward, attention_masking::window>();
      }
    }
    if (r.extent.widest() <= 64)
      dispatch_attention_kernel<Type, 64>(kernel, masking, f);
    else
      dispatch_attention_kernel<Type, 128>(kernel, masking, f);
  };
  switch (r.type) {
    case dtype::f32:
      return by_width.template operator()<dtype::f32>();
    case dtype::f16:
      return by_width.template operator()<dtype::f16>();
    case dtype::bf16:
      return by_width.template operator()<dtype::bf16>();
    default:
      throw error("attention: no kernel for this dtype: " + std::string(name_of(r.type)));
  }
}
/// f.operator()<Type, Kernel>() for the kernel that does any shape.
template <class F>
void dispatch_general_attention(const planning::attention_record& r, F&& f) {
  check_attention(r);
  const auto by_kernel = [&]<dtype Type>() {
    switch (attention_kernel_of(r)) {
      case attention_kernel::forward:
        return f.template operator()<Type, attention_kernel::forward>();
      case attention_kernel::query_adjoint:
        return f.template operator()<Type, attention_kernel::query_adjoint>();
      case attention_kernel::key_adjoints:
        return f.template operator()<Type, attention_kernel::key_adjoints>();
      case attention_kernel::adjoints:  // refused above
        break;
    }
  };
  switch (r.type) {
    case dtype::f64:
      return by_kernel.template operator()<dtype::f64>();
    case dtype::f32:
      return by_kernel.template operator()<dtype::f32>();
    case dtype::f16:
      return by_kernel.template operator()<dtype::f16>();
    case dtype::bf16:
      return by_kernel.template operator()<dtype::bf16>();
    default:
      throw error("attention: no kernel for this dtype: " + std::string(name_of(r.type)));
  }
}

}  // namespace napkin::on_cuda::detail
