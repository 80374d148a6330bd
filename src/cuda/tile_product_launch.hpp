// What the host hands to the kernel of a product in tiles; tests call the same.
#pragma once

#include <cstdint>

#include "napkin/cuda/plan.hpp"
#include "tile_product_body.hpp"

namespace napkin::on_cuda::detail {

/// workspace: of the product. cuBLASLt's, where the plan meant one of its calls, is used alike.
inline tile_arguments tile_arguments_of(const product& p, const void* a, const void* b, void* c,
                                        void* workspace) {
  tile_arguments k{tiles_of(p.type, p.loops, p.gemm.possible ? p.gemm.workspace : p.workspace), a, b, c,
                   workspace};
  if (k.how.swapped) k.a = b, k.b = a;
  const std::size_t bytes = tile_vector(p.type) * size_of(p.type);
  const auto is_aligned = [&](const void* x) { return reinterpret_cast<std::uintptr_t>(x) % bytes == 0; };
  k.how.a.adjacent = k.how.a.adjacent && is_aligned(k.a);
  k.how.b.adjacent = k.how.b.adjacent && is_aligned(k.b);
  return k;
}

/// f<Type, Narrow>(), where there is such a kernel: of unsigned integers that of the signed ones.
///
/// Errors  `error` where products of this dtype have no sums.
template <class F>
void dispatch_tiles(dtype type, bool narrow, F f) {
  dispatch(signed_of(type), [&]<class T>(std::type_identity<T>) {
    constexpr dtype made = dtype_of<T>;
    if constexpr (is_complex(made) || made == dtype::b8)
      throw error("a contraction has no sums in this dtype");
    else if constexpr (made != signed_of(made))
      return;  // never
    else if (narrow)
      f.template operator()<made, true>();
    else
      f.template operator()<made, false>();
  });
}

}  // namespace napkin::on_cuda::detail
