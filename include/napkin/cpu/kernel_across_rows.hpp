// A fused kernel on the CPU whose lanes lie across its rows: lane_count rows side by side, one element of each
// after another. For rows that are shorter than the lanes along one (cpu/kernel.hpp), or whose elements lie apart
// where those of neighbouring rows lie together, as the classes of a softmax or the windows of a pool. The bits
// are the same: an element is combined into the lane of its row that it would have stood in, and a row's lanes
// are joined in the same tree.
#pragma once

#include "napkin/cpu/kernel.hpp"
#include "napkin/cpu/rows_at_once.hpp"

namespace napkin::on_cpu {

namespace detail {

/// What rows have come to, by the lane that each would have along itself.
template <class R>
struct row_accumulators {
  lanes<R> partial[lane_count];
  lanes<R> result;
};

/// Positions of a row whose values are kept, where a later phase loads them again: of rows that lie apart one
/// takes as long as sixteen of a row.
inline constexpr std::size_t most_kept = 32;
template <class R>
struct kept_values {
  lanes<R> at[most_kept];
};
/// The load of the same elements in an earlier phase; -1: there is none, or the kernel writes there.
template <class Facts, std::size_t J>
inline constexpr int load_before = [] {
  const passes::kernel_step& s = Facts::steps[J];
  if (s.what != action::load || s.at != place::element || s.along == pace::scratch) return -1;
  int found = -1;
  for (int i = 0; i < static_cast<int>(Facts::count); ++i) {
    const passes::kernel_step& other = Facts::steps[static_cast<std::size_t>(i)];
    if (!walks_memory(other) || other.a != s.a) continue;
    if (other.what == action::store) return -1;
    if (found < 0 && other.at == place::element && other.type == s.type && int{other.phase} < int{s.phase})
      found = i;
  }
  return found;
}();
template <class Facts, std::size_t J>
constexpr bool find_loaded_again() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return ((load_before<Facts, I> == static_cast<int>(J)) || ...);
  }
  (std::make_index_sequence<Facts::count>{});
}
template <class Facts, std::size_t J>
inline constexpr bool is_loaded_again = find_loaded_again<Facts, J>();

template <class Facts, std::size_t J>
constexpr auto kept_across_type() {
  using S = step<Facts::codes[J]>;
  using R = register_type<S::type>;
  if constexpr (S::what == action::reduce_column)
    return std::type_identity<R*>{};
  else if constexpr (S::what == action::reduce_row)
    return std::type_identity<row_accumulators<R>>{};
  else if constexpr (S::what == action::constant)
    return std::type_identity<R>{};
  else if constexpr (is_loaded_again<Facts, J>)
    return std::type_identity<kept_values<R>>{};
  else if constexpr (S::at == place::row && S::what != action::store)
    return std::type_identity<lanes<R>>{};
  else
    return std::type_identity<nothing>{};
}
template <class Facts, std::size_t J>
using kept_across = typename decltype(kept_across_type<Facts, J>())::type;
template <class S>
using element_across = std::conditional_t<has_lanes(S::value), lanes<register_type<S::type>>, nothing>;

/// How rows side by side lie in memory: an element of each behind that of the row before; all at one place,
/// as none that is stored; or anyhow.
enum class neighbours : std::uint8_t { adjacent, same, apart };
/// Where an access stands.
template <std::size_t A>
struct row_cursor {
  std::byte* next_row;               // the first element of the first row that has not begun
  std::byte* row_begin[lane_count];  // the rows' first elements; only the first row's, unless they lie apart
  std::ptrdiff_t element_at;         // bytes from there to the one that is computed
  std::ptrdiff_t element_by;         // and from that to the next along the row's last axis
  neighbours lie;
};

template <class Watch, class Program, class Numbers, class Accesses>
struct machine_across_rows;

template <class Watch, step_code... Codes, std::size_t... I, std::size_t... A>
struct machine_across_rows<Watch, program<Codes...>, std::index_sequence<I...>, std::index_sequence<A...>>
    : cell<I, kept_across<program_facts<Codes...>, I>>..., row_cursor<A>... {
  using facts = program_facts<Codes...>;
  template <int J>
  using step_at = step<facts::codes[J]>;
  template <class S>
  using R_of = register_type<S::type>;
  template <std::size_t J>
  NAPKIN_INLINE auto& keeps() {
    return static_cast<cell<J, kept_across<facts, J>>&>(*this).value;
  }
  /// The values at one position of each row.
  struct positions : cell<I, element_across<step<Codes>>>... {
    template <std::size_t J>
    NAPKIN_INLINE auto& at() {
      return static_cast<cell<J, element_across<step_at<J>>>&>(*this).value;
    }
  };

  const kernel_arguments& k;
  std::size_t block;
  std::size_t outer_index[max_rank]{};  // of the first row that has not begun
  std::size_t inner_index[max_rank]{};
  std::byte* scratch_rows = nullptr;
  std::size_t rows = 0;      // lanes in use: the others read what the last of them does, and store nothing
  std::size_t position = 0;  // in the row
  std::size_t lane = 0;      // in which the position would stand along the row
  std::size_t length;        // of the row's last axis
  std::size_t lanes_used;    // by its positions

  NAPKIN_INLINE machine_across_rows(const kernel_arguments& arguments, std::size_t this_block)
      : k(arguments),
        block(this_block),
        length(k.inner_rank == 0 ? 1 : k.inner[k.inner_rank - 1]),
        lanes_used(length < lane_count ? length : lane_count) {}

  template <int J>
  NAPKIN_INLINE auto operand(positions& values, std::size_t l) {
    using S = step_at<J>;
    if constexpr (has_lanes(S::value))
      return values.template at<static_cast<std::size_t>(J)>().v[l];
    else if constexpr (S::what == action::constant)
      return keeps<static_cast<std::size_t>(J)>();
    else if constexpr (S::what == action::reduce_row)
      return keeps<static_cast<std::size_t>(J)>().result.v[l];
    else
      return keeps<static_cast<std::size_t>(J)>().v[l];
  }

  // ---- memory: rows' first elements, or those at the position

  template <class S>
  NAPKIN_INLINE void load(std::ptrdiff_t offset, lanes<R_of<S>>& to) {
    using T = type_of<S::type>;
    const row_cursor<S::a>& from = *this;
    if (from.lie == neighbours::adjacent) {
      Watch::reads(from.row_begin[0] + offset, sizeof(T) * lane_count);
      return load_lanes<S::type>(from.row_begin[0] + offset, to.v);
    }
    const auto load_one = [offset](const std::byte* row) {
      T x;
      Watch::reads(row + offset, sizeof x);
      std::memcpy(static_cast<void*>(&x), row + offset, sizeof x);
      return loaded<S::type>(x);
    };
    if (from.lie == neighbours::same) {
      const R_of<S> x = load_one(from.row_begin[0]);
      NAPKIN_LANES(l, lanes_of_vector<R_of<S>>) to.v[l] = x;
    } else {
      NAPKIN_LANES(l, lane_count) to.v[l] = load_one(from.row_begin[l]);
    }
  }
  template <class S>
  NAPKIN_INLINE void store(std::ptrdiff_t offset, positions& values) {
    using T = type_of<S::type>;
    const row_cursor<S::a>& to = *this;
    lanes<R_of<S>> all;
    NAPKIN_LANES(l, lane_count) all.v[l] = operand<S::b>(values, l);
    if (to.lie == neighbours::adjacent) {
      Watch::writes(to.row_begin[0] + offset, sizeof(T) * lane_count);
      return store_lanes<S::type>(all.v, to.row_begin[0] + offset);
    }
    for (std::size_t l = 0; l < rows; ++l) {
      const T x = stored<S::type>(all.v[l]);
      Watch::writes(to.row_begin[l] + offset, sizeof x);
      std::memcpy(to.row_begin[l] + offset, static_cast<const void*>(&x), sizeof x);
    }
  }
  /// Scratch holds all lanes of a position behind one another.
  template <class S>
  NAPKIN_INLINE std::byte* scratch() {
    return scratch_rows + k.slots[S::a] + position * lane_count * sizeof(type_of<S::type>);
  }

  template <class S>
  NAPKIN_INLINE void compute(positions& values, lanes<R_of<S>>& to) {
    NAPKIN_LANES(l, (lanes_of_step<facts, S>)) {
      if constexpr (S::c >= 0)
        to.v[l] = evaluate<S::kind, S::type>(operand<S::a>(values, l), operand<S::b>(values, l),
                                             operand<S::c>(values, l));
      else if constexpr (S::b >= 0)
        to.v[l] = evaluate<S::kind, S::type>(operand<S::a>(values, l), operand<S::b>(values, l));
      else
        to.v[l] = evaluate<S::kind, S::type>(operand<S::a>(values, l));
    }
  }

  // ---- row steps: once for all rows side by side

  template <std::size_t J, int Phase>
  NAPKIN_INLINE void row_step(positions& none) {
    using S = step_at<J>;
    if constexpr (S::phase == Phase && S::at == place::row) {
      if constexpr (S::what == action::load)
        load<S>(0, keeps<J>());
      else if constexpr (S::what == action::compute)
        compute<S>(none, keeps<J>());
      else if constexpr (S::what == action::store)
        store<S>(0, none);
      else if constexpr (S::what == action::reduce_row)
        for (std::size_t i = 0; i < lanes_used; ++i)
          for (R_of<S>& x : keeps<J>().partial[i].v) x = identity_of<S::kind, S::type>();
    }
  }
  /// Lanes that no position stands in hold what changes nothing that it is combined with: they are left out.
  template <std::size_t J, int Phase>
  NAPKIN_INLINE void finish_step() {
    using S = step_at<J>;
    if constexpr (S::phase == Phase && S::what == action::reduce_row) {
      auto& all = keeps<J>();
      for (std::size_t half = lane_count / 2; half > 0; half /= 2)
        for (std::size_t i = 0; i < half && i + half < lanes_used; ++i) {
          auto &sum = all.partial[i].v, &other = all.partial[i + half].v;
          NAPKIN_LANES(l, lanes_of_vector<R_of<S>>) sum[l] = combined<S::kind, S::type>(sum[l], other[l]);
        }
      NAPKIN_LANES(l, lanes_of_vector<R_of<S>>) all.result.v[l] = rounded<S::type>(all.partial[0].v[l]);
    }
  }

  // ---- element steps: at the position

  template <std::size_t J, int Phase>
  NAPKIN_INLINE void element_step(positions& values) {
    using S = step_at<J>;
    if constexpr (S::phase != Phase) {
      return;
    } else if constexpr (S::what == action::reduce_row) {
      auto& sum = keeps<J>().partial[lane].v;
      NAPKIN_LANES(l, (lanes_of_step<facts, S>)) {
        sum[l] = combined<S::kind, S::type>(sum[l], operand<S::a>(values, l));
      }
    } else if constexpr (S::what == action::reduce_column) {
      R_of<S>* const to = keeps<J>() + position;
      R_of<S> sum = *to;
      for (std::size_t l = 0; l < rows; ++l) sum = combined<S::kind, S::type>(sum, operand<S::a>(values, l));
      *to = sum;
    } else if constexpr (S::at == place::row) {
      return;
    } else if constexpr (S::what == action::load) {
      auto& to = values.template at<J>();
      if constexpr (S::along == pace::scratch) return load_lanes<S::type>(scratch<S>(), to.v);
      [[maybe_unused]] const bool keeps_values = k.row_length <= most_kept;
      if constexpr (constexpr int before = load_before<facts, J>; before >= 0)
        if (keeps_values) {
          to = keeps<static_cast<std::size_t>(before)>().at[position];
          return;
        }
      if constexpr (S::along != pace::scratch) load<S>(static_cast<row_cursor<S::a>&>(*this).element_at, to);
      if constexpr (is_loaded_again<facts, J>)
        if (keeps_values) keeps<J>().at[position] = to;
    } else if constexpr (S::what == action::iota) {
      const auto axis = static_cast<std::size_t>(S::a) - k.outer_rank;
      const auto x = rounded<S::type>(static_cast<position_of<S>>(inner_index[axis]));
      NAPKIN_LANES(l, lanes_of_vector<R_of<S>>) values.template at<J>().v[l] = x;
    } else if constexpr (S::what == action::compute) {
      compute<S>(values, values.template at<J>());
    } else if constexpr (S::what == action::store) {
      if constexpr (S::along == pace::scratch)
        store_lanes<S::type>(values.template at<static_cast<std::size_t>(S::b)>().v, scratch<S>());
      else
        store<S>(static_cast<row_cursor<S::a>&>(*this).element_at, values);
    }
  }

  template <int Phase>
  NAPKIN_INLINE void phase() {
    positions values;
    (row_step<I, Phase>(values), ...);
    if constexpr (has_elements<facts, Phase>) {
      for (std::size_t d = 0; d < k.inner_rank; ++d) inner_index[d] = 0;
      ((row_cursor<A>::element_at = 0), ...);
      for (position = 0; position < k.row_length;) {
        for (std::size_t i = 0; i < length; ++i, ++position) {
          lane = i % lane_count;
          if (k.inner_rank > 0) inner_index[k.inner_rank - 1] = i;
          (element_step<I, Phase>(values), ...);
          ((row_cursor<A>::element_at += row_cursor<A>::element_by), ...);
        }
        next_segment();
      }
      (finish_step<I, Phase>(), ...);
    }
  }
  NAPKIN_INLINE void next_segment() {
    const auto back = static_cast<std::ptrdiff_t>(length);
    ((row_cursor<A>::element_at -= back * row_cursor<A>::element_by), ...);
    for (std::size_t d = k.inner_rank == 0 ? 0 : k.inner_rank - 1; d-- > 0;) {
      ((row_cursor<A>::element_at += k.memory[A].inner[d] * bytes_of_access<facts, A>), ...);
      if (++inner_index[d] < k.inner[d]) break;
      const auto size = static_cast<std::ptrdiff_t>(k.inner[d]);
      ((row_cursor<A>::element_at -= size * k.memory[A].inner[d] * bytes_of_access<facts, A>), ...);
      inner_index[d] = 0;
    }
  }

  // ---- a block: some rows

  template <std::size_t J>
  NAPKIN_INLINE void begin_block() {
    using S = step_at<J>;
    if constexpr (S::what == action::reduce_column)
      keeps<J>() = begin_column<S>(k, block);
    else if constexpr (S::what == action::constant)
      keeps<J>() = rounded<S::type>(k.constants[S::a]);
  }
  NAPKIN_INLINE void first_row(std::size_t row) {
    const std::size_t last = k.inner_rank == 0 ? 0 : k.inner_rank - 1;  // no stride where there is no axis
    ((row_cursor<A>::element_by = k.memory[A].inner[last] * bytes_of_access<facts, A>), ...);
    ((row_cursor<A>::next_row = k.memory[A].data), ...);
    for (std::size_t d = k.outer_rank; d-- > 0;) {
      outer_index[d] = row % k.outer[d];
      row /= k.outer[d];
      const auto at = static_cast<std::ptrdiff_t>(outer_index[d]);
      ((row_cursor<A>::next_row += at * k.memory[A].outer[d] * bytes_of_access<facts, A>), ...);
    }
  }
  /// To the row after `count` of one run along the last axis.
  NAPKIN_INLINE void advance(std::size_t count) {
    for (std::size_t d = k.outer_rank; d-- > 0; count = 1) {
      const auto by = static_cast<std::ptrdiff_t>(count), size = static_cast<std::ptrdiff_t>(k.outer[d]);
      ((row_cursor<A>::next_row += by * k.memory[A].outer[d] * bytes_of_access<facts, A>), ...);
      if ((outer_index[d] += count) < k.outer[d]) break;
      ((row_cursor<A>::next_row -= size * k.memory[A].outer[d] * bytes_of_access<facts, A>), ...);
      outer_index[d] = 0;
    }
  }
  template <std::size_t J>
  NAPKIN_INLINE void count_rows() {
    using S = step_at<J>;
    if constexpr (S::at == place::row && S::what == action::iota) {
      const std::size_t by = static_cast<std::size_t>(S::a) + 1 == k.outer_rank ? 1 : 0;
      for (std::size_t l = rows; l < lane_count; ++l)
        keeps<J>().v[l] = rounded<S::type>(outer_index[S::a] + (l - rows) * by);
    }
  }
  /// The next `count` rows: runs along the last outer axis.
  NAPKIN_INLINE void begin_rows(std::size_t count) {
    const std::size_t run = k.outer[k.outer_rank - 1], &at = outer_index[k.outer_rank - 1];
    (find_neighbours<A>(run - at >= count, count), ...);
    rows = 0;
    for (std::size_t end; rows < count; rows = end) {
      end = rows + (run - at < count - rows ? run - at : count - rows);
      (place_rows<A>(end), ...);
      (count_rows<I>(), ...);
      advance(end - rows);
    }
    (repeat_last_row<A>(), ...);
  }
  template <std::size_t Access>
  NAPKIN_INLINE std::ptrdiff_t stride_of_rows() {
    return k.memory[Access].outer[k.outer_rank - 1];
  }
  template <std::size_t Access>
  NAPKIN_INLINE void find_neighbours(bool is_one_run, std::size_t count) {
    row_cursor<Access>& c = *this;
    const std::ptrdiff_t by = stride_of_rows<Access>();
    c.lie = is_one_run && count == lane_count && by == 1 ? neighbours::adjacent
            : is_one_run && by == 0                      ? neighbours::same
                                                         : neighbours::apart;
  }
  template <std::size_t Access>
  NAPKIN_INLINE void place_rows(std::size_t end) {
    row_cursor<Access>& c = *this;
    if (c.lie != neighbours::apart) {
      c.row_begin[0] = c.next_row;
      return;
    }
    const std::ptrdiff_t by = stride_of_rows<Access>() * bytes_of_access<facts, Access>;
    for (std::size_t l = rows; l < end; ++l)
      c.row_begin[l] = c.next_row + static_cast<std::ptrdiff_t>(l - rows) * by;
  }
  template <std::size_t Access>
  NAPKIN_INLINE void repeat_last_row() {
    row_cursor<Access>& c = *this;
    if (c.lie == neighbours::apart)
      for (std::size_t l = rows; l < lane_count; ++l) c.row_begin[l] = c.row_begin[rows - 1];
  }
  template <int... Phase>
  NAPKIN_INLINE void run(std::size_t first, std::size_t end, std::integer_sequence<int, Phase...>) {
    (begin_block<I>(), ...);
    if (first >= end) return;
    constexpr bool has_scratch = ((step<Codes>::along == pace::scratch) || ...);
    alignas(64) std::byte own[has_scratch ? most_scratch_across_rows : 1];
    scratch_rows = own;
    first_row(first);
    for (std::size_t row = first; row < end; row += rows) {
      begin_rows(end - row < lane_count ? end - row : lane_count);
      (phase<Phase>(), ...);
    }
  }
};

}  // namespace detail
}  // namespace napkin::on_cpu
