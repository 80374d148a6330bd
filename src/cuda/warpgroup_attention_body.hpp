// Attention on a GPU whose warpgroups multiply matrices (compute capability 9.0), as one thread of it runs: what
// attention_body.hpp does, of heads in 16 bits without masks or windows. Over attention_body.hpp's Machine, which
// also has
//
//   begin_products()                      registers are written: products may read them
//   multiply<Type, Adds>(c, a, b, step)   wgmma.m64n64k16: c = a b^T, or added to c; both in shared memory
//   add<Type>(c, a, b, step)              the same: c += a b, a in registers
//   commit_products(), wait_products<n>() of those that were committed all but the last n are over
//   keep(x)                               registers that products on their way read or write
//   publish()                             the thread's copies to shared memory, to be seen by products
//
// A block's warpgroups own 64 rows each, as attention_body.hpp's warps own 16; all read the same tiles.
//
// Source  PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"; Shah et al. 2024, "FlashAttention-3"
#pragma once

#include "attention_weights.hpp"
#include "warpgroup_attention_shape.hpp"

namespace napkin::on_cuda::detail {

template <class Machine, dtype Type, unsigned Width, attention_kernel Kernel>
class warpgroup_attention_thread
    : attention_weights<Machine, warpgroup_attention_shape<Type, Width, Kernel>> {
  using base = attention_weights<Machine, warpgroup_attention_shape<Type, Width, Kernel>>;
  using base::blocks_of, base::thread, base::clear, base::exp2, base::begin_weights, base::soften,
      base::end_weights, base::read_statistics, base::statistics_of, base::statistic_at, base::put_statistic;
  using base::m_, base::a_, base::row_of, base::quad_column, base::hides_some, base::hide;
  using base::tile, base::tiles, base::owns_keys;
  using typename base::shape, typename base::T, typename base::scores, typename base::of_rows;
  static constexpr unsigned width_tiles = Width / 8, steps = tile / 16;
  using results = float[1][width_tiles][4];
  using weights = std::uint32_t[steps][4];  // in 16 bits, as products read them

  std::byte* shared_;

 public:
  NAPKIN_DEVICE warpgroup_attention_thread(Machine& machine, const attention_arguments& a, std::byte* shared)
      : base(machine, a), shared_(shared) {}

  /// Of a head (of keys, where the kernel owns them) its block `number`: those that take longest come first.
  NAPKIN_DEVICE void run(unsigned head, unsigned number) {
    if constexpr (Kernel == attention_kernel::forward)
      forward(head, number);
    else
      backward(head, number);
  }

 private:
  // ---- where things lie

  NAPKIN_DEVICE unsigned row_of_group() const { return m_.warp() / 4 * warpgroup_rows; }
  NAPKIN_DEVICE unsigned row_of_warp() const { return m_.warp() * 16; }
  NAPKIN_DEVICE std::byte* own_at(unsigned number) const { return shared_ + number * shape::own_tile_bytes; }
  NAPKIN_DEVICE std::byte* tile_at(unsigned slot, unsigned number) const {
    return shared_ + shape::own_bytes + slot * shape::slot_bytes + number * shape::tile_bytes;
  }
  NAPKIN_DEVICE float* statistics_at(unsigned slot) const {
    return reinterpret_cast<float*>(tile_at(slot, 2));
  }
  /// Of a panel's 16 bytes at a row: of 8 rows each has them in another order.
  NAPKIN_DEVICE static unsigned place_of(unsigned row, unsigned piece) {
    return row * shape::row_bytes + (piece ^ row % 8) * 16;
  }
  template <attention_tensor... X>
  using head_of = attention_head<Type, X...>;

  /// Rows from `first` of a head; zeros past the last, and past a row's width.
  template <attention_tensor X, unsigned Rows>
  NAPKIN_DEVICE void load(std::byte* to, const T* head, unsigned first, unsigned last, unsigned width) {
    constexpr unsigned in_row = Width / 8, at_once = shape::threads / in_row;
    static_assert(at_once % 8 == 0);
    const std::int64_t step = a_.template walk<X>().position;
    const unsigned piece = thread() % in_row, row = thread() / in_row;
    const unsigned left = piece * 8 < width && first + row < last ? last - first - row : 0;
    const T* from = head + (first + row) * step + piece * 8;
    to += piece / 8 * Rows * shape::row_bytes + place_of(row, piece % 8);
    NAPKIN_UNROLL
    for (unsigned i = 0; i < Rows; i += at_once) {
      if (Rows % at_once == 0 || row + i < Rows) m_.copy_async(to + i * shape::row_bytes, from, i < left);
      from += at_once * step;
    }
  }
  /// The block's rows, times their factors, by way of shared memory, where they lay before: they go on in
  /// pieces of 16 bytes.
  template <attention_tensor X>
  NAPKIN_DEVICE void store(T* head, const results& x, std::byte* staged, unsigned first, unsigned last,
                           unsigned width, const of_rows& factor) {
    NAPKIN_UNROLL
    for (unsigned half = 0; half < 2; ++half) NAPKIN_UNROLL
    for (unsigned n = 0; n < width_tiles; ++n)
      *reinterpret_cast<std::uint32_t*>(
          staged + n / 8 * shape::rows * shape::row_bytes + place_of(row_of_warp() + row_of(0, half), n % 8) +
          quad_column() * 2) = m_.template pack<Type>(x[0][n][2 * half] * factor[0][half],
                                                      x[0][n][2 * half + 1] * factor[0][half]);
    m_.sync();
    constexpr unsigned in_row = Width / 8, at_once = shape::threads / in_row;
    using piece_of_row = packed<std::uint32_t, 4>;
    const std::int64_t step = a_.template walk<X>().position;
    const unsigned piece = thread() % in_row;
    if (piece * 8 >= width) return;
    NAPKIN_UNROLL
    for (unsigned i = 0; i < shape::rows; i += at_once) {
      const unsigned row = i + thread() / in_row;
      if (row < shape::rows && first + row < last)
        put_packed(reinterpret_cast<std::uint32_t*>(head + (first + row) * step + piece * 8),
                   *reinterpret_cast<const piece_of_row*>(
                       staged + piece / 8 * shape::rows * shape::row_bytes + place_of(row, piece % 8)));
    }
  }

  // ---- products of a warpgroup

  /// c = rows * others^T, of the warpgroup's rows among the block's own, and a tile.
  NAPKIN_DEVICE void multiply_rows(scores& c, unsigned own, const std::byte* others) {
    const std::byte* rows = own_at(own) + row_of_group() * shape::row_bytes;
    m_.begin_products();
    NAPKIN_UNROLL
    for (unsigned p = 0; p < shape::panels; ++p) NAPKIN_UNROLL
    for (unsigned step = 0; step < 4; ++step) {
      const std::byte *const left = rows + p * shape::rows * shape::row_bytes, *const right =
                                                                                   others +
                                                                                   p * tile *
                                                                                       shape::row_bytes;
      if (p + step == 0)
        m_.template multiply<Type, false>(c[0], left, right, step);
      else
        m_.template multiply<Type, true>(c[0], left, right, step);
    }
    m_.commit_products();
  }
  /// sums += weights * others: over the tile's rows.
  NAPKIN_DEVICE void add_products(results& sums, const weights& by, const std::byte* others) {
    m_.begin_products();
    NAPKIN_UNROLL
    for (unsigned p = 0; p < shape::panels; ++p) NAPKIN_UNROLL
    for (unsigned step = 0; step < steps; ++step)
      m_.template add<Type>(sums[0] + p * 8, by[step], others + p * tile * shape::row_bytes, step);
    m_.commit_products();
  }
  NAPKIN_DEVICE void round(weights& to, const scores& from) {
    NAPKIN_UNROLL
    for (unsigned step = 0; step < steps; ++step) NAPKIN_UNROLL
    for (unsigned i = 0; i < 4; ++i) {
      const float* const pair = from[0][2 * step + i / 2] + i % 2 * 2;
      to[step][i] = m_.template pack<Type>(pair[0], pair[1]);
    }
  }
  NAPKIN_DEVICE static void clear_weights(weights& x) {
    NAPKIN_UNROLL
    for (unsigned step = 0; step < steps; ++step) NAPKIN_UNROLL
    for (unsigned i = 0; i < 4; ++i) x[step][i] = 0;
  }

  // ---- tiles

  /// Nothing of a tile is seen by the warpgroup's rows, which begin at `own`, or they are past the last.
  NAPKIN_DEVICE bool is_hidden(unsigned own, unsigned other, unsigned rows) const {
    return own >= rows || (a_.causal && (owns_keys ? other + tile <= own : other >= own + warpgroup_rows));
  }

  /// f(the tile's first row, its slot) for the tiles of a head's others from `begin` to `end`. f's products
  /// are over before the next.
  template <attention_tensor First, attention_tensor Second, class F>
  NAPKIN_DEVICE void walk(unsigned head, unsigned begin, unsigned end, F&& f) {
    using enum attention_tensor;
    if (begin >= end) return m_.wait_async();  // for the block's own rows
    const head_of<First, Second, log_sum, delta> from(a_, head);
    const float* statistics = nullptr;
    if constexpr (owns_keys) statistics = statistics_of(from, head);
    float statistic = 0;
    const auto fetch = [&](unsigned other, unsigned slot) {
      const unsigned last = owns_keys ? a_.queries : a_.keys;
      load<First, tile>(tile_at(slot, 0), from.template at<First>(), other, last, a_.hidden);
      load<Second, tile>(tile_at(slot, 1), from.template at<Second>(), other, last, a_.value);
      if constexpr (owns_keys) statistic = statistic_at(statistics, other);
    };
    fetch(begin, 0);
    unsigned slot = 0;
    NAPKIN_ROLL
    for (unsigned other = begin; other < end; other += tile) {
      m_.wait_async();
      if constexpr (owns_keys) put_statistic(statistics_at(slot), statistic);
      m_.publish();
      m_.sync();  // the tile is there; nobody reads the one before
      if (other + tile < end) fetch(other + tile, 1 - slot);
      f(other, slot);
      m_.template wait_products<0>();
      slot = 1 - slot;
    }
  }

  // ---- forward

  NAPKIN_DEVICE void forward(unsigned head, unsigned number) {
    using enum attention_tensor;
    const unsigned first = (blocks_of(a_.queries) - 1 - number) * shape::rows;
    const unsigned of_group = first + row_of_group(), own = first + row_of_warp();
    const unsigned seen = a_.causal && first + shape::rows < a_.keys ? first + shape::rows : a_.keys;
    {
      const head_of<query> from(a_, head);
      load<query, shape::rows>(own_at(0), from.template at<query>(), first, a_.queries, a_.hidden);
    }
    results sums;
    weights by;
    of_rows most, total;
    clear(sums);
    clear_weights(by);
    begin_weights(most, total);
    walk<key, value>(head, 0, seen, [&](unsigned other, unsigned slot) {
      m_.keep(sums[0]), m_.keep(by);
      if (is_hidden(of_group, other, a_.queries)) return;
      scores s;
      multiply_rows(s, 0, tile_at(slot, 0));
      m_.template wait_products<0>();
      m_.keep(s[0]);
      if (hides_some(own, other)) hide(s, own, other);
      soften(s, most, total, sums);
      round(by, s);
      add_products(sums, by, tile_at(slot, 1));
    });
    m_.keep(sums[0]), m_.keep(by);

    of_rows factor;
    const head_of<output, log_sum> to(a_, head);
    end_weights(factor, most, total, to.template at<log_sum>(), nullptr, own);
    if (a_.template at<output>() == nullptr) return;
    m_.sync();  // nobody reads the queries
    store<output>(to.template at<output>(), sums, own_at(0), first, a_.queries, a_.value, factor);
  }

  // ---- backward

  NAPKIN_DEVICE void backward(unsigned of, unsigned number) {
    using enum attention_tensor;
    constexpr attention_tensor own_1 = owns_keys ? key : query, own_2 = owns_keys ? value : output,
                               other_1 = owns_keys ? query : key, other_2 = owns_keys ? output : value;
    const unsigned rows = owns_keys ? a_.keys : a_.queries, others = owns_keys ? a_.queries : a_.keys;
    const unsigned first = (owns_keys ? number : blocks_of(rows) - 1 - number) * shape::rows;
    const unsigned of_group = first + row_of_group(), own = first + row_of_warp();
    const unsigned head = owns_keys ? of * a_.group : of;
    const head_of<own_1, own_2, log_sum, delta> from(a_, head);
    load<own_1, shape::rows>(own_at(0), from.template at<own_1>(), first, rows, a_.hidden);
    load<own_2, shape::rows>(own_at(1), from.template at<own_2>(), first, rows, a_.value);

    results sums;
    float sums_of_value[1][owns_keys ? width_tiles : 1][4];
    weights by;
    clear(sums);
    clear(sums_of_value);
    clear_weights(by);
    of_rows log_sums, deltas, scale, as_it_is;
    read_statistics(log_sums, deltas, from, own);
    NAPKIN_UNROLL
    for (unsigned half = 0; half < 2; ++half) scale[0][half] = a_.scale, as_it_is[0][half] = 1;

    const auto compute = [&](unsigned other, unsigned slot) {
      m_.keep(sums[0]), m_.keep(by);
      if (is_hidden(of_group, other, rows)) return;
      scores p, d;
      multiply_rows(p, 0, tile_at(slot, 0));
      multiply_rows(d, 1, tile_at(slot, 1));
      m_.template wait_products<1>();
      m_.keep(p[0]);
      if (hides_some(own, other)) hide(p, own, other);
      const float* const of_queries = statistics_at(slot);
      this->template for_each_score<tiles>(of_queries, log_sums,
                                           [&](unsigned b, unsigned n, unsigned i, float sum) {
                                             p[b][n][i] = exp2(m_.fma(p[b][n][i], a_.scale_log2, -sum));
                                           });
      if constexpr (owns_keys) {
        round(by, p);
        add_products(sums_of_value, by, tile_at(slot, 1));
      }
      m_.template wait_products<0>();
      m_.keep(d[0]);
      if constexpr (owns_keys) m_.keep(sums_of_value[0]), m_.keep(by);
      this->template for_each_score<tiles>(
          of_queries + tile, deltas,
          [&](unsigned b, unsigned n, unsigned i, float delta) { p[b][n][i] *= d[b][n][i] - delta; });
      round(by, p);
      add_products(sums, by, tile_at(slot, 0));
    };
    if constexpr (owns_keys) {
      const unsigned begin = a_.causal ? first / tile * tile : 0;
      NAPKIN_ROLL
      for (unsigned h = head; h < head + a_.group; ++h) {
        if (h != head) m_.sync();  // nobody reads the tiles of the head before
        walk<other_1, other_2>(h, begin, others, compute);
      }
      m_.keep(sums[0]), m_.keep(by);
      m_.sync();  // nobody reads the block's own rows
      const head_of<d_key, d_value> to(a_, head);
      if (a_.template at<d_key>() != nullptr)
        store<d_key>(to.template at<d_key>(), sums, own_at(0), first, rows, a_.hidden, scale);
      if (a_.template at<d_value>() != nullptr)
        store<d_value>(to.template at<d_value>(), sums_of_value, own_at(1), first, rows, a_.value, as_it_is);
    } else {
      const bool sees_some = a_.causal && first + shape::rows < others;
      walk<other_1, other_2>(head, 0, sees_some ? first + shape::rows : others, compute);
      m_.keep(sums[0]), m_.keep(by);
      m_.sync();
      const head_of<d_query> to(a_, head);
      store<d_query>(to.template at<d_query>(), sums, own_at(0), first, rows, a_.hidden, scale);
    }
  }
};

}  // namespace napkin::on_cuda::detail
