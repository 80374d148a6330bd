// One pairwise contraction as matrix products: from the labels and strides of its operands to loops around
// a GEMM and blocks of work, fixed before anything runs. Names nothing and computes nothing; cpu/gemm.hpp
// runs what is planned here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "napkin/core/error.hpp"
#include "napkin/graph/builder.hpp"
#include "napkin/passes/contraction_groups.hpp"

namespace napkin::on_cpu {

using passes::contraction_operand;

/// C[batch, m, n] = sum over outer_k and k of A[batch, m, k] * B[batch, k, n], all by strides in elements.
/// Sums are kept in the dtype's accumulator. Every number here follows from sizes and strides alone.
struct contraction_plan {
  using loop = passes::contraction_loop;

  dtype type = dtype::f32;
  bool swapped = false;                    // the caller's second operand is A: its axes are C's rows
  inplace_vector<loop, max_rank> batch;    // outermost first: shared axes, and rows and columns not merged
  inplace_vector<loop, max_rank> outer_k;  // summed axes not merged into k
  std::size_t m = 1, n = 1, k = 1;
  std::ptrdiff_t a_m = 0, a_k = 0, b_k = 0, b_n = 0, c_m = 0, c_n = 0;  // 0 for an extent of 1

  // A task is `batch_block` products after one another, or one block of rows, columns and k of one product.
  std::size_t batch_block = 1, m_block = 1, n_block = 1, k_block = 1;
  std::size_t workspace = 0;  // bytes: the partial sums of blocks of k, if there is more than one

  constexpr passes::product_types types() const { return {type, type, type}; }
  constexpr std::size_t batch_size() const {
    std::size_t size = 1;
    for (const loop& l : batch) size *= l.size;
    return size;
  }
  constexpr std::size_t k_size() const {
    std::size_t size = k;
    for (const loop& l : outer_k) size *= l.size;
    return size;
  }
  constexpr std::size_t batch_blocks() const { return ceil_div(batch_size(), batch_block); }
  constexpr std::size_t m_blocks() const { return ceil_div(m, m_block); }
  constexpr std::size_t n_blocks() const { return ceil_div(n, n_block); }
  constexpr std::size_t k_blocks() const { return k == 0 ? 1 : ceil_div(k, k_block); }
  constexpr std::size_t tasks() const { return batch_blocks() * m_blocks() * n_blocks() * k_blocks(); }
  static constexpr bool workspace_is_memory = false;  // blocks' partial sums lie in the nearest caches
  static constexpr bool side_by_side = false;         // all threads work on one instruction
  /// Of a product, a kernel, a movement: each is one call of a function.
  static constexpr std::uint64_t launches() { return 1; }
  static constexpr std::uint64_t launches(const auto& /*record*/) { return 1; }
  /// Why no GEMM is called for it (cost/plan_line.hpp): never, as operands are packed whatever their strides.
  static constexpr std::string_view refused() { return {}; }
  static constexpr arithmetic f32_products() { return arithmetic::f32; }
  constexpr std::uint64_t flops() const { return 2 * std::uint64_t{batch_size()} * m * n * k_size(); }

  /// Each block of C is one run of consecutive elements, so that `contract` can call an epilogue on it.
  constexpr bool blocks_are_contiguous() const {
    for (const loop& l : batch)
      if (l.c < 0) return false;  // first and last are counted from index 0
    return (n == 1 || c_n == 1) && (m == 1 || (n_block >= n && c_m == static_cast<std::ptrdiff_t>(n)));
  }

  static constexpr std::size_t ceil_div(std::size_t x, std::size_t y) { return (x + y - 1) / y; }
  static constexpr std::size_t round_up(std::size_t x, std::size_t to) { return ceil_div(x, to) * to; }
};

namespace detail {

using passes::contraction_loop;
using passes::contraction_loops;
using passes::is_matrix;
using passes::is_row_major;

/// Which axis of each group is the GEMM's, `size()` of the group for none.
struct gemm_choice {
  std::size_t m, n, k;
  std::uint64_t cost;
};

// In FLOPs of a core at full speed: what a product costs beyond its arithmetic (0.1 us), and how much slower
// it is where elements have to be gathered one by one.
inline constexpr std::uint64_t product_cost = 20'000, gathered_slowness = 2;

constexpr gemm_choice choose_gemm(const contraction_loops& rows, const contraction_loops& columns,
                                  const contraction_loops& summed, std::uint64_t points) {
  const contraction_loop none{};
  gemm_choice best{rows.size(), columns.size(), summed.size(), ~std::uint64_t{0}};
  for (std::size_t i = 0; i <= rows.size(); ++i)
    for (std::size_t j = 0; j <= columns.size(); ++j)
      for (std::size_t l = 0; l <= summed.size(); ++l) {
        const contraction_loop& m = i < rows.size() ? rows[i] : none;
        const contraction_loop& n = j < columns.size() ? columns[j] : none;
        const contraction_loop& k = l < summed.size() ? summed[l] : none;
        const bool matrices = is_matrix(m.size, k.size, m.a, k.a) && is_matrix(k.size, n.size, k.b, n.b) &&
                              is_matrix(m.size, n.size, m.c, n.c);
        const std::uint64_t products = points / (std::uint64_t{m.size} * n.size * k.size);
        // narrow products fill their registers with nothing
        const std::uint64_t done = 2 * products * k.size * contraction_plan::round_up(m.size, 4) *
                                   contraction_plan::round_up(n.size, 4);
        const std::uint64_t cost = (matrices ? 1 : gathered_slowness) * done + products * product_cost;
        if (cost < best.cost) best = {i, j, l, cost};
      }
  return best;
}

/// Into how many pieces to cut C's rows and columns for about `wanted` tasks. Each block copies or fetches
/// its part of A and B anew, which costs a share of its arithmetic that falls with its rows and columns: the
/// shares below are in thousandths, measured on AVX-512.
struct pieces {
  std::size_t rows = 1, columns = 1;
};
constexpr pieces choose_pieces(const contraction_plan& p, std::size_t wanted) {
  const std::size_t per_row = is_row_major(p.k, p.n, p.b_k, p.b_n) ? 5'000 : 13'000;
  const std::size_t per_column = is_row_major(p.m, p.k, p.a_m, p.a_k) ? 5'000 : 13'000;
  pieces best;
  std::size_t least = ~std::size_t{0};
  for (std::size_t i = 1; i <= wanted && (i == 1 || p.m / i >= 32); i *= 2)
    for (std::size_t j = 1; i * j <= wanted && (j == 1 || p.n / j >= 96); j *= 2) {
      std::size_t lost = per_row * i / p.m + per_column * j / p.n;
      for (std::size_t n = i * j; n < wanted; n *= 2) lost += 150;  // idle threads
      if (lost < least) {
        least = lost;
        best = {i, j};
      }
    }
  return best;
}

/// Blocks large enough for a GEMM to reach its speed, and enough of them for 16 threads where the work is
/// large.
constexpr void choose_blocks(contraction_plan& p) {
  const std::size_t batch = p.batch_size();
  p.batch_block = batch == 0 ? 1 : batch;
  p.m_block = p.m;
  p.n_block = p.n;
  p.k_block = p.k;
  const std::uint64_t elements = std::uint64_t{batch} * (p.m * p.k_size() + p.k_size() * p.n + p.m * p.n);
  const std::uint64_t work = p.flops() + 8 * elements;
  const auto pieces_of = [&](std::uint64_t work_each, std::uint64_t most) {
    const std::uint64_t n = work / work_each;
    return static_cast<std::size_t>(n < 1 ? 1 : n < most ? n : most);
  };
  // whole products: nothing is lost by more tasks than threads
  const std::size_t few = pieces_of(1 << 18, 16), many = pieces_of(1 << 24, 64);
  const std::size_t groups = few > many ? few : many;
  p.batch_block = contraction_plan::ceil_div(batch, groups);
  std::size_t wanted = 1;
  while (wanted * batch < pieces_of(1 << 20, 16)) wanted *= 2;
  if (batch == 0 || wanted == 1) return;

  p.batch_block = 1;
  const pieces cut = choose_pieces(p, wanted);
  const auto block = [](std::size_t extent, std::size_t n, std::size_t multiple) {
    return n == 1 ? extent : contraction_plan::round_up(contraction_plan::ceil_div(extent, n), multiple);
  };
  p.m_block = block(p.m, cut.rows, 4);
  p.n_block = block(p.n, cut.columns, 16);
  std::size_t sums = 1;
  while (sums * cut.rows * cut.columns < wanted && p.k / (2 * sums) >= 512) sums *= 2;
  p.k_block = block(p.k, sums, 16);
  if (p.k_blocks() > 1) p.workspace = p.k_blocks() * batch * p.m * p.n * size_of(accumulator_of(p.type));
}

}  // namespace detail

/// Plan c = a * b summed over the labels that c lacks. Any strides will do, 0 and negative ones included,
/// but c's elements must be distinct.
///
/// Errors  as `group_labels`; where the dtype has no sums.
/// Source  loop over GEMM, no copies: Springer & Bientinesi, "Design of a high-performance GEMM-like
///         tensor-tensor multiplication", 2016.
constexpr contraction_plan plan_contraction(dtype type, const contraction_operand& a,
                                            const contraction_operand& b, const contraction_operand& c) {
  if (is_complex(type) || type == dtype::b8)
    throw error("plan_contraction: no sums of products in this dtype");
  using detail::contraction_loop;
  const passes::contraction_groups groups = passes::group_labels(a, b, c);
  contraction_plan p;
  p.type = type;
  if (groups.empty) {
    p.batch.push_back({0, 0, 0, 0});
    return p;
  }
  detail::contraction_loops batch = groups.batch;
  const detail::gemm_choice choice =
      detail::choose_gemm(groups.rows, groups.columns, groups.summed, groups.points());
  contraction_loop m, n, k;
  const auto take = [](const detail::contraction_loops& from, std::size_t chosen, contraction_loop& to,
                       auto& rest) {
    for (std::size_t i = 0; i < from.size(); ++i)
      if (i == chosen)
        to = from[i];
      else
        rest.push_back(from[i]);
  };
  take(groups.rows, choice.m, m, batch);
  take(groups.columns, choice.n, n, batch);
  take(groups.summed, choice.k, k, p.outer_k);

  // C's columns are its adjacent elements: where those are the axis of a, compute the transpose. A vector
  // is a row if it can be.
  const bool as_is = detail::is_row_major(m.size, n.size, m.c, n.c);
  const bool transposed = detail::is_row_major(n.size, m.size, n.c, m.c);
  p.swapped = as_is == transposed ? m.c == 1 && (n.c != 1 || n.size < m.size) : transposed;
  if (p.swapped) {
    const contraction_loop rows_of_c = n;
    n = m;
    m = rows_of_c;
    for (auto* loops : {&batch, &p.outer_k})
      for (contraction_loop& l : *loops) l = {l.size, l.b, l.a, l.c};
    for (contraction_loop* l : {&m, &n, &k}) *l = {l->size, l->b, l->a, l->c};
  }
  p.m = m.size, p.a_m = m.a, p.c_m = m.c;
  p.n = n.size, p.b_n = n.b, p.c_n = n.c;
  p.k = groups.nothing_to_sum ? 0 : k.size, p.a_k = k.a, p.b_k = k.b;

  // outermost first: by how far apart C's elements are
  const auto distance = [](const contraction_loop& l) { return l.c < 0 ? -l.c : l.c; };
  for (const contraction_loop& l : batch) {
    std::size_t at = 0;
    while (at < p.batch.size() && distance(p.batch[at]) >= distance(l)) ++at;
    p.batch.insert(at, l);
  }
  detail::choose_blocks(p);
  return p;
}

}  // namespace napkin::on_cpu
