// Which GEMM a contraction is: a search over the operands' order, transposes, which axes are m, n, k and the
// batch, for the one that moves the fewest bytes. Copies nothing to make an operand fit; what no GEMM says
// without a copy is refused, with the reason, and is a fused kernel's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "napkin/cuda/blas_product.hpp"

namespace napkin::on_cuda {

namespace detail {

constexpr bool is_8_bit_product(const product_types& t) { return is_8_bit_float(t.a) && is_8_bit_float(t.b); }

/// Source  of 8-bit floats: cuBLAS 13, "cublasLtMatmul", the table of its types: one operand at least is e4m3
constexpr bool has_blas(const product_types& t) {
  const dtype operand = t.a, result = t.result;
  if (is_8_bit_product(t))
    return (t.a == dtype::f8e4m3 || t.b == dtype::f8e4m3) &&
           (result == dtype::f32 || result == dtype::bf16 || result == dtype::f16);
  if (t.a != t.b) return false;
  if (operand == dtype::f64 || operand == dtype::f32) return result == operand;
  if (operand == dtype::f16 || operand == dtype::bf16) return result == operand || result == dtype::f32;
  return false;
}

constexpr blas_compute compute_of(const product_types& t, const product_options& options) {
  if (t.a == dtype::f64) return blas_compute::f64;
  if (t.a == dtype::f32 && options.tf32) return blas_compute::tf32;
  if (t.a == dtype::f8e4m3 && t.b == dtype::f8e4m3 && options.adds_fast) return blas_compute::fast_f32;
  return blas_compute::f32;
}

/// A rows x columns matrix by two strides, as BLAS stores one: columns adjacent (its own), or rows.
struct stored_matrix {
  bool possible = false, transposed = false;
  std::int64_t ld = 1;
};
constexpr stored_matrix store(const std::size_t rows, const std::size_t columns, const std::ptrdiff_t row,
                              const std::ptrdiff_t column) {
  // Of a row whose elements are adjacent both are true, and the transpose has the better aligned columns.
  if (passes::is_row_major(rows, columns, row, column) &&
      ((rows == 1 && columns > 1) || !passes::is_row_major(columns, rows, column, row)))
    return {true, true, rows == 1 ? static_cast<std::int64_t>(columns) : row};
  if (passes::is_row_major(columns, rows, column, row))
    return {true, false, columns == 1 ? static_cast<std::int64_t>(rows) : column};
  return {};
}

constexpr contraction_loop with_operands_swapped(const contraction_loop& l) {
  return {l.size, l.b, l.a, l.c};
}

/// One candidate: which loop of each group is the GEMM's; `none` of a group where it is past the end.
struct blas_candidate {
  contraction_loop m, n, k, batch;
  contraction_loops outer, outer_k;
  bool has_batch = false;
};

/// Source  cuBLAS 13, "cublasLtMatmul": on Ada and Hopper A is transposed and B is not; matrices and their
///         columns lie at multiples of 16 bytes
constexpr bool takes_8_bits(const blas_product& p) {
  const auto by_16 = [](std::uint64_t x) { return x % 16 == 0; };
  const auto lies = [&](const blas_matrix& x) {
    const std::uint64_t size = napkin::size_of(x.type);
    return by_16(static_cast<std::uint64_t>(x.ld) * size) &&
           by_16(static_cast<std::uint64_t>(x.batch_stride) * size);
  };
  return p.transpose_a && !p.transpose_b && p.calls() == 1 && by_16(p.m) && by_16(p.n) && by_16(p.k) &&
         lies(p.a) && lies(p.b) && lies(p.c);
}

constexpr bool fits_int(std::uint64_t x) { return x <= 0x7fffffff; }

/// Fill in p's descriptors for a candidate; says why not where it is none.
constexpr blas_refusal describe(const blas_candidate& with, blas_product& p) {
  blas_candidate x = with;
  // C as it lies has its first axis adjacent, so that its columns are the contraction's n; else the roles of
  // the operands are exchanged. A vector is a column if it can be.
  const stored_matrix as_is = store(x.m.size, x.n.size, x.m.c, x.n.c);
  if (!as_is.possible) return blas_refusal::result_strides;
  p.swapped = as_is.transposed;
  if (p.swapped) {
    const dtype type_of_a = p.a.type;
    p.a.type = p.b.type;
    p.b.type = type_of_a;
    const contraction_loop m = with_operands_swapped(x.n);
    x.n = with_operands_swapped(x.m);
    x.m = m;
    x.k = with_operands_swapped(x.k);
    x.batch = with_operands_swapped(x.batch);
    for (contraction_loops* loops : {&x.outer, &x.outer_k})
      for (contraction_loop& l : *loops) l = with_operands_swapped(l);
  }
  const stored_matrix a = store(x.m.size, x.k.size, x.m.a, x.k.a);
  const stored_matrix b = store(x.k.size, x.n.size, x.k.b, x.n.b);
  if (!a.possible) return p.swapped ? blas_refusal::second_strides : blas_refusal::first_strides;
  if (!b.possible) return p.swapped ? blas_refusal::first_strides : blas_refusal::second_strides;
  if (!fits_int(x.m.size) || !fits_int(x.n.size) || !fits_int(x.k.size) || !fits_int(x.batch.size))
    return blas_refusal::size;

  p.m = x.m.size, p.n = x.n.size, p.k = x.k.size, p.batch = x.batch.size;
  p.transpose_a = a.transposed;
  p.transpose_b = b.transposed;
  const auto put = [](blas_matrix& to, std::uint64_t rows, std::uint64_t columns, bool transposed,
                      std::int64_t ld, std::ptrdiff_t batch_stride) {
    to.rows = transposed ? columns : rows;
    to.columns = transposed ? rows : columns;
    to.ld = ld;
    to.batch_stride = batch_stride;
  };
  put(p.a, p.m, p.k, a.transposed, a.ld, x.batch.a);
  put(p.b, p.k, p.n, b.transposed, b.ld, x.batch.b);
  put(p.c, p.m, p.n, false, as_is.ld, x.batch.c);
  p.outer = x.outer;
  p.outer_k = x.outer_k;
  return blas_refusal::none;
}

constexpr bool takes_few_calls(const blas_product& p) {
  return p.calls() <= most_calls ||
         (p.has_address_arrays() && blas_product::size_of(p.outer_k) <= most_calls);
}

/// Elements of each operand that exist, by strides in the loops.
struct distinct_elements {
  std::uint64_t a = 1, b = 1, c = 1;
  constexpr void times(const contraction_loop& l) {
    if (l.a != 0) a *= l.size;
    if (l.b != 0) b *= l.size;
    if (l.c != 0) c *= l.size;
  }
};

constexpr void count_bytes(blas_product& p, const distinct_elements& all) {
  const std::uint64_t outer = blas_product::size_of(p.outer), sums = blas_product::size_of(p.outer_k);
  const auto size_of = [](const blas_matrix& x) { return std::uint64_t{napkin::size_of(x.type)}; };
  const auto of_batch = [&](const blas_matrix& x) {
    return x.rows * x.columns * (x.batch_stride == 0 ? 1 : p.batch) * size_of(x);
  };
  p.bytes = outer * (sums * (of_batch(p.a) + of_batch(p.b)) + (2 * sums - 1) * of_batch(p.c));
  const std::uint64_t read_a = p.m * p.k * p.batch * outer * sums,
                      read_b = p.k * p.n * p.batch * outer * sums;
  // A and B may stand exchanged: their elements have one size
  p.bytes_again = (read_a - all.a) * size_of(p.a) + (read_b - all.b) * size_of(p.b) +
                  2 * (sums - 1) * all.c * size_of(p.c);
  p.flops = 2 * p.m * p.n * p.k * p.batch * outer * sums;
}
/// Bytes that memory moves while a product is computed: by a nominal machine, as passes/contract.hpp has one,
/// with an accelerator's FLOPs a byte.
constexpr std::uint64_t bytes_meanwhile(dtype type, std::uint64_t flops) {
  return flops / (napkin::size_of(type) <= 2 ? 128 : 16);
}
/// Reading operands again takes it four times as long as it had to.
constexpr bool is_slow(const blas_product& p, const distinct_elements& all) {
  const std::uint64_t least = all.a * napkin::size_of(p.a.type) + all.b * napkin::size_of(p.b.type) +
                              all.c * napkin::size_of(p.c.type);
  const std::uint64_t arithmetic = bytes_meanwhile(p.a.type, p.flops);
  return least + p.bytes_again > 4 * (arithmetic > least ? arithmetic : least);
}

/// What needs no arrays of addresses; then fewest bytes, then fewest calls, then largest matrices.
constexpr bool is_better(const blas_product& x, const blas_product& y) {
  if ((x.calls() <= most_calls) != (y.calls() <= most_calls)) return x.calls() <= most_calls;
  if (x.bytes_again != y.bytes_again) return x.bytes_again < y.bytes_again;
  if (x.calls() != y.calls()) return x.calls() < y.calls();
  return x.m * x.n * x.k > y.m * y.n * y.k;
}

/// Of groups of one loop at most, their loops are the GEMM's, if those say one: nothing is read twice, and
/// every other candidate takes more calls or smaller matrices. False where there is more to search.
constexpr bool is_one_call(const passes::contraction_groups& g, blas_product& p) {
  if (g.empty || g.nothing_to_sum || g.batch.size() > 1 || g.rows.size() > 1 || g.columns.size() > 1 ||
      g.summed.size() > 1)
    return false;
  blas_candidate x;
  if (!g.rows.empty()) x.m = g.rows[0];
  if (!g.columns.empty()) x.n = g.columns[0];
  if (!g.summed.empty()) x.k = g.summed[0];
  if (!g.batch.empty()) x.batch = g.batch[0];
  const auto walks_forward = [](const contraction_loop& l) {
    return l.size == 1 || (l.a > 0 && l.b > 0 && l.c > 0);
  };
  return walks_forward(x.batch) && describe(x, p) == blas_refusal::none;
}

/// The loop at `chosen` to `to`, the rest to `rest`.
constexpr void split(const contraction_loops& from, std::size_t chosen, contraction_loop& to,
                     contraction_loops& rest) {
  to = {};
  for (std::size_t i = 0; i < from.size(); ++i)
    if (i == chosen)
      to = from[i];
    else
      rest.push_back(from[i]);
}

/// Room for 16 partial sums of the result (split-K), up to what NVIDIA recommends on Hopper.
constexpr void add_workspace(blas_product& p) {
  constexpr std::uint64_t most = 32ull << 20;
  const std::uint64_t sums = 16 * p.m * p.n * p.batch * napkin::size_of(p.scale);
  p.workspace = static_cast<std::size_t>(sums < most ? (sums + 255) / 256 * 256 : most);
}

}  // namespace detail

/// The GEMM of c = a * b, summed over the labels that c lacks; sums in f64 for f64, else in f32. Any strides;
/// c's elements must be distinct. `possible` is false, with a reason, where no GEMM says it.
///
/// Errors  `error` where a label has two sizes or stands in one of the three only.
/// Source  batched, strided GEMM in place of copies: Shi et al., "Tensor contractions with extended BLAS
///         kernels on CPU and GPU", 2016.
constexpr blas_product plan_blas(const product_types& types, const contraction_operand& a,
                                 const contraction_operand& b, const contraction_operand& c,
                                 product_options options = {}) {
  const dtype type = types.a, result = types.result;
  const passes::contraction_groups g = passes::group_labels(a, b, c);
  blas_product made;
  made.compute = detail::compute_of(types, options);
  made.scale = type == dtype::f64 ? dtype::f64 : dtype::f32;
  made.a.type = types.a, made.b.type = types.b;
  made.c.type = result;
  const auto refused = [&](blas_refusal reason) {
    made.reason = reason;
    return made;
  };
  if (!detail::has_blas(types)) return refused(blas_refusal::element_type);
  if (g.empty) {
    made.possible = true;
    made.batch = 0;
    return made;
  }
  if (g.nothing_to_sum) return refused(blas_refusal::nothing_to_sum);

  detail::distinct_elements all;
  for (const contraction_loops* group : {&g.batch, &g.rows, &g.columns, &g.summed})
    for (const contraction_loop& l : *group) all.times(l);

  const bool in_8_bits = detail::is_8_bit_product(types);
  if (in_8_bits && (a.offset % 16 != 0 || b.offset % 16 != 0)) return refused(blas_refusal::narrow_layout);
  blas_product best = made;
  if (detail::is_one_call(g, best) && (!in_8_bits || detail::takes_8_bits(best))) {
    detail::count_bytes(best, all);
    best.possible = true;
    detail::add_workspace(best);
    return best;
  }
  best = made;
  // Why there is none: what was wrong with the candidate that came furthest, of those the one of most work.
  blas_refusal reason = blas_refusal::none;
  std::uint64_t reason_size = 0;
  const auto consider = [&](const detail::blas_candidate& x) {
    blas_product p = made;
    blas_refusal r = detail::describe(x, p);
    if (r == blas_refusal::none) {
      detail::count_bytes(p, all);
      const bool rounds = is_small_float(result) && !p.outer_k.empty();
      r = rounds                                  ? blas_refusal::rounding
          : !detail::takes_few_calls(p)           ? blas_refusal::calls
          : detail::is_slow(p, all)               ? blas_refusal::traffic
          : in_8_bits && !detail::takes_8_bits(p) ? blas_refusal::narrow_layout
                                                  : blas_refusal::none;
    }
    if (r == blas_refusal::none) {
      p.possible = true;
      if (!best.possible || detail::is_better(p, best)) best = p;
      return;
    }
    const std::uint64_t size = x.m.size * x.n.size * x.k.size;
    if (size > reason_size) {
      reason = r;
      reason_size = size;
    }
  };
  for (std::size_t i = 0; i <= g.rows.size(); ++i)
    for (std::size_t j = 0; j <= g.columns.size(); ++j)
      for (std::size_t l = 0; l <= g.summed.size(); ++l) {
        detail::blas_candidate x;
        contraction_loops rest = g.batch;
        detail::split(g.rows, i, x.m, rest);
        detail::split(g.columns, j, x.n, rest);
        detail::split(g.summed, l, x.k, x.outer_k);
        for (std::size_t t = 0; t <= rest.size(); ++t) {
          // a batch cannot run backwards; a call of its own can
          if (t < rest.size() && (rest[t].a < 0 || rest[t].b < 0 || rest[t].c < 0)) continue;
          x.outer.clear();
          detail::split(rest, t, x.batch, x.outer);
          consider(x);
        }
      }
  if (!best.possible) return refused(reason);
  detail::add_workspace(best);
  return best;
}

/// Operands of one dtype, and the result of the same or of another.
constexpr blas_product plan_blas(dtype type, dtype result, const contraction_operand& a,
                                 const contraction_operand& b, const contraction_operand& c,
                                 product_options options = {}) {
  return plan_blas({type, type, result}, a, b, c, options);
}
constexpr blas_product plan_blas(dtype type, const contraction_operand& a, const contraction_operand& b,
                                 const contraction_operand& c, product_options options = {}) {
  return plan_blas({type, type, type}, a, b, c, options);
}

}  // namespace napkin::on_cuda
