// A product of few numbers by a kernel of our own, which the clock may prefer to cuBLASLt's call
// (cuda/executor.hpp): all of an epilogue but sums in one launch, terms shared by a block's warps and by no
// others, no workspace. Plain numbers; cuda/small_product_body.hpp computes with them.
#pragma once

#include <cstdint>

#include "napkin/cuda/finish.hpp"
#include "napkin/cuda/tile_product.hpp"

namespace napkin::on_cuda {

/// What a block of it computes, of C as cuBLASLt sees it: m rows, which are adjacent, n columns. A step is
/// what a warp fetches of its terms at once.
struct small_tile {
  unsigned rows, columns, step, most_warps;
};
constexpr small_tile small_tile_of(dtype type, bool b_along_columns) {
  if (has_mma(type)) return {64, b_along_columns ? 32u : 16u, 32, 8};
  return {64, 16, 4, 8};
}

namespace detail {
/// What a block has in shared memory: each warp's sums of 16 columns at a time, in f32. Rows begin at
/// multiples of 16 bytes, and in banks of their own.
struct small_memory {
  static constexpr unsigned rows = 64, columns = 16, pitch = rows + 4, warps = 8;
  alignas(16) float sums[warps][columns][pitch];
};
}  // namespace detail

/// C = scale * op(A) op(B) + added, and what `then` says of it.
struct small_product {
  dtype type = dtype::f32, result_type = dtype::f32;
  bool a_along_rows = false;     // C's rows are adjacent in A; else terms are
  bool b_along_columns = false;  // C's columns are adjacent in B; else terms are
  bool fetches_at_once =
      false;                    // of A and of B what a thread takes is 16 bytes, or of columns 8, that lie so
  bool stores_at_once = false;  // four of C's rows
  std::uint32_t m = 0, n = 0, k = 0, batch = 0;
  std::int64_t lda = 0, ldb = 0, a_batch = 0, b_batch = 0;  // elements
  float scale = 1;
  const std::byte *a = nullptr, *b = nullptr, *added = nullptr;  // as BLAS has them; added: null for nothing
  finish_arguments then;

  constexpr small_tile tile() const { return small_tile_of(type, b_along_columns); }
  constexpr std::uint64_t row_tiles() const { return (m + tile().rows - 1) / tile().rows; }
  constexpr std::uint64_t column_tiles() const { return (n + tile().columns - 1) / tile().columns; }
  constexpr std::uint64_t blocks() const { return row_tiles() * column_tiles() * batch; }
  /// Of a block: as many as have 16 terms or more, before these are dealt evenly.
  constexpr unsigned warps() const {
    const unsigned each = tile().step < 16 ? 16 : tile().step, pieces = (k + each - 1) / each;
    const unsigned most = pieces < tile().most_warps ? pieces : tile().most_warps;
    if (most == 0) return 1;
    const unsigned of_warp = (pieces + most - 1) / most;
    return (pieces + of_warp - 1) / of_warp;
  }
  /// Terms of a warp.
  constexpr unsigned terms() const {
    const unsigned steps = (k + tile().step - 1) / tile().step;
    return (steps + warps() - 1) / warps() * tile().step;
  }
};

/// What a plan's product is such a one's, its operands' addresses left out; m = 0 where it is none: of
/// several calls, of other dtypes, or too large for the clock to be asked.
///
/// align  bytes that all addresses are multiples of
constexpr small_product small_product_of(const product& p, std::size_t align) {
  const blas_product& x = p.gemm;
  if (!x.possible || x.calls() != 1) return {};
  if (x.a.type != x.b.type || !(has_mma(x.a.type) || x.a.type == dtype::f32)) return {};
  if ((x.c.type != x.a.type && x.c.type != dtype::f32) || x.compute != blas_compute::f32) return {};
  constexpr std::uint64_t most = 1u << 28;  // multiplications
  std::uint64_t all = 1;
  for (const std::uint64_t size : {x.m, x.n, x.k, x.batch})
    if (size == 0 || size > most || (all *= size) > most) return {};

  small_product made;
  made.type = x.a.type, made.result_type = x.c.type;
  made.a_along_rows = !x.transpose_a, made.b_along_columns = x.transpose_b;
  made.m = static_cast<std::uint32_t>(x.m), made.n = static_cast<std::uint32_t>(x.n);
  made.k = static_cast<std::uint32_t>(x.k), made.batch = static_cast<std::uint32_t>(x.batch);
  made.lda = x.a.ld, made.ldb = x.b.ld;
  made.a_batch = x.a.batch_stride, made.b_batch = x.b.batch_stride;
  made.scale = static_cast<float>(p.follows.scale);
  made.then = finish_arguments(p, {});

  const auto is_by = [&](unsigned adjacent, std::uint64_t along, const blas_matrix& of) {
    const auto divides = [&](auto y) { return static_cast<std::uint64_t>(y) % adjacent == 0; };
    return divides(along) && divides(of.ld) && (x.batch == 1 || divides(of.batch_stride)) &&
           align % (adjacent * size_of(of.type)) == 0;
  };
  const auto at_once = static_cast<unsigned>(16 / size_of(made.type));
  made.fetches_at_once = is_by(at_once, made.a_along_rows ? x.m : x.k, x.a) &&
                         is_by(made.b_along_columns ? 4 : at_once, made.b_along_columns ? x.n : x.k, x.b);
  made.stores_at_once = is_by(4, x.m, x.c);
  return made;
}

/// Put it into the stream: all but what the epilogue sums. Launch errors are the stream's to check.
void multiply_small(const small_product& p, stream_handle on);

}  // namespace napkin::on_cuda
