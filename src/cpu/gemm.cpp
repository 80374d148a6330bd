// The tasks of a planned contraction, and the blocks of each: some rows of B stay in the second-level cache,
// copied where that pays, under tiles of C held in registers (Goto & van de Geijn, "Anatomy of
// high-performance matrix multiplication", 2008). Not by a library, since those that are fast allocate in
// every call; NAPKIN_ONEDNN has f32 done by one all the same (gemm_onednn.hpp).
#include "napkin/cpu/gemm.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "convert.hpp"
#include "gemm_amx.hpp"
#include "gemm_onednn.hpp"
#include "gemm_pack.hpp"
#include "gemm_pairs.hpp"
#include "gemm_strip.hpp"
#include "gemm_tile.hpp"
#include "napkin/core/dtype.hpp"
#include "napkin/core/error.hpp"
#include "napkin/cpu/threads.hpp"

namespace napkin::on_cpu {
namespace {

using plan_type = contraction_plan;

struct offsets {
  std::ptrdiff_t a = 0, b = 0, c = 0;
};

/// Walks the product of some loops in row-major order.
class walk {
 public:
  walk(const inplace_vector<plan_type::loop, max_rank>& loops, std::size_t begin) : loops_(loops) {
    for (std::size_t i = loops.size(); i-- > 0;) {
      const plan_type::loop& l = loops[i];
      index_[i] = begin % l.size;
      begin /= l.size;
      const auto at = static_cast<std::ptrdiff_t>(index_[i]);
      now_.a += at * l.a, now_.b += at * l.b, now_.c += at * l.c;
    }
  }
  const offsets& now() const { return now_; }
  void next() {
    for (std::size_t i = loops_.size(); i-- > 0;) {
      const plan_type::loop& l = loops_[i];
      if (++index_[i] < l.size) {
        now_.a += l.a, now_.b += l.b, now_.c += l.c;
        return;
      }
      const auto back = static_cast<std::ptrdiff_t>(l.size - 1);
      now_.a -= back * l.a, now_.b -= back * l.b, now_.c -= back * l.c;
      index_[i] = 0;
    }
  }

 private:
  const inplace_vector<plan_type::loop, max_rank>& loops_;
  std::size_t index_[max_rank]{};
  offsets now_;
};

struct range {
  std::size_t begin, end;
  std::size_t size() const { return end - begin; }
  static range of_block(std::size_t block, std::size_t block_size, std::size_t extent) {
    return {block * block_size, std::min(extent, (block + 1) * block_size)};
  }
};

struct block {
  range batch, m, n, k;
  std::size_t k_index;
  block(const plan_type& p, std::size_t task) {
    // k varies fastest: the partial sums of one block of C are made together
    k_index = task % p.k_blocks();
    k = range::of_block(k_index, p.k_block, p.k);
    task /= p.k_blocks();
    n = range::of_block(task % p.n_blocks(), p.n_block, p.n);
    task /= p.n_blocks();
    m = range::of_block(task % p.m_blocks(), p.m_block, p.m);
    batch = range::of_block(task / p.m_blocks(), p.batch_block, p.batch_size());
  }
};

template <class T>
const T* at(const T* p, const range& i, std::ptrdiff_t i_stride, const range& j, std::ptrdiff_t j_stride) {
  return p + static_cast<std::ptrdiff_t>(i.begin) * i_stride +
         static_cast<std::ptrdiff_t>(j.begin) * j_stride;
}

/// A block of one product: c(m, n) = sum over outer_k and k. `To` is the element type, or the accumulator's
/// for a block of partial sums.
template <class From, class To>
struct product {
  const plan_type& p;
  const From *a, *b;  // of this batch element
  To* c;              // of this block
  std::ptrdiff_t c_m, c_n;
  range m, n, k;
  bool by_onednn;  // else by tiles
};

/// The accumulator, integers without sign: overflow wraps.
template <class T>
using sum_type = std::conditional_t<is_integer(dtype_of<T>), std::uint64_t, accumulator_type<T>>;

// What an element of C is: products are summed with k ascending (in pairs the second first, gemm_pairs.hpp),
// `depth` of them at a time, and these sums are added up in their order; by the matrix unit, in chunks of 32
// (gemm_amx.hpp). No other number here changes a bit of a result.
template <class Sum>
inline constexpr std::size_t depth = 1536 / sizeof(Sum);

// Columns at a time, whose B stays in a core's second-level cache; where sums are kept apart from C, columns
// and rows.
constexpr std::size_t block_columns = 256, tile_columns = 128, tile_rows = 96;

/// Rows of C from which copying B pays whose rows are `stride` bytes apart: those in pages of their own are
/// slow to reach. Measured on AVX-512.
constexpr std::size_t worth_packing_b(std::ptrdiff_t stride) { return stride < 4096 ? 300 : 40; }

/// Packed parts of A and B, 0.4 MB on a thread's stack.
template <class Sum>
struct packed_blocks {
  static constexpr std::size_t rows = 16;  // of a tile, and what its strip has over
  static constexpr std::size_t tile_at = tile_columns * depth<Sum>;
  static_assert(detail::tile_kernels<Sum>::most_rows <= rows);
  static_assert(tile_rows * tile_columns <= (block_columns - tile_columns) * depth<Sum>);
  alignas(64) Sum a[rows * depth<Sum>];
  alignas(64) Sum b[block_columns * depth<Sum>];

  Sum* tile() { return b + tile_at; }  // beside `tile_columns` of B
};

/// c(m, n) (+)= a(m, k) * b(k, n) for at most `depth` of k and `block_columns` columns.
template <class From, class Sum>
void multiply_block(const plan_type& p, const From* a, const From* b, Sum* c, std::ptrdiff_t c_row,
                    std::size_t m, std::size_t n, std::size_t k, bool add, packed_blocks<Sum>& packed) {
  const detail::tile_kernels<Sum>& kernels = detail::best_tile_kernels<Sum>();
  const std::size_t b_width = kernels.columns(), a_width = plan_type::round_up(kernels.rows, 4);
  constexpr bool as_stored = std::is_same_v<From, Sum>;
  const std::ptrdiff_t a_k = p.k == 1 ? 1 : p.a_k;
  const bool pack_b = !as_stored || (n > 1 && p.b_n != 1) ||
                      m > worth_packing_b(p.b_k * static_cast<std::ptrdiff_t>(sizeof(From)));
  const bool widen_a = SmallFloat<From> && a_k == 1;
  const bool pack_a = !widen_a && (!as_stored || (m > 1 && a_k != 1 && p.a_m != 1));

  detail::tile_call<Sum> call{};
  call.c_row = c_row;
  call.k = k;
  call.add = add;
  call.a_row = widen_a ? static_cast<std::ptrdiff_t>(k) : !pack_a && a_k == 1 ? p.a_m : 1;
  call.a_k = pack_a ? static_cast<std::ptrdiff_t>(a_width) : a_k;
  call.b_row = pack_b ? static_cast<std::ptrdiff_t>(b_width) : p.b_k;
  if (pack_b)
    for (std::size_t j = 0; j < n; j += b_width)
      detail::pack_strip(b + static_cast<std::ptrdiff_t>(j) * p.b_n, std::min(b_width, n - j), p.b_n, k,
                         p.b_k, b_width, packed.b + j * k);
  // tiles of heights as equal as can be: low ones leave the processor waiting for its own sums
  const std::size_t tiles = plan_type::ceil_div(m, kernels.rows);
  for (std::size_t t = 0, i = 0; t < tiles; ++t) {
    const std::size_t rows = m / tiles + (t < m % tiles);
    const From* const from = a + static_cast<std::ptrdiff_t>(i) * p.a_m;
    call.a = packed.a;
    if (pack_a)
      detail::pack_strip(from, rows, p.a_m, k, p.a_k, a_width, packed.a);
    else if constexpr (SmallFloat<From>)
      detail::convert_lines(from, rows, p.a_m, k, packed.a);
    else if constexpr (as_stored)
      call.a = from;
    for (std::size_t j = 0; j < n; j += b_width) {
      call.columns = std::min(b_width, n - j);
      if (pack_b)
        call.b = packed.b + j * k;
      else if constexpr (as_stored)
        call.b = b + j;
      call.c = c + static_cast<std::ptrdiff_t>(i) * c_row + static_cast<std::ptrdiff_t>(j);
      kernels.run(rows, call);
    }
    i += rows;
  }
}

/// What packed_blocks is to f32: pairs of bf16 along k, and sums kept apart from C.
struct packed_pairs {
  using kernels = detail::pair_kernels;
  alignas(64) bf16 a[kernels::packed_rows * depth<float>];
  alignas(64) bf16 b[block_columns * depth<float>];
  alignas(64) float sums[tile_rows * tile_columns];

  float* tile() { return sums; }
};

/// As the one above, by the instruction for pairs.
inline void multiply_block(const plan_type& p, const bf16* a, const bf16* b, float* c, std::ptrdiff_t c_row,
                           std::size_t m, std::size_t n, std::size_t k, bool add, packed_pairs& packed) {
  constexpr std::size_t b_width = detail::pair_kernels::most_columns,
                        a_width = detail::pair_kernels::packed_rows;
  const detail::pair_kernels& kernels = *detail::find_pair_kernels();
  const auto pack_lines = [&kernels, k](const bf16* from, std::size_t extent, std::ptrdiff_t stride,
                                        std::ptrdiff_t k_stride, std::size_t width, bf16* to) {
    if (k_stride == 1)
      kernels.pack_rows(from, extent, stride, k, width, to);
    else if (stride == 1 || extent == 1)
      kernels.pack_lines(from, extent, k, k_stride, width, to);
    else
      detail::pack_pairs(from, extent, stride, k, k_stride, width, to);
  };
  const std::size_t k_even = plan_type::round_up(k, 2);
  const bool by_row = p.k == 1 || p.a_k == 1;

  detail::pair_call call{};
  call.c_row = c_row;
  call.pairs = k_even / 2;
  call.add = add;
  call.a_row = by_row ? p.a_m : 2;
  call.a_pair = by_row ? 2 : static_cast<std::ptrdiff_t>(2 * a_width);
  call.ends_alone = by_row && k % 2 != 0;
  for (std::size_t j = 0; j < n; j += b_width)
    pack_lines(b + static_cast<std::ptrdiff_t>(j) * p.b_n, std::min(b_width, n - j), p.b_n, p.b_k, b_width,
               packed.b + j * k_even);
  const std::size_t tiles = plan_type::ceil_div(m, kernels.most_rows);
  for (std::size_t t = 0, i = 0; t < tiles; ++t) {
    const std::size_t rows = m / tiles + (t < m % tiles);
    call.a = a + static_cast<std::ptrdiff_t>(i) * p.a_m;
    if (!by_row) {
      pack_lines(call.a, rows, p.a_m, p.a_k, a_width, packed.a);
      call.a = packed.a;
    }
    for (std::size_t j = 0; j < n; j += b_width) {
      call.columns = std::min(b_width, n - j);
      call.b = packed.b + j * k_even;
      call.c = c + static_cast<std::ptrdiff_t>(i) * c_row + static_cast<std::ptrdiff_t>(j);
      kernels.run(rows, call);
    }
    i += rows;
  }
}

template <class Packed, class From, class To>
void multiply_by_tiles(const product<From, To>& x) {
  using sum = sum_type<From>;
  const plan_type& p = x.p;
  Packed packed;
  const std::size_t sums = p.k == 0 ? 0 : p.k_size() / p.k;
  const auto sum_up = [&](const range& m, const range& n, sum* c, std::ptrdiff_t c_row) {
    bool add = false;
    walk outer(p.outer_k, 0);
    for (std::size_t s = 0; s < sums; ++s, outer.next())
      for (std::size_t k0 = x.k.begin; k0 < x.k.end; k0 += depth<sum>, add = true) {
        const range k{k0, std::min(x.k.end, k0 + depth<sum>)};
        multiply_block(p, at(x.a, m, p.a_m, k, p.a_k) + outer.now().a,
                       at(x.b, k, p.b_k, n, p.b_n) + outer.now().b, c, c_row, m.size(), n.size(), k.size(),
                       add, packed);
      }
  };
  const auto target = [&](std::size_t i, std::size_t j) {
    return x.c + static_cast<std::ptrdiff_t>(i - x.m.begin) * x.c_m +
           static_cast<std::ptrdiff_t>(j - x.n.begin) * x.c_n;
  };

  if constexpr (std::is_same_v<To, sum>)
    if (sums > 0 && (x.c_n == 1 || x.n.size() == 1)) {
      for (std::size_t j = x.n.begin; j < x.n.end; j += block_columns)
        sum_up(x.m, {j, std::min(x.n.end, j + block_columns)}, target(x.m.begin, j), x.c_m);
      return;
    }
  for (std::size_t j0 = x.n.begin; j0 < x.n.end; j0 += tile_columns) {
    const range n{j0, std::min(x.n.end, j0 + tile_columns)};
    for (std::size_t i0 = x.m.begin; i0 < x.m.end; i0 += tile_rows) {
      const range m{i0, std::min(x.m.end, i0 + tile_rows)};
      sum* const tile = packed.tile();
      if (sums == 0) std::fill(tile, tile + tile_rows * tile_columns, sum{});
      sum_up(m, n, tile, tile_columns);
      for (std::size_t i = m.begin; i < m.end; ++i)
        detail::convert_run(tile + (i - m.begin) * tile_columns, 1, n.size(), target(i, n.begin), x.c_n);
    }
  }
}

/// What the matrix unit reads and writes, 0.6 MB on a thread's stack.
struct packed_for_amx {
  static constexpr std::size_t side = 32;       // rows and columns of a call
  static constexpr std::size_t a_depth = 1024;  // elements along k of packed rows of A
  static constexpr std::size_t most_depth = 3072, most_depth_of_packed = 768;  // and of B, by what A is
  static constexpr std::size_t b_elements = 64 * most_depth, sum_elements = 96 * block_columns;
  alignas(64) bf16 a[side * a_depth];
  alignas(64) bf16 b[b_elements];
  alignas(64) float sums[sum_elements];  // kept apart from C
  alignas(64) float edge[side * side];
};

/// Whether the matrix unit computes it: a whole product or nothing of it, as every block is to give the same
/// bits. Of few rows or columns most of a tile would be nothing, of few steps of k most of the time copying.
inline bool amx_takes(const plan_type& p) {
  return p.m >= 8 && p.n >= 8 && p.k >= 16 && detail::find_amx_kernels() != nullptr;
}

/// Up to 32 rows of A, packed where tiles cannot be loaded from them as they lie.
inline detail::amx_call call_of_rows(const plan_type& p, const bf16* a, std::size_t rows, std::size_t k,
                                     bool pack, packed_for_amx& packed) {
  using kernels = detail::amx_kernels;
  constexpr auto lines = static_cast<std::ptrdiff_t>(kernels::lines);
  const auto pack_from = [&](const bf16* from, std::size_t length) {
    detail::find_amx_kernels()->pack_rows(from, rows, p.a_m, length, p.a_k, packed.a);
  };
  detail::amx_call call{};
  if (pack) {
    pack_from(a, k);
    call.chunks = plan_type::ceil_div(k, kernels::chunk);
    call.a = packed.a, call.a_row = kernels::chunk, call.a_chunk = kernels::tile;
    call.a_tile = static_cast<std::ptrdiff_t>(call.chunks * kernels::tile);
  } else {
    call.chunks = k / kernels::chunk;
    call.a = a, call.a_row = p.a_m, call.a_chunk = kernels::chunk, call.a_tile = lines * p.a_m;
    const std::size_t whole = call.chunks * kernels::chunk;
    if (whole != k) pack_from(a + whole, k - whole), call.a_last = packed.a;
  }
  return call;
}

/// c(m, n) (+)= a(m, k) * b(k, n), B packed. Rows and columns of c up to the next multiple of 16 are written
/// too where `roomy`.
inline void multiply_block(const plan_type& p, const bf16* a, float* c, std::ptrdiff_t c_row, bool roomy,
                           std::size_t m, std::size_t n, std::size_t k, bool add, packed_for_amx& packed) {
  constexpr std::size_t side = packed_for_amx::side, lines = detail::amx_kernels::lines;
  const detail::amx_kernels& kernels = *detail::find_amx_kernels();
  const std::size_t b_tile = plan_type::round_up(k, detail::amx_kernels::chunk) * lines;
  for (std::size_t i = 0; i < m; i += side) {
    const std::size_t rows = std::min(side, m - i);
    const bool pack = p.a_k != 1 || rows < side;
    const std::size_t k_each = pack ? packed_for_amx::a_depth : k;
    for (std::size_t k0 = 0; k0 < k; k0 += k_each) {
      const bf16* const from =
          a + static_cast<std::ptrdiff_t>(i) * p.a_m + static_cast<std::ptrdiff_t>(k0) * p.a_k;
      detail::amx_call call = call_of_rows(p, from, rows, std::min(k_each, k - k0), pack, packed);
      call.b_tile = static_cast<std::ptrdiff_t>(b_tile);
      call.add = add || k0 > 0;
      for (std::size_t j = 0; j < n; j += side) {
        const std::size_t columns = std::min(side, n - j);
        float* const to = c + static_cast<std::ptrdiff_t>(i) * c_row + static_cast<std::ptrdiff_t>(j);
        const bool whole = roomy || (rows % lines == 0 && columns % lines == 0);
        call.b = packed.b + j / lines * b_tile + k0 * lines;
        call.c = whole ? to : packed.edge;
        call.c_row = whole ? c_row : static_cast<std::ptrdiff_t>(side);
        const auto copy_edge = [&](const float* source, std::ptrdiff_t source_row, float* target,
                                   std::ptrdiff_t target_row) {
          for (std::size_t r = 0; r < rows; ++r, source += source_row, target += target_row)
            std::copy(source, source + columns, target);
        };
        if (!whole && call.add) copy_edge(to, c_row, packed.edge, side);
        kernels.multiply[rows > lines][columns > lines](call);
        if (!whole) copy_edge(packed.edge, side, to, c_row);
      }
    }
  }
}

template <class To>
void multiply_by_amx(const product<bf16, To>& x) {
  const plan_type& p = x.p;
  const detail::amx_kernels& kernels = *detail::find_amx_kernels();
  const detail::amx_in_use unit(kernels);
  packed_for_amx packed;
  constexpr std::size_t side = packed.side;
  const std::size_t k_each = std::min(p.a_k == 1 ? packed.most_depth : packed.most_depth_of_packed,
                                      plan_type::round_up(x.k.size(), detail::amx_kernels::chunk));
  const std::size_t outer_sums = p.k_size() / p.k;
  const std::size_t width = std::min(block_columns, packed.b_elements / k_each / side * side);
  const bool in_place = std::is_same_v<To, float> && x.c_n == 1;
  const bool b_once = x.k.size() <= k_each && outer_sums == 1;
  const std::size_t height = in_place ? x.m.size()
                             : b_once ? side
                                      : packed.sum_elements / width / side * side;

  for (std::size_t j0 = x.n.begin; j0 < x.n.end; j0 += width) {
    const range n{j0, std::min(x.n.end, j0 + width)};
    for (std::size_t i0 = x.m.begin; i0 < x.m.end; i0 += height) {
      const range m{i0, std::min(x.m.end, i0 + height)};
      To* const target = x.c + static_cast<std::ptrdiff_t>(i0 - x.m.begin) * x.c_m +
                         static_cast<std::ptrdiff_t>(j0 - x.n.begin) * x.c_n;
      float* sums = packed.sums;
      if constexpr (std::is_same_v<To, float>)
        if (in_place) sums = target;
      const std::ptrdiff_t sums_row = in_place ? x.c_m : static_cast<std::ptrdiff_t>(width);
      bool add = false;
      walk outer(p.outer_k, 0);
      for (std::size_t s = 0; s < outer_sums; ++s, outer.next())
        for (std::size_t k0 = x.k.begin; k0 < x.k.end; k0 += k_each, add = true) {
          const range k{k0, std::min(x.k.end, k0 + k_each)};
          if (!b_once || i0 == x.m.begin)
            kernels.pack_columns(at(x.b, k, p.b_k, n, p.b_n) + outer.now().b, n.size(), p.b_n, k.size(),
                                 p.b_k, packed.b);
          multiply_block(p, at(x.a, m, p.a_m, k, p.a_k) + outer.now().a, sums, sums_row, !in_place, m.size(),
                         n.size(), k.size(), add, packed);
        }
      if (in_place) continue;
      for (std::size_t i = 0; i < m.size(); ++i) {
        To* const row = target + static_cast<std::ptrdiff_t>(i) * x.c_m;
        if constexpr (std::is_same_v<To, bf16>)
          if (x.c_n == 1) {
            kernels.round(packed.sums + i * width, n.size(), row);
            continue;
          }
        detail::convert_run(packed.sums + i * width, 1, n.size(), row, x.c_n);
      }
    }
  }
}

template <class From, class To>
void multiply(const product<From, To>& x) {
  if constexpr (detail::has_onednn && std::is_same_v<From, float>) {
    if (x.by_onednn) {
      const plan_type& p = x.p;
      const std::size_t sums = p.k_size() / p.k;
      walk outer(p.outer_k, 0);
      for (std::size_t s = 0; s < sums; ++s, outer.next())
        detail::multiply_by_onednn({at(x.a, x.m, p.a_m, x.k, p.a_k) + outer.now().a,
                                    at(x.b, x.k, p.b_k, x.n, p.b_n) + outer.now().b, x.c, x.m.size(),
                                    x.n.size(), x.k.size(), p.a_m, p.a_k, p.b_k, p.b_n, x.c_m, s > 0});
      return;
    }
  }
  if constexpr (std::is_same_v<From, bf16>) {
    if (amx_takes(x.p)) return multiply_by_amx(x);
    if (detail::find_pair_kernels() != nullptr) return multiply_by_tiles<packed_pairs>(x);
  }
  multiply_by_tiles<packed_blocks<sum_type<From>>>(x);
}

/// The plan in fewer and larger blocks where few threads run it: less is copied, and no bit is another.
plan_type for_threads(plan_type p, std::size_t n, bool has_epilogue) {
  constexpr std::size_t stays_in_cache = std::size_t{1} << 19;    // bytes of C that wait for their epilogue
  const std::size_t wanted = std::has_single_bit(n) ? n : 4 * n;  // 4 blocks would keep 3 threads waiting
  while (p.tasks() > wanted && p.m_blocks() * p.n_blocks() > 1) {
    if (has_epilogue && (p.m_blocks() == 1 || 2 * p.m_block * p.n * size_of(p.type) > stays_in_cache)) break;
    std::size_t& block = p.m_blocks() > 1 ? p.m_block : p.n_block;
    block *= 2;
  }
  return p;
}

/// Epilogue calls for blocks that follow one another are joined.
class pending {
 public:
  explicit pending(contraction_epilogue call) : call_(call) {}
  void add(std::size_t first, std::size_t count) {
    if (!call_) return;
    if (first != last_) flush();
    if (first_ == last_) first_ = first;
    last_ = first + count;
  }
  void flush() {
    if (first_ != last_) call_(first_, last_);
    first_ = last_ = 0;
  }

 private:
  contraction_epilogue call_;
  std::size_t first_ = 0, last_ = 0;
};

/// partial[i], i < count, `stride` apart, summed pairwise in the order of a tree that depends on count alone.
template <class Sum>
void sum_tree(Sum* partial, std::size_t count, std::size_t stride, std::size_t length) {
  for (std::size_t step = 1; step < count; step *= 2)
    for (std::size_t i = 0; i + step < count; i += 2 * step) {
      Sum* to = partial + i * stride;
      const Sum* from = partial + (i + step) * stride;
      for (std::size_t e = 0; e < length; ++e) to[e] += from[e];
    }
}

template <class T>
void run(const plan_type& plan, const T* a, const T* b, T* c, void* workspace,
         contraction_epilogue epilogue) {
  const bool by_onednn = detail::has_onednn && detail::onednn_takes(plan);  // its bits follow from the blocks
  const plan_type p = by_onednn ? plan : for_threads(plan, threads(), static_cast<bool>(epilogue));
  using sum = sum_type<T>;
  const std::size_t area = p.m * p.n;
  const std::size_t partial_size = p.batch_size() * area;  // elements
  sum* partials = p.k_blocks() > 1 ? static_cast<sum*>(workspace) : nullptr;

  parallel_for(p.tasks(), [&](std::size_t task) {
    const block here(p, task);
    pending done(epilogue);
    walk batch(p.batch, here.batch.begin);
    for (std::size_t e = here.batch.begin; e < here.batch.end; ++e, batch.next()) {
      const offsets& o = batch.now();
      if (partials != nullptr) {
        sum* to = partials + here.k_index * partial_size + e * area + here.m.begin * p.n + here.n.begin;
        multiply(product<T, sum>{p, a + o.a, b + o.b, to, static_cast<std::ptrdiff_t>(p.n), 1, here.m, here.n,
                                 here.k, by_onednn});
        continue;
      }
      const std::ptrdiff_t first = o.c + static_cast<std::ptrdiff_t>(here.m.begin) * p.c_m +
                                   static_cast<std::ptrdiff_t>(here.n.begin) * p.c_n;
      multiply(
          product<T, T>{p, a + o.a, b + o.b, c + first, p.c_m, p.c_n, here.m, here.n, here.k, by_onednn});
      done.add(static_cast<std::size_t>(first), here.m.size() * here.n.size());
    }
    done.flush();
  });
  if (partials == nullptr) return;

  // Rows of the partial sums, some 4,096 elements at a time.
  const std::size_t lines = p.batch_size() * p.m;
  std::size_t lines_each = std::max<std::size_t>(1, 4096 / p.n);
  if (epilogue) lines_each = plan_type::round_up(lines_each, plan.m_block);  // it is called with whole blocks
  parallel_for(plan_type::ceil_div(lines, lines_each), [&](std::size_t task) {
    const range mine = range::of_block(task, lines_each, lines);
    sum_tree(partials + mine.begin * p.n, p.k_blocks(), partial_size, mine.size() * p.n);
    pending done(epilogue);
    for (std::size_t line = mine.begin; line < mine.end; ++line) {
      const std::ptrdiff_t first =
          walk(p.batch, line / p.m).now().c + static_cast<std::ptrdiff_t>(line % p.m) * p.c_m;
      detail::convert_run(partials + line * p.n, 1, p.n, c + first, p.c_n);
      done.add(static_cast<std::size_t>(first), p.n);
    }
    done.flush();
  });
}

}  // namespace

void contract(const contraction_plan& plan, const void* a, const void* b, void* c, void* workspace,
              contraction_epilogue epilogue) {
  if (epilogue && !plan.blocks_are_contiguous())
    throw error("contract: an epilogue needs a plan whose blocks are contiguous");
  if (plan.swapped) std::swap(a, b);
  dispatch(plan.type, [&]<class T>(std::type_identity<T>) {
    if constexpr (!is_complex(dtype_of<T>) && dtype_of<T> != dtype::b8)
      run(plan, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(c), workspace, epilogue);
    else
      throw error("contract: no sums of products in this dtype");
  });
}

}  // namespace napkin::on_cpu
