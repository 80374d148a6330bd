// A fused kernel on the CPU: one function template over a flat program of steps. Values along a row live in
// lanes, which the compiler keeps in vector registers; values of a row are scalars. Reductions accumulate
// lane by lane and join the lanes in a fixed tree, so that the bits of a result depend on shapes alone: not
// on fusion, nor on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "napkin/cpu/kernel_arguments.hpp"
#include "napkin/cpu/scalar.hpp"
#include "napkin/plan/program.hpp"

namespace napkin::on_cpu {

/// What a kernel tells of itself: each block, and the memory of tensors that it touches (scratch rows and
/// partial sums are none). This one is told nothing; tests/bytes marks each element, so that what a plan says
/// of its bytes is held against what is done.
template <class Plan>
struct unwatched {
  static constexpr void begins(const kernel_arguments&) {}
  static constexpr void reads(const std::byte*, std::size_t) {}
  static constexpr void writes(const std::byte*, std::size_t) {}
  static constexpr void ends(const kernel_arguments&) {}
};
/// In the place of a watch: kernels are not compiled, but interpreted (cpu/interpret_kernel.hpp).
template <class Plan>
struct interpreted;
#ifndef NAPKIN_WATCH
#ifdef NAPKIN_INTERPRET
#define NAPKIN_WATCH ::napkin::on_cpu::interpreted
#else
#define NAPKIN_WATCH ::napkin::on_cpu::unwatched
#endif
#endif

namespace detail {

using namespace planning::detail;

template <class R>
struct lanes {
  alignas(64) R v[lane_count];
};

// What a step keeps from one segment of a row to the next.
struct nothing {};
struct place_in_memory {
  std::byte* at;      // of the segment's first element
  std::ptrdiff_t by;  // bytes from one element to the next
};
// Positions along an axis: 32 bits where values have no more, since 64-bit arithmetic in lanes is slow.
template <class S>
using position_of = std::conditional_t<sizeof(register_type<S::type>) == 8, std::int64_t, std::int32_t>;
template <class S>
struct coordinate {
  position_of<S> start, by;
};
template <class R>
struct accumulator {
  lanes<R> partial;
  R result;
};
template <class R>
struct folded_accumulator : accumulator<R> {
  lanes<R> total, lost;
};
template <class S>
inline constexpr bool folds = false;
template <class S>
requires(S::what == action::reduce_row) inline constexpr bool folds<S> = is_folded<S::kind, S::type>;
template <class R>
struct column {
  R* begin;
  std::size_t segment;
};

template <class S>
constexpr auto kept_type() {
  using R = register_type<S::type>;
  if constexpr (S::what == action::reduce_column)
    return std::type_identity<column<R>>{};
  else if constexpr (folds<S>)
    return std::type_identity<folded_accumulator<R>>{};
  else if constexpr (S::what == action::reduce_row)
    return std::type_identity<accumulator<R>>{};
  else if constexpr (S::at == place::element && moves_data(S::value))
    return std::type_identity<place_in_memory>{};
  else if constexpr (S::at == place::element && S::what == action::iota)
    return std::type_identity<coordinate<S>>{};
  else if constexpr (S::at == place::element || S::what == action::store)
    return std::type_identity<nothing>{};
  else
    return std::type_identity<R>{};
}
template <class S>
using kept = typename decltype(kept_type<S>())::type;
template <class S>
using in_lanes = std::conditional_t<
    has_lanes(S::value), lanes<register_type<S::type>>,
    std::conditional_t<S::what == action::reduce_row, lanes<register_type<S::type>>, nothing>>;

template <std::size_t I, class V>
struct cell {
  V value;
};
/// Where an access stands: at the first element of the row, and of the segment.
template <std::size_t A>
struct cursor {
  std::byte *row_begin, *segment_begin;
};

using all_lanes = std::integral_constant<std::size_t, lane_count>;

/// n < lane_count elements; known sizes make moves of what would be a call.
template <std::size_t Bytes>
NAPKIN_INLINE void copy_some(std::byte* to, const std::byte* from, std::size_t n) {
  for (std::size_t run = lane_count / 2; run > 0; run /= 2)
    if ((n & run) != 0) {
      std::memcpy(to, from, run * Bytes);
      to += run * Bytes;
      from += run * Bytes;
    }
}

/// Bytes of an element of access A.
template <class Facts, std::size_t A>
inline constexpr std::ptrdiff_t bytes_of_access = [] {
  std::size_t size = 0;
  for (const passes::kernel_step& s : Facts::steps)
    if (walks_memory(s) && s.a == static_cast<int>(A)) size = size_of(s.type);
  return static_cast<std::ptrdiff_t>(size);
}();
/// Does a phase walk the elements of its rows?
template <class Facts, int Phase>
inline constexpr bool has_elements = [] {
  for (const passes::kernel_step& s : Facts::steps)
    if (s.phase == Phase && walks_elements(s)) return true;
  return false;
}();
/// Lanes of step S that are one loop.
template <class Facts, class S>
constexpr std::size_t find_lanes_of_step() {
  constexpr auto& steps = Facts::steps;
  if constexpr (S::what == action::compute && S::c >= 0)
    return lanes_together<S::type, steps[S::a].type, steps[S::b].type, steps[S::c].type>;
  else if constexpr (S::what == action::compute && S::b >= 0)
    return lanes_together<S::type, steps[S::a].type, steps[S::b].type>;
  else if constexpr (S::what == action::iota)
    return lanes_together<S::type>;
  else
    return lanes_together<S::type, steps[S::a].type>;
}
template <class Facts, class S>
inline constexpr std::size_t lanes_of_step = find_lanes_of_step<Facts, S>();

/// A block's partial sums of a column, with nothing added yet.
template <class S>
NAPKIN_INLINE register_type<S::type>* begin_column(const kernel_arguments& k, std::size_t block) {
  std::byte* const partials = k.partials + block * k.partials_per_block;
  auto* const begin = reinterpret_cast<register_type<S::type>*>(partials + k.columns[S::b]);
  for (std::size_t i = 0; i < k.row_length; ++i) begin[i] = identity_of<S::kind, S::type>();
  return begin;
}

template <class Watch, class Program, class Numbers, class Accesses>
struct machine;

/// Everything here is inlined into one function whose locals are the cells.
template <class Watch, step_code... Codes, std::size_t... I, std::size_t... A>
struct machine<Watch, program<Codes...>, std::index_sequence<I...>, std::index_sequence<A...>>
    : cell<I, kept<step<Codes>>>..., cursor<A>... {
  using facts = program_facts<Codes...>;
  template <int J>
  using step_at = step<facts::codes[J]>;
  template <std::size_t J>
  NAPKIN_INLINE auto& keeps() {
    return static_cast<cell<J, kept<step_at<J>>>&>(*this).value;
  }
  /// The values at up to lane_count positions of a row.
  struct positions : cell<I, in_lanes<step<Codes>>>... {
    template <std::size_t J>
    NAPKIN_INLINE auto& at() {
      return static_cast<cell<J, in_lanes<step_at<J>>>&>(*this).value;
    }
  };

  template <int Phase>
  static constexpr bool folds_in = ((folds<step<Codes>> && step<Codes>::phase == Phase) || ...);

  const kernel_arguments& k;
  std::size_t block;
  std::size_t outer_index[max_rank];

  NAPKIN_INLINE machine(const kernel_arguments& arguments, std::size_t this_block)
      : k(arguments), block(this_block) {}

  template <int J>
  NAPKIN_INLINE auto operand(positions& values, std::size_t l) {
    using S = step_at<J>;
    if constexpr (has_lanes(S::value))
      return values.template at<static_cast<std::size_t>(J)>().v[l];
    else
      return row_operand<J>();
  }
  template <int J>
  NAPKIN_INLINE auto row_operand() {
    if constexpr (step_at<J>::what == action::reduce_row)
      return keeps<static_cast<std::size_t>(J)>().result;
    else
      return keeps<static_cast<std::size_t>(J)>();
  }

  // ---- row steps: once a row

  template <std::size_t J, int Phase>
  NAPKIN_INLINE void row_step() {
    using S = step_at<J>;
    if constexpr (S::phase == Phase && S::at == place::row) {
      using T = type_of<S::type>;
      if constexpr (S::what == action::load) {
        T x;
        Watch::reads(cursor<S::a>::row_begin, sizeof x);
        std::memcpy(static_cast<void*>(&x), cursor<S::a>::row_begin, sizeof x);
        keeps<J>() = loaded<S::type>(x);
      } else if constexpr (S::what == action::iota) {
        keeps<J>() = rounded<S::type>(outer_index[S::a]);
      } else if constexpr (S::what == action::compute) {
        if constexpr (S::c >= 0)
          keeps<J>() =
              evaluate<S::kind, S::type>(row_operand<S::a>(), row_operand<S::b>(), row_operand<S::c>());
        else if constexpr (S::b >= 0)
          keeps<J>() = evaluate<S::kind, S::type>(row_operand<S::a>(), row_operand<S::b>());
        else
          keeps<J>() = evaluate<S::kind, S::type>(row_operand<S::a>());
      } else if constexpr (S::what == action::store) {
        const T x = stored<S::type>(row_operand<S::b>());
        Watch::writes(cursor<S::a>::row_begin, sizeof x);
        std::memcpy(cursor<S::a>::row_begin, static_cast<const void*>(&x), sizeof x);
      } else if constexpr (S::what == action::reduce_row) {
        for (R_of<S>& x : keeps<J>().partial.v) x = identity_of<S::kind, S::type>();
        if constexpr (folds<S>) keeps<J>().total = keeps<J>().lost = {};
      }
    }
  }
  template <class S>
  using R_of = register_type<S::type>;

  template <std::size_t J, int Phase>
  NAPKIN_INLINE void finish_step() {
    using S = step_at<J>;
    if constexpr (S::phase == Phase && S::what == action::reduce_row) {
      auto& row = keeps<J>();
      if constexpr (folds<S>)
        if (k.row_length > most_unfolded) {
          fold(row.partial.v, row.total.v, row.lost.v);
          unfold(row.total.v, row.lost.v, row.partial.v);
        }
      row.result = joined<S::kind, S::type>(row.partial.v);
    }
  }
  template <std::size_t J, int Phase>
  NAPKIN_INLINE void fold_step(positions& values) {
    using S = step_at<J>;
    if constexpr (S::phase == Phase && folds<S>)
      fold(values.template at<J>().v, keeps<J>().total.v, keeps<J>().lost.v);
  }

  // ---- element steps: at n <= lane_count positions, the first of them position i of the segment

  template <std::size_t J, int Phase, class Count>
  NAPKIN_INLINE void element_step(positions& values, std::size_t i, Count n) {
    using S = step_at<J>;
    using T = type_of<S::type>;
    constexpr bool full = std::is_same_v<Count, all_lanes>;
    if constexpr (S::phase != Phase) {
      return;
    } else if constexpr (S::what == action::reduce_row) {
      auto& partial = values.template at<J>();
      NAPKIN_LANES(l, (lanes_of_step<facts, S>)) {
        const R_of<S> sum = combined<S::kind, S::type>(partial.v[l], operand<S::a>(values, l));
        partial.v[l] = full || l < n ? sum : partial.v[l];
      }
    } else if constexpr (S::what == action::reduce_column) {
      R_of<S>* to = keeps<J>().begin + keeps<J>().segment + i;
      if constexpr (full) {
        NAPKIN_LANES(l, (lanes_of_step<facts, S>))
        to[l] = combined<S::kind, S::type>(to[l], operand<S::a>(values, l));
      } else {
        for (std::size_t l = 0; l < n; ++l)
          to[l] = combined<S::kind, S::type>(to[l], operand<S::a>(values, l));
      }
    } else if constexpr (S::at == place::row) {
      return;
    } else if constexpr (S::what == action::load) {
      auto& to = values.template at<J>();
      const place_in_memory from = keeps<J>();
      if constexpr (S::along != pace::strided) {
        const std::byte* const at = from.at + i * sizeof(T);
        if constexpr (S::along != pace::scratch) Watch::reads(at, n * sizeof(T));
        if constexpr (full) return load_lanes<S::type>(at, to.v);
      }
      alignas(64) std::byte x[lane_count * sizeof(T)]{};
      if constexpr (S::along == pace::strided) {
        const std::byte* at = from.at + static_cast<std::ptrdiff_t>(i) * from.by;
        for (std::size_t l = 0; l < n; ++l, at += from.by) {
          Watch::reads(at, sizeof(T));
          std::memcpy(x + l * sizeof(T), at, sizeof(T));
        }
      } else {
        copy_some<sizeof(T)>(x, from.at + i * sizeof(T), n);
      }
      load_lanes<S::type>(x, to.v);
    } else if constexpr (S::what == action::iota) {
      auto& to = values.template at<J>();
      const auto c = keeps<J>();
      NAPKIN_LANES(l, (lanes_of_step<facts, S>))
      to.v[l] = rounded<S::type>(c.start + c.by * static_cast<position_of<S>>(i + l));
    } else if constexpr (S::what == action::compute) {
      auto& to = values.template at<J>();
      NAPKIN_LANES(l, (lanes_of_step<facts, S>)) {
        if constexpr (S::c >= 0)
          to.v[l] = evaluate<S::kind, S::type>(operand<S::a>(values, l), operand<S::b>(values, l),
                                               operand<S::c>(values, l));
        else if constexpr (S::b >= 0)
          to.v[l] = evaluate<S::kind, S::type>(operand<S::a>(values, l), operand<S::b>(values, l));
        else
          to.v[l] = evaluate<S::kind, S::type>(operand<S::a>(values, l));
      }
    } else if constexpr (S::what == action::store) {
      const place_in_memory to = keeps<J>();
      const auto& values_of = values.template at<static_cast<std::size_t>(S::b)>().v;
      if constexpr (S::along != pace::strided) {
        std::byte* const at = to.at + i * sizeof(T);
        if constexpr (S::along != pace::scratch) Watch::writes(at, n * sizeof(T));
        if constexpr (full) return store_lanes<S::type>(values_of, at);
      }
      alignas(64) std::byte x[lane_count * sizeof(T)];
      store_lanes<S::type>(values_of, x);
      if constexpr (S::along == pace::strided) {
        std::byte* at = to.at + static_cast<std::ptrdiff_t>(i) * to.by;
        for (std::size_t l = 0; l < n; ++l, at += to.by) {
          Watch::writes(at, sizeof(T));
          std::memcpy(at, x + l * sizeof(T), sizeof(T));
        }
      } else {
        copy_some<sizeof(T)>(to.at + i * sizeof(T), x, n);
      }
    }
  }

  // ---- a segment: a row's last axis

  template <std::size_t J, int Phase>
  NAPKIN_INLINE void begin_segment(positions& values, std::size_t start, const std::size_t* inner_index) {
    using S = step_at<J>;
    if constexpr (S::phase == Phase) {
      if constexpr (S::what == action::reduce_row) {
        values.template at<J>() = keeps<J>().partial;
      } else if constexpr (S::what == action::reduce_column) {
        keeps<J>().segment = start;
      } else if constexpr (S::at == place::element && S::what == action::iota) {
        const auto axis = static_cast<std::size_t>(S::a) - k.outer_rank;
        const bool last = axis + 1 == k.inner_rank;
        keeps<J>() = {static_cast<position_of<S>>(last ? 0 : inner_index[axis]), last ? 1 : 0};
      } else if constexpr (S::at == place::element && moves_data(S::value)) {
        constexpr auto bytes = static_cast<std::ptrdiff_t>(size_of(S::type));
        if constexpr (S::along == pace::scratch)
          keeps<J>() = {
              k.scratch + block * k.scratch_per_block + k.slots[S::a] + start * sizeof(type_of<S::type>),
              bytes};
        else
          keeps<J>() = {cursor<S::a>::segment_begin,
                        k.inner_rank == 0 ? 0 : k.memory[S::a].inner[k.inner_rank - 1] * bytes};
      }
    }
  }
  template <std::size_t J, int Phase>
  NAPKIN_INLINE void end_segment(positions& values) {
    using S = step_at<J>;
    if constexpr (S::phase == Phase && S::what == action::reduce_row)
      keeps<J>().partial = values.template at<J>();
  }
  /// unfolded: elements since sums were folded last.
  template <int Phase>
  NAPKIN_INLINE void segment(std::size_t start, const std::size_t* inner_index, std::size_t begin,
                             std::size_t end, std::size_t& unfolded) {
    positions values;
    (begin_segment<I, Phase>(values, start, inner_index), ...);
    std::size_t i = begin;
    if constexpr (folds_in<Phase>) {
      if (unfolded + (end - begin) > most_unfolded) {
        if (unfolded > 0) (fold_step<I, Phase>(values), ...);
        while (end - i > most_unfolded) {
          for (const std::size_t stop = i + most_unfolded; i < stop; i += lane_count)
            (element_step<I, Phase>(values, i, all_lanes{}), ...);
          (fold_step<I, Phase>(values), ...);
        }
        unfolded = 0;
      }
      unfolded += end - i;
    }
    for (; i + lane_count <= end; i += lane_count) (element_step<I, Phase>(values, i, all_lanes{}), ...);
    if (i < end) (element_step<I, Phase>(values, i, end - i), ...);
    (end_segment<I, Phase>(values), ...);
  }

  template <int Phase>
  NAPKIN_INLINE void phase(std::size_t begin, std::size_t end) {
    (row_step<I, Phase>(), ...);
    if constexpr (has_elements<facts, Phase>) {
      std::size_t inner_index[max_rank]{};
      const std::size_t rank = k.inner_rank, length = rank == 0 ? 1 : k.inner[rank - 1];
      std::size_t unfolded = 0;
      ((cursor<A>::segment_begin = cursor<A>::row_begin), ...);
      for (std::size_t start = 0; start < k.row_length;) {
        segment<Phase>(start, inner_index, begin, end, unfolded);
        start += length;
        for (std::size_t d = rank == 0 ? 0 : rank - 1; d-- > 0;) {
          ((cursor<A>::segment_begin += k.memory[A].inner[d] * bytes_of_access<facts, A>), ...);
          if (++inner_index[d] < k.inner[d]) break;
          const auto size = static_cast<std::ptrdiff_t>(k.inner[d]);
          ((cursor<A>::segment_begin -= size * k.memory[A].inner[d] * bytes_of_access<facts, A>), ...);
          inner_index[d] = 0;
        }
      }
      (finish_step<I, Phase>(), ...);
    }
  }

  // ---- a block: some rows

  template <std::size_t J>
  NAPKIN_INLINE void begin_block() {
    using S = step_at<J>;
    if constexpr (S::what == action::reduce_column) {
      keeps<J>().begin = begin_column<S>(k, block);
    } else if constexpr (S::what == action::constant) {
      keeps<J>() = rounded<S::type>(k.constants[S::a]);
    }
  }
  NAPKIN_INLINE void first_row(std::size_t row) {
    ((cursor<A>::row_begin = k.memory[A].data), ...);
    for (std::size_t d = k.outer_rank; d-- > 0;) {
      outer_index[d] = row % k.outer[d];
      row /= k.outer[d];
      const auto at = static_cast<std::ptrdiff_t>(outer_index[d]);
      ((cursor<A>::row_begin += at * k.memory[A].outer[d] * bytes_of_access<facts, A>), ...);
    }
  }
  NAPKIN_INLINE void next_row() {
    for (std::size_t d = k.outer_rank; d-- > 0;) {
      ((cursor<A>::row_begin += k.memory[A].outer[d] * bytes_of_access<facts, A>), ...);
      if (++outer_index[d] < k.outer[d]) break;
      const auto size = static_cast<std::ptrdiff_t>(k.outer[d]);
      ((cursor<A>::row_begin -= size * k.memory[A].outer[d] * bytes_of_access<facts, A>), ...);
      outer_index[d] = 0;
    }
  }
  template <int... Phase>
  NAPKIN_INLINE void run(std::size_t first, std::size_t end, std::integer_sequence<int, Phase...>) {
    (begin_block<I>(), ...);
    if (first >= end) return;
    const std::size_t length = k.inner_rank == 0 ? 1 : k.inner[k.inner_rank - 1];
    std::size_t chunk = first % k.chunks;
    first_row(first / k.chunks);
    for (std::size_t walk = first; walk < end; ++walk) {
      const std::size_t begin = chunk * k.chunk;
      const std::size_t stop = begin + k.chunk < length ? begin + k.chunk : length;
      (phase<Phase>(begin, stop), ...);
      if (++chunk == k.chunks) {
        chunk = 0;
        next_row();
      }
    }
  }
};

}  // namespace detail

/// Run one block of a kernel. Blocks write apart and may run in any order, on any thread.
template <template <class...> class Machine, class Program, class Watch = unwatched<void>>
struct kernel_function;
template <template <class...> class Machine, step_code... Steps, class Watch>
struct kernel_function<Machine, program<Steps...>, Watch> {
  using facts = detail::program_facts<Steps...>;
  static void run(const kernel_arguments& k, std::size_t block) {
    const std::size_t first = block * k.walks_per_block;
    const std::size_t end = first + k.walks_per_block < k.walks ? first + k.walks_per_block : k.walks;
    Machine<Watch, program<Steps...>, std::make_index_sequence<facts::count>,
            std::make_index_sequence<facts::accesses>>
        m(k, block);
    Watch::begins(k);
    m.run(first, end, std::make_integer_sequence<int, facts::phases>{});
    Watch::ends(k);
  }
};

}  // namespace napkin::on_cpu
