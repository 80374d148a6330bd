// Several calls of a matrix product as one: cuBLASLt reads from arrays on the device where each matrix lies,
// as one batch stride cannot say where a batch of two axes does (bthd,bshd->bhts). A kernel of our own writes
// them just before the call, into the product's workspace.
#pragma once

#include "napkin/cuda/blas_product.hpp"
#include "napkin/cuda/calls.hpp"

namespace napkin::on_cuda {

/// Arrays of `product.entries()` addresses one after the other: of the result's matrices, of what is added to
/// them, then for each index of `outer_k` of A's and of B's.
struct batch_addresses {
  blas_product of;
  std::byte *a, *b, *result, *added;  // A and B as BLAS has them
  std::byte** to;
  std::ptrdiff_t operand_bytes, result_bytes;  // of an element: a device has no table of dtypes

  constexpr batch_addresses(const blas_product& p, std::byte* a_at, std::byte* b_at, std::byte* result_at,
                            std::byte* added_at, std::byte** arrays)
      : of(p),
        a(a_at),
        b(b_at),
        result(result_at),
        added(added_at),
        to(arrays),
        operand_bytes(static_cast<std::ptrdiff_t>(size_of(p.a.type))),
        result_bytes(static_cast<std::ptrdiff_t>(size_of(p.c.type))) {}

  constexpr std::uint64_t size() const { return of.address_bytes() / sizeof(std::byte*); }
  /// Where the array of each begins.
  constexpr std::byte** of_result() const { return to; }
  constexpr std::byte** of_added() const { return to + of.entries(); }
  constexpr std::byte** of_a(std::uint64_t sum) const { return to + (2 + 2 * sum) * of.entries(); }
  constexpr std::byte** of_b(std::uint64_t sum) const { return of_a(sum) + of.entries(); }

  /// The i-th of all.
  constexpr std::byte* address(std::uint64_t i) const {
    const std::uint64_t entry = i % of.entries(), array = i / of.entries();
    const auto t = static_cast<std::ptrdiff_t>(entry % of.batch);
    contraction_loop at{1, 0, 0, 0};
    blas_product::add_offset(of.outer, entry / of.batch, at);
    if (array < 2) return (array == 0 ? result : added) + (at.c + t * of.c.batch_stride) * result_bytes;
    blas_product::add_offset(of.outer_k, array / 2 - 1, at);
    if (array % 2 == 0) return a + (at.a + t * of.a.batch_stride) * operand_bytes;
    return b + (at.b + t * of.b.batch_stride) * operand_bytes;
  }
};

/// Put the arrays into the stream's order. Launch errors are the stream's to check.
void write_addresses(const batch_addresses& x, stream_handle on);

}  // namespace napkin::on_cuda
