// Products that a kernel may take in: of few numbers, which it reads row by row as they lie. A block of the kernel
// then begins with its rows of the product (small_product_body.hpp), and one launch does what two did, of which
// the second waited for the first. The plan is as it was, with room for the result, which is stored where others
// read it too: whether the product is taken in is chosen by the clock (cuda/executor.hpp).
#pragma once

#include <cstdint>

#include "napkin/cuda/launch.hpp"
#include "napkin/cuda/plan.hpp"
#include "napkin/cuda/small_product.hpp"

namespace napkin::on_cuda {

/// Rows of a kernel that a block has with its product: columns of C, as cuBLASLt sees it.
inline constexpr std::size_t taken_rows = small_tile_of(dtype::bf16, false).columns;
/// Threads of a block, of which as many as its rows take go on with them.
inline constexpr unsigned taking_threads = 256;
/// Bytes of shared memory of a block: its warps' sums, and the rows, as taken_columns has them.
constexpr std::size_t taking_memory(dtype type, std::size_t row_length) {
  return sizeof(detail::small_memory) + taken_rows * row_length * size_of(type);
}

struct taken_product {
  std::int32_t instruction = -1;  // the product's; -1: nothing is taken in
  taken_form form;
  bool is_stored = false;  // another instruction reads it

  constexpr bool found() const { return instruction >= 0; }
};

namespace detail {

/// Teams within a warp, which have whole rows; as many as have 16 are no more than a block.
constexpr bool deals_taken_rows(const kernel_record& r) {
  return r.layout.team <= warp && r.layout.kept && !r.layout.spread && r.chunks == 1 &&
         r.walks_per_block > 0 && taken_rows % r.walks_per_block == 0 && r.walks % taken_rows == 0 &&
         taken_rows / r.walks_per_block * r.layout.team <= taking_threads && r.row_length % 8 == 0;
}
/// The elements of row after row, one after another.
constexpr bool is_row_major(const plan_view& p, const kernel_record& r, const access_record& a) {
  const std::int32_t rank = r.outer_rank + r.inner_rank;
  std::ptrdiff_t next = 1;
  for (std::int32_t d = rank; d-- > 0;) {
    if (p.strides[a.first_stride + d] != next) return false;
    next *= static_cast<std::ptrdiff_t>(p.sizes[r.first_size + d]);
  }
  return true;
}
/// Its result is `rows` rows of `length` adjacent elements, of its operands' dtype, and it is one launch.
constexpr bool is_taken_as(const product& x, std::size_t rows, std::size_t length) {
  const blas_product& g = x.gemm;
  return has_mma(g.a.type) && g.c.type == g.a.type && !g.transpose_b && g.batch == 1 && g.m == length &&
         g.n == rows && static_cast<std::uint64_t>(g.c.ld) == g.m && x.follows.sums == passes::summed::none &&
         !x.follows.rounds_vector() && taking_memory(g.a.type, length) <= block_memory &&
         small_product_of(x, 16).fetches_at_once;
}
/// What the product stores: its result, and what its epilogue keeps beside it.
constexpr bool stores_at(const contraction_record& c, const location& at) {
  bool stores = c.c == at;
  for (const contraction_record::other& x : c.others)
    stores = stores || (x.written && x.bytes > 0 && x.at == at);
  return stores;
}
/// By another than instruction `by`, of what instruction `from` has written.
constexpr bool is_read_by_others(const plan_view& p, std::size_t from, std::size_t by, const location& at) {
  bool is_read = false;
  for (std::size_t i = from + 1; i < p.count.instructions && !is_read; ++i) {
    bool ends = false;
    planning::for_each_place_of(p, p.instructions[i], [&](const location& l, const planning::place_use& u) {
      if (!(l == at)) return;
      if (u.written)
        ends = true;
      else
        is_read = is_read || i != by;
    });
    if (ends) break;
  }
  return is_read;
}
/// The last before instruction i that writes there; -1: none does.
constexpr std::int32_t last_writer(const plan_view& p, std::size_t i, const location& at) {
  while (i-- > 0) {
    bool writes = false;
    planning::for_each_place_of(p, p.instructions[i], [&](const location& l, const planning::place_use& u) {
      writes = writes || (u.written && l == at);
    });
    if (writes) return static_cast<std::int32_t>(i);
  }
  return -1;
}

}  // namespace detail

/// Of a plan whose memory is settled: what the kernel that is instruction i may take in.
constexpr taken_product find_taken(const plan_view& p, std::size_t i) {
  if (p.instructions[i].kind != passes::unit_kind::kernel) return {};
  const kernel_record& r = p.kernels[p.instructions[i].index];
  if (!detail::deals_taken_rows(r)) return {};
  taken_product best;  // of several the last to be there
  for (std::int32_t a = 0; a < r.accesses; ++a) {
    const access_record& from = p.accesses[r.first_access + a];
    if (from.written || from.base.where != region::arena || from.offset != 0 ||
        !detail::is_row_major(p, r, from))
      continue;
    const std::int32_t writer = detail::last_writer(p, i, from.base);
    if (writer <= best.instruction || p.instructions[writer].kind != passes::unit_kind::contraction) continue;
    const contraction_record& c = p.contractions[p.instructions[writer].index];
    const product& x = p.products[c.product];
    if (!(c.c == from.base) || !detail::is_taken_as(x, r.walks, r.row_length)) continue;
    bool is_read_again = false;  // by this kernel, from where it may not have been stored yet
    for (std::int32_t other = 0; other < r.accesses; ++other) {
      const access_record& of = p.accesses[r.first_access + other];
      is_read_again = is_read_again || (other != a && !of.written && detail::stores_at(c, of.base));
    }
    if (is_read_again) continue;
    best = {writer,
            {a, x.gemm.a.type, !x.gemm.transpose_a},
            detail::is_read_by_others(p, static_cast<std::size_t>(writer), i, from.base)};
  }
  return best;
}
/// The first that a kernel like kernel K takes in: what is compiled for all of them.
constexpr taken_product find_taken_of_kernel(const plan_view& p, int kernel) {
  for (std::size_t i = 0; i < p.count.instructions; ++i)
    if (p.instructions[i].kind == passes::unit_kind::kernel &&
        p.kernels[p.instructions[i].index].like == kernel)
      if (const taken_product found = find_taken(p, i); found.found()) return found;
  return {};
}

}  // namespace napkin::on_cuda
