// Attention of any shape on a GPU, as one thread of it runs: heads of any width, f64 too, and scales that are
// not above 0. What attention_body.hpp does faster goes there. Over the same Machine.
//
// A block has 4 warps and owns rows, queries or keys; it walks the others 32 at a time, and both in chunks of
// so many columns, whatever their width: first the chunks that scores are products of, then those of the rows
// that are weighed and summed. A chunk is on its way while another is computed with. Of a result's columns a
// block has 256; a wider one is several blocks', which take its scores each. The adjoints of keys and of
// values are blocks of their own as well: sums of both would not fit in registers.
//
// Of 16 bits the products are mma's, of a warp's 16 rows. Others are FMA's: a warp has fewer rows, of which a
// lane takes the scores with one of the 32, and sums every 32nd column.
#pragma once

#include <limits>

#include "attention_tiles.hpp"
#include "napkin/cuda/packed.hpp"

namespace napkin::on_cuda::detail {

/// Sizes of a block and of what it shares.
template <dtype Type>
struct general_attention_shape {
  using T = type_of<Type>;
  using A = planning::register_type<Type>;
  static constexpr bool halves = sizeof(T) == 2;
  static constexpr unsigned rows_of_warp = halves ? 16 : 32 / sizeof(A),
                            rows = attention_warps * rows_of_warp;
  static constexpr unsigned tile = 32;
  static constexpr unsigned chunk = sizeof(T) <= 4 ? 64 : 32;  // columns
  /// Elements from a row to the next: 16 bytes more than the row, so that 8 rows lie in different banks.
  static constexpr unsigned pitch = chunk + 16 / sizeof(T);
  static constexpr unsigned columns = general_attention_columns;  // of a result
  static constexpr unsigned own_bytes = rows * pitch * sizeof(T),
                            slot_bytes = own_bytes + tile * pitch * sizeof(T);
  static constexpr unsigned weight_bytes = halves ? 0 : rows * tile * sizeof(A);
  static constexpr unsigned shared_bytes = 2 * slot_bytes + weight_bytes;
};

/// Blocks along a result's width.
constexpr unsigned pieces_of(std::size_t width) {
  return static_cast<unsigned>((width + general_attention_columns - 1) / general_attention_columns);
}

/// Result: the output, or d_query, d_key or d_value.
template <class Machine, dtype Type, attention_tensor Result>
class general_attention_thread {
  using shape = general_attention_shape<Type>;
  using T = typename shape::T;
  using A = typename shape::A;
  static constexpr bool halves = shape::halves, forward = Result == attention_tensor::output;
  static constexpr bool owns_keys = Result == attention_tensor::d_key || Result == attention_tensor::d_value;
  static constexpr bool needs_slopes =
      Result == attention_tensor::d_query || Result == attention_tensor::d_key;
  static constexpr unsigned rows_of_warp = shape::rows_of_warp, tile = shape::tile, chunk = shape::chunk,
                            pitch = shape::pitch, vector = 16 / sizeof(T);
  static constexpr A least = -std::numeric_limits<A>::infinity();

  // What products are of: own rows with the others', twice; what is summed, times its weights.
  static constexpr attention_tensor own_1 = owns_keys ? attention_tensor::key : attention_tensor::query,
                                    own_2 = owns_keys ? attention_tensor::value : attention_tensor::output,
                                    other_1 = owns_keys ? attention_tensor::query : attention_tensor::key,
                                    other_2 = owns_keys ? attention_tensor::output : attention_tensor::value,
                                    summed = needs_slopes ? other_1 : other_2;

  // A lane's scores are of so many of its warp's rows, with so many of the tile's.
  static constexpr unsigned lane_rows = halves ? 2 : rows_of_warp, lane_others = halves ? 8 : 1;
  static constexpr unsigned lane_queries = owns_keys ? lane_others : lane_rows;
  struct scores {
    A x[1][halves ? 4 : 1][halves ? 4 : rows_of_warp];  // one band
    NAPKIN_DEVICE A& at(unsigned row, unsigned other) {
      return halves ? x[0][other / 2][row * 2 + other % 2] : x[0][0][row];
    }
  };
  static constexpr unsigned lane_columns = shape::columns / (halves ? 4 : 32);
  struct results {
    A x[1][halves ? lane_columns / 2 : lane_columns][halves ? 4 : rows_of_warp];
    NAPKIN_DEVICE A& at(unsigned row, unsigned column) {
      return halves ? x[0][column / 2][row * 2 + column % 2] : x[0][column][row];
    }
  };
  using of_rows = A[lane_rows];
  template <attention_tensor... X>
  using head_of = attention_head<Type, X...>;

  Machine& m_;
  const attention_arguments& a_;
  std::byte* shared_;
  unsigned first_ = 0, piece_ = 0;  // the block's first row, and which of its result's columns
  unsigned slot_ = 0;

 public:
  NAPKIN_DEVICE general_attention_thread(Machine& machine, const attention_arguments& a, std::byte* shared)
      : m_(machine), a_(a), shared_(shared) {}

  /// Of a head (of keys, where they are owned) the rows of block `number`, and of those a piece: blocks that
  /// take longest, where a query sees what stands before it, come first.
  NAPKIN_DEVICE void run(unsigned head, unsigned number, unsigned piece) {
    const unsigned blocks = (own_count() + shape::rows - 1) / shape::rows;
    first_ = (owns_keys ? number : blocks - 1 - number) * shape::rows;
    piece_ = piece;
    results sums;
    NAPKIN_UNROLL
    for (unsigned r = 0; r < lane_rows; ++r) NAPKIN_UNROLL
    for (unsigned c = 0; c < lane_columns; ++c) sums.at(r, c) = 0;
    if constexpr (forward)
      give_output(head, sums);
    else
      give_adjoint(head, sums);
  }

 private:
  // ---- where things lie

  NAPKIN_DEVICE unsigned own_count() const { return owns_keys ? a_.keys : a_.queries; }
  NAPKIN_DEVICE unsigned other_count() const { return owns_keys ? a_.queries : a_.keys; }
  /// Of a lane's rows, and of what its scores are with.
  NAPKIN_DEVICE unsigned row_of(unsigned r) const {
    return first_ + m_.warp() * rows_of_warp + (halves ? r * 8 + m_.lane() / 4 : r);
  }
  NAPKIN_DEVICE unsigned other_of(unsigned o) const {
    return halves ? o / 2 * 8 + m_.lane() % 4 * 2 + o % 2 : m_.lane();
  }
  NAPKIN_DEVICE T* own_at(unsigned slot) const {
    return reinterpret_cast<T*>(shared_ + slot * shape::slot_bytes);
  }
  NAPKIN_DEVICE T* others_at(unsigned slot) const {
    return reinterpret_cast<T*>(shared_ + slot * shape::slot_bytes + shape::own_bytes);
  }
  NAPKIN_DEVICE A* weights_of_warp() const {
    return reinterpret_cast<A*>(shared_ + 2 * shape::slot_bytes) + m_.warp() * rows_of_warp * tile;
  }

  // ---- chunks

  template <attention_tensor X>
  NAPKIN_DEVICE unsigned width_of() const {
    using enum attention_tensor;
    return X == query || X == key || X == d_query || X == d_key ? a_.hidden : a_.value;
  }
  /// A chunk from `column` of rows from `first`.
  template <attention_tensor X, unsigned Rows>
  NAPKIN_DEVICE void load(T* to, const T* head, unsigned first, unsigned last, unsigned column) {
    load_rows<X, Rows, chunk, pitch>(m_, a_, to, head + column * a_.walk<X>().width, first, last,
                                     width_of<X>() - column);
  }
  /// How many chunks a tile has of the first products, of the second, of what is summed.
  struct turns {
    unsigned first, second, sums;
  };
  NAPKIN_DEVICE turns turns_of_tile() const {
    const unsigned width = width_of<summed>() - piece_ * shape::columns;
    const unsigned of_piece = width < shape::columns ? width : shape::columns;
    const unsigned scored = width_of<own_1>();
    return {scored > 0 ? chunks_of(scored) : 1,  // of no columns one of zeros: with it a tile begins
            needs_slopes ? chunks_of(width_of<own_2>()) : 0, chunks_of(of_piece)};
  }
  NAPKIN_DEVICE static unsigned chunks_of(unsigned width) { return (width + chunk - 1) / chunk; }
  using rows_from = head_of<own_1, own_2, other_1, other_2>;
  template <attention_tensor Own, attention_tensor Other>
  NAPKIN_DEVICE void fetch_factors(const rows_from& from, unsigned other, unsigned i, unsigned slot) {
    load<Own, shape::rows>(own_at(slot), from.template at<Own>(), first_, own_count(), i * chunk);
    load<Other, tile>(others_at(slot), from.template at<Other>(), other, other_count(), i * chunk);
  }
  NAPKIN_DEVICE void fetch_summed(const rows_from& from, unsigned other, unsigned i, unsigned slot) {
    load<summed, tile>(others_at(slot), from.template at<summed>(), other, other_count(),
                       piece_ * shape::columns + i * chunk);
  }

  /// weigh(scores, second products, the tile's first row) for a head's tiles from `begin` to `end` makes
  /// weights of them, with which the rows of `summed` are then added.
  template <class Weigh>
  NAPKIN_DEVICE void walk(unsigned head, unsigned begin, unsigned end, results& sums, Weigh&& weigh) {
    if (begin >= end) return;
    const rows_from from(a_, head);
    const turns t = turns_of_tile();
    fetch_factors<own_1, other_1>(from, begin, 0, slot_);
    const auto arrive = [&] {
      m_.wait_async();
      m_.sync();  // the chunk is there; nobody reads the one before
      slot_ = 1 - slot_;
    };
    NAPKIN_ROLL
    for (unsigned other = begin; other < end; other += tile) {
      scores s, d;
      clear(s);
      clear(d);
      NAPKIN_ROLL
      for (unsigned i = 1; i <= t.first; ++i) {
        arrive();
        if (i < t.first)
          fetch_factors<own_1, other_1>(from, other, i, slot_);
        else if constexpr (needs_slopes)
          fetch_factors<own_2, other_2>(from, other, 0, slot_);
        else
          fetch_summed(from, other, 0, slot_);
        multiply(s, 1 - slot_);
      }
      NAPKIN_ROLL
      for (unsigned i = 1; i <= t.second; ++i) {
        arrive();
        if (i < t.second)
          fetch_factors<own_2, other_2>(from, other, i, slot_);
        else
          fetch_summed(from, other, 0, slot_);
        multiply(d, 1 - slot_);
      }
      weigh(s, d, other);
      if constexpr (!halves) share(s);
      NAPKIN_UNROLL
      for (unsigned i = 0; i < shape::columns / chunk; ++i) {
        if (i >= t.sums) continue;
        arrive();
        if (i + 1 < t.sums)
          fetch_summed(from, other, i + 1, slot_);
        else if (other + tile < end)
          fetch_factors<own_1, other_1>(from, other + tile, 0, slot_);
        add_products(sums, i, s, 1 - slot_);
      }
    }
  }

  // ---- products

  NAPKIN_DEVICE static void clear(scores& s) {
    NAPKIN_UNROLL
    for (unsigned r = 0; r < lane_rows; ++r) NAPKIN_UNROLL
    for (unsigned o = 0; o < lane_others; ++o) s.at(r, o) = 0;
  }
  /// s += own rows * others^T, over a chunk.
  NAPKIN_DEVICE void multiply(scores& s, unsigned slot) {
    const T *rows = own_at(slot) + m_.warp() * rows_of_warp * pitch, *others = others_at(slot);
    if constexpr (halves) {
      multiply_by_mma<Type, chunk, pitch>(m_, s.x, rows, others);
    } else {
      using piece = packed<T, vector>;
      others += m_.lane() * pitch;
      NAPKIN_UNROLL_8
      for (unsigned c = 0; c < chunk; c += vector) {
        const piece other = *reinterpret_cast<const piece*>(others + c);
        NAPKIN_UNROLL
        for (unsigned r = 0; r < rows_of_warp; ++r) {
          const piece row = *reinterpret_cast<const piece*>(rows + r * pitch + c);
          NAPKIN_UNROLL
          for (unsigned i = 0; i < vector; ++i) s.x[0][0][r] = m_.fma(row.x[i], other.x[i], s.x[0][0][r]);
        }
      }
    }
  }
  /// A lane's weights, for those of its warp. They meet when the next chunk arrives.
  NAPKIN_DEVICE void share(const scores& s) {
    A* const to = weights_of_warp() + m_.lane() * rows_of_warp;
    NAPKIN_UNROLL
    for (unsigned r = 0; r < rows_of_warp; ++r) to[r] = s.x[0][0][r];
  }
  /// sums += weights * others: chunk `i` of the piece's columns.
  NAPKIN_DEVICE void add_products(results& sums, unsigned i, const scores& weights, unsigned slot) {
    const T* others = others_at(slot);
    if constexpr (halves) {
      add_by_mma<Type, chunk, pitch>(m_, sums.x, i * (chunk / 8), weights.x, others);
    } else {
      using of_warp = packed<A, rows_of_warp>;
      const of_warp* const shared = reinterpret_cast<const of_warp*>(weights_of_warp());
      others += m_.lane();
      NAPKIN_UNROLL_8
      for (unsigned j = 0; j < tile; ++j) {
        const of_warp w = shared[j];
        NAPKIN_UNROLL
        for (unsigned n = 0; n < chunk / 32; ++n) {
          const T x = others[j * pitch + n * 32];
          A(&to)[rows_of_warp] = sums.x[0][i * (chunk / 32) + n];
          NAPKIN_UNROLL
          for (unsigned r = 0; r < rows_of_warp; ++r) to[r] = m_.fma(w.x[r], x, to[r]);
        }
      }
    }
  }

  // ---- masks

  template <class M>
  NAPKIN_DEVICE A masked_as(const std::byte* of_head, unsigned query, unsigned key) const {
    const M x = reinterpret_cast<const M*>(
        of_head)[std::int64_t{query} * a_.mask_along_queries + std::int64_t{key} * a_.mask_along_keys];
    return static_cast<A>(planning::loaded<dtype_of<M>>(x));
  }
  /// Of one that shows 0 or 1.
  NAPKIN_DEVICE A masked(const std::byte* of_head, unsigned query, unsigned key) const {
    switch (a_.mask_type) {
      case dtype::f64:
        return masked_as<f64>(of_head, query, key);
      case dtype::f32:
        return masked_as<f32>(of_head, query, key);
      case dtype::bf16:
        return masked_as<bf16>(of_head, query, key);
      case dtype::f16:
        return masked_as<f16>(of_head, query, key);
      default:
        return masked_as<b8>(of_head, query, key);
    }
  }
  /// A query's product with a key, scaled and masked. `seen`: whether anything goes through it.
  NAPKIN_DEVICE A score_of(A product, const std::byte* of_mask, unsigned row, unsigned other,
                           bool& seen) const {
    const unsigned query = owns_keys ? other : row, key = owns_keys ? row : other;
    seen = query < a_.queries && key < a_.keys;
    if (!seen) return least;
    seen = !a_.causal || (key <= query && query - key < a_.window);
    A score = product * static_cast<A>(a_.exact_scale);
    if (of_mask != nullptr) {
      const A x = masked(of_mask, query, key);
      if (a_.mask_shows)
        seen = seen && x != 0;
      else
        score += x;
      return seen ? score : static_cast<A>(a_.hidden_score);
    }
    return seen ? score : least;
  }
  /// Nothing hides any key from any query, of the block's rows and a tile.
  NAPKIN_DEVICE bool shows_all(const std::byte* of_mask, unsigned other) const {
    if (of_mask != nullptr || other + tile > other_count()) return false;
    const unsigned last = first_ + shape::rows - 1, last_other = other + tile - 1;
    if constexpr (owns_keys) return !a_.causal || (last <= other && last_other - first_ < a_.window);
    return !a_.causal || (last_other <= first_ && last - other < a_.window);
  }
  static constexpr unsigned bit_of(unsigned r, unsigned o) { return 1u << (o * lane_rows + r); }
  /// Products become scores. Returns bits of those that are seen.
  NAPKIN_DEVICE unsigned make_scores(scores& s, const std::byte* of_mask, unsigned other) const {
    unsigned all_seen = ~0u;
    if (shows_all(of_mask, other)) {
      NAPKIN_UNROLL
      for (unsigned r = 0; r < lane_rows; ++r) NAPKIN_UNROLL
      for (unsigned o = 0; o < lane_others; ++o) s.at(r, o) *= static_cast<A>(a_.exact_scale);
      return all_seen;
    }
    NAPKIN_UNROLL
    for (unsigned r = 0; r < lane_rows; ++r) NAPKIN_UNROLL
    for (unsigned o = 0; o < lane_others; ++o) {
      bool seen;
      s.at(r, o) = score_of(s.at(r, o), of_mask, row_of(r), other + other_of(o), seen);
      if (!seen) all_seen &= ~bit_of(r, o);
    }
    return all_seen;
  }
  NAPKIN_DEVICE const std::byte* mask_of(unsigned head) const {
    using enum attention_tensor;
    return a_.at<mask>() != nullptr ? head_of<mask>(a_, head).template at<mask>() : nullptr;
  }
  /// Tiles of the others that the block's rows see something of. Masked, all of them: what is hidden has a
  /// score too.
  struct range {
    unsigned begin, end;
  };
  NAPKIN_DEVICE range others_seen() const {
    range r{0, other_count()};
    if (!a_.causal || a_.at<attention_tensor::mask>() != nullptr) return r;
    const unsigned last = first_ + shape::rows;  // is one past it
    if constexpr (owns_keys) {
      r.begin = first_ / tile * tile;
      if (last - 1 + a_.window < r.end) r.end = last - 1 + a_.window;
    } else {
      if (first_ >= a_.window) r.begin = (first_ + 1 - a_.window) / tile * tile;
      if (last < r.end) r.end = last;
    }
    return r;
  }

  // ---- forward

  static constexpr dtype sum_type = sizeof(A) == 8 ? dtype::f64 : dtype::f32;
  NAPKIN_DEVICE A exponential(A x) {
    if constexpr (halves)
      return m_.template exp2<true>(x * 1.44269504088896341f);
    else
      return planning::evaluate<op::exp, sum_type>(x);
  }

  /// f of x over the lanes that have the same rows.
  template <class F>
  NAPKIN_DEVICE A over_row(A x, F&& f) {
    NAPKIN_UNROLL
    for (unsigned apart = 1; apart < (halves ? 4 : 32); apart *= 2)
      x = f(x, m_.from_lane(x, m_.lane() ^ apart));
    return x;
  }

  NAPKIN_DEVICE void give_output(unsigned head, results& sums) {
    using enum attention_tensor;
    of_rows most, total;
    NAPKIN_UNROLL
    for (unsigned r = 0; r < lane_rows; ++r) most[r] = least, total[r] = 0;
    const std::byte* const of_mask = mask_of(head);
    const range seen = others_seen();
    walk(head, seen.begin, seen.end, sums, [&](scores& s, scores&, unsigned other) {
      make_scores(s, of_mask, other);
      NAPKIN_UNROLL
      for (unsigned r = 0; r < lane_rows; ++r) {
        A largest = most[r];
        NAPKIN_UNROLL
        for (unsigned o = 0; o < lane_others; ++o) largest = m_.larger(largest, s.at(r, o));
        largest = over_row(largest, [&](A x, A y) { return m_.larger(x, y); });
        const bool moves = largest > most[r];
        if (m_.any(moves)) {
          const A smaller = moves ? exponential(most[r] - largest) : A(1);
          most[r] = moves ? largest : most[r];
          total[r] *= smaller;
          NAPKIN_UNROLL
          for (unsigned c = 0; c < lane_columns; ++c) sums.at(r, c) *= smaller;
        }
        const A below = most[r] == least ? A(0) : most[r];  // nothing is seen so far
        NAPKIN_UNROLL
        for (unsigned o = 0; o < lane_others; ++o) {
          s.at(r, o) = exponential(s.at(r, o) - below);
          total[r] += s.at(r, o);
        }
      }
    });
    const head_of<log_sum, largest> to(a_, head);
    of_rows factor;
    NAPKIN_UNROLL
    for (unsigned r = 0; r < lane_rows; ++r) {
      const A all = over_row(total[r], [](A x, A y) { return x + y; });
      factor[r] = 1 / all;
      const unsigned row = row_of(r);
      if (piece_ != 0 || row >= a_.queries || m_.lane() % (halves ? 4 : 32) != 0) continue;
      if (a_.at<log_sum>() != nullptr)
        to.template at<log_sum>()[row * a_.walk<log_sum>().position] =
            (of_mask != nullptr ? A(0) : most[r]) + planning::evaluate<op::log, sum_type>(all);
      if (a_.at<largest>() != nullptr) to.template at<largest>()[row * a_.walk<largest>().position] = most[r];
    }
    if (a_.at<output>() != nullptr) store(head, sums, factor);
  }

  // ---- backward

  /// Of queries: what their scores' exponentials are divided by, and what their slopes lie above.
  struct statistics {
    A log_sum, delta, largest;
  };
  NAPKIN_DEVICE statistics statistics_of(
      const head_of<attention_tensor::log_sum, attention_tensor::delta, attention_tensor::largest>& from,
      unsigned row) const {
    using enum attention_tensor;
    if (row >= a_.queries) return {0, 0, 0};
    return {
        from.template at<log_sum>()[row * a_.walk<log_sum>().position],
        from.template at<delta>()[row * a_.walk<delta>().position],
        a_.at<largest>() != nullptr ? from.template at<largest>()[row * a_.walk<largest>().position] : A(0)};
  }
  NAPKIN_DEVICE void give_adjoint(unsigned of, results& sums) {
    using enum attention_tensor;
    const unsigned heads = owns_keys ? a_.group : 1, begin = of * heads;
    const range seen = others_seen();
    NAPKIN_ROLL
    for (unsigned head = begin; head < begin + heads; ++head) {
      const std::byte* const of_mask = mask_of(head);
      const head_of<log_sum, delta, largest> of_queries(a_, head);
      walk(head, seen.begin, seen.end, sums, [&](scores& s, scores& d, unsigned other) {
        const unsigned all_seen = make_scores(s, of_mask, other);
        NAPKIN_UNROLL
        for (unsigned query = 0; query < lane_queries; ++query) {
          const statistics x = statistics_of(of_queries, owns_keys ? other + other_of(query) : row_of(query));
          NAPKIN_UNROLL
          for (unsigned key = 0; key < lane_rows * lane_others / lane_queries; ++key) {
            const unsigned r = owns_keys ? key : query, o = owns_keys ? query : key;
            const bool is_seen = (all_seen & bit_of(r, o)) != 0;
            const bool weighs = is_seen || (of_mask != nullptr && other + other_of(o) < other_count());
            const A weight = weighs ? exponential(s.at(r, o) - x.largest - x.log_sum) : A(0);
            if constexpr (needs_slopes)
              s.at(r, o) = is_seen ? weight * (d.at(r, o) - x.delta) : A(0);
            else
              s.at(r, o) = weight;
          }
        }
      });
    }
    of_rows factor;
    NAPKIN_UNROLL
    for (unsigned r = 0; r < lane_rows; ++r) factor[r] = needs_slopes ? static_cast<A>(a_.exact_scale) : A(1);
    store(begin, sums, factor);
  }

  /// A row at a time, by way of shared memory: what a lane has of it lies apart.
  NAPKIN_DEVICE void store(unsigned head, results& sums, const of_rows& factor) {
    T* const to = head_of<Result>(a_, head).template at<Result>();
    T* const staged = own_at(0);
    T* const mine = staged + m_.warp() * rows_of_warp * pitch;
    NAPKIN_UNROLL
    for (unsigned i = 0; i < shape::columns / chunk; ++i) {
      const unsigned begin = piece_ * shape::columns + i * chunk;
      if (begin >= width_of<Result>()) break;
      m_.sync();  // nobody reads what was there
      if constexpr (halves) {
        T* const pairs = mine + m_.lane() / 4 * pitch + m_.lane() % 4 * 2;
        NAPKIN_UNROLL
        for (unsigned r = 0; r < 2; ++r) NAPKIN_UNROLL
        for (unsigned n = 0; n < chunk / 8; ++n) {
          const unsigned c = (i * (chunk / 8) + n) * 2;
          *reinterpret_cast<std::uint32_t*>(pairs + r * 8 * pitch + n * 8) =
              m_.template pack<Type>(sums.at(r, c) * factor[r], sums.at(r, c + 1) * factor[r]);
        }
      } else {
        NAPKIN_UNROLL
        for (unsigned r = 0; r < rows_of_warp; ++r) NAPKIN_UNROLL
        for (unsigned n = 0; n < chunk / 32; ++n)
          mine[r * pitch + n * 32 + m_.lane()] = sums.at(r, i * (chunk / 32) + n) * factor[r];
      }
      m_.sync();
      store_rows<Result, shape::rows, chunk, pitch>(m_, a_, to + begin * a_.walk<Result>().width, staged,
                                                    first_, own_count(), width_of<Result>() - begin);
    }
  }
};

/// The thread of a kernel, of the blocks along the widths of all it gives.
template <class Machine, dtype Type, attention_kernel Kernel>
NAPKIN_DEVICE void run_general_attention(Machine& machine, const attention_arguments& a, std::byte* shared,
                                         unsigned head, unsigned number, unsigned piece) {
  using enum attention_tensor;
  if constexpr (Kernel == attention_kernel::forward) {
    general_attention_thread<Machine, Type, output>(machine, a, shared).run(head, number, piece);
  } else if constexpr (Kernel == attention_kernel::query_adjoint) {
    general_attention_thread<Machine, Type, d_query>(machine, a, shared).run(head, number, piece);
  } else {
    const unsigned of_keys = a.at<d_key>() != nullptr ? pieces_of(a.hidden) : 0;
    if (piece < of_keys)
      general_attention_thread<Machine, Type, d_key>(machine, a, shared).run(head, number, piece);
    else
      general_attention_thread<Machine, Type, d_value>(machine, a, shared).run(head, number, piece - of_keys);
  }
}

}  // namespace napkin::on_cuda::detail
