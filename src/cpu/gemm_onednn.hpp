// Blocks of an f32 contraction by oneDNN's sgemm: which contractions it takes, and the call. Only in builds
// with NAPKIN_ONEDNN; without it nothing of this is called, or compiled.
#pragma once

#include <cstddef>

#include "napkin/cpu/contraction.hpp"

namespace napkin::on_cpu::detail {

#if defined(NAPKIN_ONEDNN)
inline constexpr bool has_onednn = true;
#else
inline constexpr bool has_onednn = false;
#endif

/// The operands are matrices as BLAS takes them: elements adjacent along one axis, no overlap along the
/// other. Where there are blocks of k, C is their partial sums, which are.
constexpr bool onednn_takes(const contraction_plan& p) {
  return p.type == dtype::f32 && p.k != 0 && is_matrix(p.m, p.k, p.a_m, p.a_k) &&
         is_matrix(p.k, p.n, p.b_k, p.b_n) && (p.k_blocks() > 1 || is_row_major(p.m, p.n, p.c_m, p.c_n));
}

/// c(m, n) = (add ? itself : 0) + sum over k of a(m, k) * b(k, n), strides in elements, columns of c
/// adjacent.
struct onednn_call {
  const float *a, *b;
  float* c;
  std::size_t m, n, k;
  std::ptrdiff_t a_m, a_k, b_k, b_n, c_m;
  bool add;
};

/// Runs on the calling thread alone; allocates (2.6.3: some 74 KB) and frees that again.
///
/// Errors  `system_error` where oneDNN refuses (out of memory).
void multiply_by_onednn(const onednn_call& x);

/// How many calls this process has made: the tests ask.
std::size_t onednn_calls();

}  // namespace napkin::on_cpu::detail
