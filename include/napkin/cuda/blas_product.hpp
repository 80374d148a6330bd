// A contraction as calls of cuBLASLt's matmul: sizes, transposes, leading dimensions and batch strides as its
// descriptors take them. Plain numbers; cuda/blas_plan.hpp makes them, cuda/blas.hpp runs them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "napkin/core/dtype.hpp"
#include "napkin/passes/contraction_groups.hpp"
#include "napkin/passes/product_options.hpp"

namespace napkin::on_cuda {

using passes::contraction_loop;
using passes::contraction_loops;
using passes::contraction_operand;
using passes::most_factors;
using passes::product_options;
using passes::product_types;

/// How products are multiplied and summed. Only ever asked for are `tf32`, which rounds f32 operands to 11
/// bits, and `fast_f32`, which adds up products of 8-bit floats in fewer bits than f32 has.
enum class blas_compute : std::uint8_t { f64, f32, tf32, fast_f32 };

/// Why a contraction is not a few calls of a GEMM without copies: a kernel of the project's own takes it.
enum class blas_refusal : std::uint8_t {
  none,
  element_type,    // cuBLASLt has no product of these dtypes
  nothing_to_sum,  // a summed axis has size 0: the result is zeros
  first_strides,   // the contraction's first operand has no matrix: no axis of stride 1, overlaps, runs
                   // backwards
  second_strides,  // its second operand
  result_strides,  // its result
  size,            // an extent beyond 2^31 - 1
  rounding,        // several calls would add up, each rounding the sum to a 16-bit float
  calls,           // too many calls
  traffic,         // operands are read again so often that memory would take four times as long
  narrow_layout,   // of 8-bit floats: not one call whose summed axis lies adjacent in both operands, or sizes
                   // or places that are no multiples of 16
};
constexpr std::string_view words_of(blas_refusal r) {
  constexpr std::string_view words[] = {"none",
                                        "cuBLASLt has no product of these element types",
                                        "nothing is summed",
                                        "the first operand's strides are not a matrix's",
                                        "the second operand's strides are not a matrix's",
                                        "the result's strides are not a matrix's",
                                        "an extent exceeds 2^31 - 1",
                                        "a sum over several calls would be rounded to 16 bits in between",
                                        "it takes too many calls",
                                        "its operands would be read again too often",
                                        "8-bit floats are multiplied where their summed axis is adjacent, by "
                                        "sixteens"};
  return words[static_cast<std::size_t>(r)];
}

/// A matrix as it lies in memory: element (i, j) of batch t at i + j*ld + t*batch_stride.
struct blas_matrix {
  dtype type = dtype::f32;
  std::uint64_t rows = 1, columns = 1;
  std::int64_t ld = 1, batch_stride = 0;  // elements
  constexpr bool operator==(const blas_matrix&) const = default;
};

/// Calls of matmul in one product: beyond, launching them takes longer than a kernel of our own.
inline constexpr std::uint64_t most_calls = 64;

/// C = alpha * op(A) * op(B) + beta * C for each t < batch, column-major; op(A) is m x k, op(B) k x n. That
/// for each index of `outer`, by calls of their own or in one call by arrays of addresses
/// (cuda/batch_addresses.hpp), and added up over `outer_k`, in order, by calls with beta = 1.
struct blas_product {
  bool possible = false;
  blas_refusal reason = blas_refusal::none;
  bool swapped = false;  // A is the contraction's second operand: C is the transpose of its matrix of rows
  bool transpose_a = false, transpose_b = false;
  blas_compute compute = blas_compute::f32;
  dtype scale = dtype::f32;  // of alpha and beta
  std::uint64_t m = 1, n = 1, k = 1, batch = 1;
  blas_matrix a, b, c;
  contraction_loops outer, outer_k;  // a, b, c: strides in elements of A, B and C as they stand here

  std::uint64_t flops = 0;
  std::uint64_t bytes = 0;        // each call's distinct inputs once and outputs once
  std::uint64_t bytes_again = 0;  // read or written more than once: by batches that share an operand, by sums
  std::size_t workspace = 0;      // bytes

  constexpr bool operator==(const blas_product&) const = default;

  /// Calls of matmul; 0 where C has no elements.
  constexpr std::uint64_t calls() const { return batch == 0 ? 0 : size_of(outer) * size_of(outer_k); }

  /// Matrices of C.
  constexpr std::uint64_t entries() const { return batch * size_of(outer); }
  /// Whether arrays of addresses may make several calls one: of matrices of more than a few numbers, where
  /// the arrays take 32 MiB at most.
  constexpr bool has_address_arrays() const {
    return batch > 0 && size_of(outer) > 1 && !is_narrow() && array_bytes() <= 32u << 20;
  }
  /// Bytes of those arrays; 0 where there are none.
  constexpr std::size_t address_bytes() const { return has_address_arrays() ? array_bytes() : 0; }

  /// One reduction rather than a matrix: most of a tile of the GEMM's would be idle.
  constexpr bool is_narrow() const { return m < 8 && n < 8; }

  /// f(offset of A, of B, of C in elements, whether it is the first to write this part of C), call by call.
  template <class F>
  constexpr void for_each_call(F&& f) const {
    if (batch == 0) return;
    for (std::uint64_t i = 0; i < size_of(outer); ++i)
      for (std::uint64_t l = 0; l < size_of(outer_k); ++l) {
        contraction_loop at{1, 0, 0, 0};
        add_offset(outer, i, at);
        add_offset(outer_k, l, at);
        f(at.a, at.b, at.c, l == 0);
      }
  }

  /// Addresses of C, of what is added to it, and of A and B for each index of `outer_k`.
  constexpr std::uint64_t array_bytes() const {
    return entries() * (2 + 2 * size_of(outer_k)) * sizeof(void*);
  }

  static constexpr std::uint64_t size_of(const contraction_loops& loops) {
    std::uint64_t n = 1;
    for (const contraction_loop& l : loops) n *= l.size;
    return n;
  }
  static constexpr void add_offset(const contraction_loops& loops, std::uint64_t index,
                                   contraction_loop& to) {
    for (std::size_t i = loops.size(); i-- > 0;) {
      const auto at = static_cast<std::ptrdiff_t>(index % loops[i].size);
      index /= loops[i].size;
      to.a += at * loops[i].a;
      to.b += at * loops[i].b;
      to.c += at * loops[i].c;
    }
  }
};

/// What a matmul does to its result before it is stored, within the same call. A vector (bias or its
/// gradient) has a value for each row of C as cuBLASLt sees it: for each element along C's adjacent axis.
enum class blas_epilogue : std::uint8_t {
  none,
  bias,
  gelu,        // by tanh
  gelu_bias,   // the bias is added first
  gelu_saved,  // its input is stored in the auxiliary matrix
  gelu_saved_bias,
  gelu_gradient,       // times the derivative at the auxiliary matrix
  gelu_gradient_bias,  // and the sum of that over C's columns is stored as the bias's gradient
  bias_gradient_a,     // A's sum over k is stored: one value for each of C's rows
  bias_gradient_b,     // B's: one for each of C's columns
};

constexpr bool has_auxiliary(blas_epilogue e) {
  return e >= blas_epilogue::gelu_saved && e <= blas_epilogue::gelu_gradient_bias;
}

/// What kernels of our own do instead of the call: of an epilogue, behind the call, which is then without
/// it; or the product itself (cuda/small_product.hpp), its epilogue with it, and what that sums behind it.
enum class apart : std::uint8_t { nothing, sums, all, product };
inline constexpr std::size_t ways_apart = 4;
constexpr blas_epilogue epilogue_in_call(blas_epilogue e, apart left) {
  if (left == apart::nothing || left == apart::product) return e;
  return left == apart::sums && e == blas_epilogue::gelu_gradient_bias ? blas_epilogue::gelu_gradient
                                                                       : blas_epilogue::none;
}
inline constexpr apart ways_to_finish[] = {apart::nothing, apart::all, apart::sums};
/// Each way of a call to come to an epilogue, first that of the call alone.
constexpr std::span<const apart> ways_of(blas_epilogue e) {
  return std::span<const apart>(ways_to_finish)
      .first(e == blas_epilogue::none                 ? 1
             : e == blas_epilogue::gelu_gradient_bias ? 3
                                                      : 2);
}

/// Whether cuBLASLt has this epilogue for this product. `aux_ld`: the auxiliary matrix's leading dimension.
///
/// Source  cublasLt.h: CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD and its batch stride are multiples of 8.
constexpr bool can_fuse(const blas_product& p, blas_epilogue e, std::int64_t aux_ld = 0,
                        std::int64_t aux_batch_stride = 0) {
  if (!p.possible) return false;
  if (e == blas_epilogue::none) return true;
  if (p.calls() != 1 || p.compute == blas_compute::f64) return false;
  switch (e) {
    case blas_epilogue::gelu_saved:
    case blas_epilogue::gelu_saved_bias:
    case blas_epilogue::gelu_gradient:
    case blas_epilogue::gelu_gradient_bias:
      return aux_ld % 8 == 0 && aux_ld >= static_cast<std::int64_t>(p.m) && aux_batch_stride % 8 == 0 &&
             !(e == blas_epilogue::gelu_gradient_bias && p.batch > 1);
    case blas_epilogue::bias_gradient_a:
    case blas_epilogue::bias_gradient_b:
      return p.batch == 1;
    default:
      return true;
  }
}

}  // namespace napkin::on_cuda
