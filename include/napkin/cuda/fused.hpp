// A fused kernel on a GPU: what one thread does, as a function template over a program and a geometry. A
// row's values that later phases need stay in registers where they fit; reductions along a row are joined
// across the team in a fixed order, sums over rows are kept by each team and joined by another kernel: no
// atomics, so the bits depend on shapes alone. Compiled for the host as well, where tests run a team's
// threads in turn.
#pragma once

#include <tuple>

#include "napkin/cuda/device_function.hpp"
#include "napkin/cuda/geometry.hpp"
#include "napkin/plan/scalar.hpp"

namespace napkin::on_cuda {

inline constexpr std::size_t at_least_one(std::size_t n) { return n == 0 ? 1 : n; }

/// What a kernel is launched with: addresses and constants; all else is in its type.
template <std::size_t Accesses, std::size_t Constants, std::size_t Slots, std::size_t Columns>
struct fused_arguments {
  std::byte* memory[at_least_one(Accesses)]{};  // of the element at index 0 of every axis
  double constants[at_least_one(Constants)]{};
  std::byte* scratch = nullptr;  // rows that do not fit in registers, for each team
  std::size_t scratch_per_team = 0;
  std::size_t slots[at_least_one(Slots)]{};  // bytes into it
  std::byte* partials = nullptr;             // column sums, for each team
  std::size_t partials_per_team = 0;
  std::size_t columns[at_least_one(Columns)]{};  // bytes into it
};

namespace detail {

using namespace planning::detail;

/// Where element i of the axes lies; i counts in row-major order, which is to say innermost first.
template <std::ptrdiff_t Stride, std::ptrdiff_t... Strides, std::size_t Size, std::size_t... Sizes>
NAPKIN_DEVICE std::ptrdiff_t offset_of(std::size_t i, extents<Size, Sizes...>, strides<Stride, Strides...>) {
  if constexpr (sizeof...(Sizes) == 0)
    return static_cast<std::ptrdiff_t>(i) * Stride;
  else
    return static_cast<std::ptrdiff_t>(i % Size) * Stride +
           offset_of(i / Size, extents<Sizes...>{}, strides<Strides...>{});
}
NAPKIN_DEVICE std::ptrdiff_t offset_of(std::size_t, extents<>, strides<>) { return 0; }

/// Coordinate number Axis, counted from the innermost.
template <int Axis, std::size_t Size, std::size_t... Sizes>
NAPKIN_DEVICE std::size_t coordinate_of(std::size_t i, extents<Size, Sizes...>) {
  if constexpr (Axis > 0)
    return coordinate_of<Axis - 1>(i / Size, extents<Sizes...>{});
  else if constexpr (sizeof...(Sizes) == 0)
    return i;
  else
    return i % Size;
}

/// Adjacent elements as they are moved: at most 16 bytes at a time.
template <class T, unsigned Count>
struct alignas(sizeof(T) * Count) packed {
  T x[Count];
};
template <class T, unsigned Vector>
inline constexpr unsigned at_once = Vector * sizeof(T) <= 16 ? Vector : static_cast<unsigned>(16 / sizeof(T));

template <class R, unsigned Count>
struct several {
  R v[Count];
};
template <class R>
struct one {
  R v{};
};
struct none {};

/// What a thread keeps of a step while it walks a row: of a reduction its part, or the value of the row.
template <class S, unsigned Vector>
constexpr auto row_cell() {
  using R = register_type<S::type>;
  if constexpr (S::what == action::reduce_row)
    return std::type_identity<several<R, Vector>>{};
  else if constexpr (S::at == place::row && S::what != action::store && S::what != action::reduce_column)
    return std::type_identity<one<R>>{};
  else
    return std::type_identity<none>{};
}
/// What a thread keeps for a step at every position of a row: a value for a later phase, or a column's sums.
/// Of a value that is stored in scratch, the step that stores it keeps it.
template <class S, class Dealt>
constexpr auto kept_cell() {
  using R = register_type<S::type>;
  constexpr bool scratch = S::what == action::store && S::along == pace::scratch;
  if constexpr (Dealt::kept && (scratch || S::what == action::reduce_column))
    return std::type_identity<several<R, Dealt::groups * Dealt::vector>>{};
  else
    return std::type_identity<none>{};
}
template <class S, unsigned Vector>
constexpr auto value_cell() {
  if constexpr (has_lanes<S>)
    return std::type_identity<several<register_type<S::type>, Vector>>{};
  else
    return std::type_identity<none>{};
}

// Which of a step's three cells: they are bases of one class.
enum class of { row, kept, value };
template <of Kind, std::size_t I, class Cell>
struct cell {
  Cell held;
};

/// Where in a kernel steps have something to do. No function is instantiated for the others.
enum class moment : unsigned char { team_begins, row, element, join, team_ends };

template <class S>
constexpr bool acts_at(moment m, int phase, bool kept) {
  switch (m) {
    case moment::team_begins:
      return S::what == action::constant || S::what == action::reduce_column;
    case moment::team_ends:
      return S::what == action::reduce_column && kept;
    case moment::row:
      return S::phase == phase && S::at == place::row && S::what != action::constant &&
             S::what != action::reduce_column;
    case moment::element:
      return S::phase == phase &&
             (S::at == place::element || S::what == action::reduce_row || S::what == action::reduce_column);
    case moment::join:
      return S::phase == phase && S::what == action::reduce_row;
  }
  return false;
}

/// The numbers of the steps that act then, as an index_sequence.
template <class Program, moment When, int Phase, bool Kept>
struct acting;
template <class... Steps, moment When, int Phase, bool Kept>
struct acting<program<Steps...>, When, Phase, Kept> {
  static constexpr std::size_t count =
      (static_cast<std::size_t>(acts_at<Steps>(When, Phase, Kept)) + ... + 0);
  static constexpr std::array<std::size_t, count> find() {
    std::array<std::size_t, count> numbers{};
    std::size_t step = 0, found = 0;
    ((acts_at<Steps>(When, Phase, Kept) ? void(numbers[found++] = step++) : void(++step)), ...);
    return numbers;
  }
  static constexpr std::array<std::size_t, count> numbers = find();
  template <std::size_t... N>
  static constexpr auto listed(std::index_sequence<N...>) -> std::index_sequence<numbers[N]...>;
  using type = decltype(listed(std::make_index_sequence<count>{}));
};

template <class Program, class Geometry, class Arguments, class Steps>
struct fused_thread;

template <class... Steps, class Dealt, class Outer, class Inner, class... Accesses, class Arguments,
          std::size_t... I>
struct fused_thread<program<Steps...>, geometry<Dealt, Outer, Inner, Accesses...>, Arguments,
                    std::index_sequence<I...>>
    : cell<of::row, I, typename decltype(row_cell<Steps, Dealt::vector>())::type>...,
      cell<of::kept, I, typename decltype(kept_cell<Steps, Dealt>())::type>... {
  static constexpr unsigned team = Dealt::team, vector = Dealt::vector, groups = Dealt::groups;
  static constexpr int phases = phase_count<Steps...>();

  template <std::size_t J>
  using step_at = std::tuple_element_t<J, std::tuple<Steps...>>;
  template <std::size_t A>
  using access_at = std::tuple_element_t<A, std::tuple<Accesses...>>;
  template <class S>
  using R_of = register_type<S::type>;
  template <moment When, int Phase = 0>
  using acting_at = typename acting<program<Steps...>, When, Phase, Dealt::kept>::type;
  template <moment When, int Phase = 0>
  static constexpr bool acts = acting<program<Steps...>, When, Phase, Dealt::kept>::count > 0;

  /// The values of a phase at `vector` adjacent positions.
  struct positions : cell<of::value, I, typename decltype(value_cell<Steps, Dealt::vector>())::type>... {};

  const Arguments& k;
  std::size_t number;                       // of the team
  unsigned lane;                            // within it
  std::size_t row = 0, begin = 0, end = 0;  // positions of the row that this walk takes; none: nothing to do

  NAPKIN_DEVICE fused_thread(const Arguments& arguments, std::size_t team_number, unsigned lane_of_team)
      : k(arguments), number(team_number), lane(lane_of_team) {
    if constexpr (acts<moment::team_begins>) begin_team(acting_at<moment::team_begins>{});
  }

  template <std::size_t J>
  NAPKIN_DEVICE auto& row_of() {
    return static_cast<cell<of::row, J, typename decltype(row_cell<step_at<J>, vector>())::type>&>(*this)
        .held;
  }
  template <std::size_t J>
  NAPKIN_DEVICE auto& kept_of() {
    return static_cast<cell<of::kept, J, typename decltype(kept_cell<step_at<J>, Dealt>())::type>&>(*this)
        .held;
  }
  template <std::size_t J>
  NAPKIN_DEVICE static auto& value_of(positions& values) {
    return static_cast<cell<of::value, J, typename decltype(value_cell<step_at<J>, vector>())::type>&>(values)
        .held;
  }

  // ---- a team

  template <std::size_t... J>
  NAPKIN_DEVICE void begin_team(std::index_sequence<J...>) {
    (begin_team_step<J>(), ...);
  }
  template <std::size_t J>
  NAPKIN_DEVICE void begin_team_step() {
    using S = step_at<J>;
    if constexpr (S::what == action::constant) {
      row_of<J>().v = rounded<S::type>(k.constants[S::a]);
    } else if constexpr (S::what == action::reduce_column && Dealt::kept) {
      NAPKIN_UNROLL for (unsigned i = 0; i < groups * vector; ++i) kept_of<J>().v[i] =
          identity_of<S::kind, S::type>();
    } else if constexpr (S::what == action::reduce_column) {
      for (std::size_t p = lane * vector; p < Dealt::row_length; p += team * vector)
        for (unsigned v = 0; v < vector; ++v) partial<J>()[p + v] = identity_of<S::kind, S::type>();
    }
  }
  template <std::size_t J>
  NAPKIN_DEVICE auto* partial() {
    using S = step_at<J>;
    return reinterpret_cast<R_of<S>*>(k.partials + number * k.partials_per_team + k.columns[S::b]);
  }
  /// After the last walk: a kept column sum goes to memory.
  NAPKIN_DEVICE void end_team() {
    if constexpr (acts<moment::team_ends>)
      if (number < Dealt::teams) end_team(acting_at<moment::team_ends>{});
  }
  template <std::size_t... J>
  NAPKIN_DEVICE void end_team(std::index_sequence<J...>) {
    (end_team_step<J>(), ...);
  }
  template <std::size_t J>
  NAPKIN_DEVICE void end_team_step() {
    NAPKIN_UNROLL for (unsigned g = 0; g < groups; ++g) {
      const std::size_t p = (g * team + lane) * vector;
      if (p < Dealt::row_length)
        NAPKIN_UNROLL for (unsigned v = 0; v < vector; ++v) partial<J>()[p + v] =
            kept_of<J>().v[g * vector + v];
    }
  }

  // ---- a walk: a row, or a chunk of one

  NAPKIN_DEVICE void begin_walk(std::size_t i) {
    const std::size_t walk = number * Dealt::walks_per_team + i;
    const bool there = number < Dealt::teams && walk < Dealt::walks;
    row = there ? walk / Dealt::chunks : 0;
    begin = there ? walk % Dealt::chunks * Dealt::chunk : 0;
    const std::size_t stop =
        begin + Dealt::chunk < Dealt::row_length ? begin + Dealt::chunk : Dealt::row_length;
    end = there ? stop : 0;
    is_there = there;
  }
  bool is_there = false;

  template <std::size_t A, class T>
  NAPKIN_DEVICE T* row_address() const {
    return reinterpret_cast<T*>(k.memory[A]) + offset_of(row, Outer{}, typename access_at<A>::outer{});
  }

  /// Once a row, before the phase's positions.
  template <int Phase>
  NAPKIN_DEVICE void begin_phase() {
    if constexpr (acts<moment::row, Phase>) row_steps(acting_at<moment::row, Phase>{});
  }
  template <std::size_t... J>
  NAPKIN_DEVICE void row_steps(std::index_sequence<J...>) {
    (row_step<J>(), ...);
  }
  template <std::size_t J>
  NAPKIN_DEVICE auto row_operand() {
    using S = step_at<J>;
    if constexpr (S::what == action::reduce_row)
      return row_of<J>().v[0];
    else
      return row_of<J>().v;
  }
  template <std::size_t J>
  NAPKIN_DEVICE void row_step() {
    using S = step_at<J>;
    using T = type_of<S::type>;
    if constexpr (S::what == action::load) {
      if (is_there) row_of<J>().v = loaded<S::type>(*row_address<S::a, const T>());
    } else if constexpr (S::what == action::iota) {
      row_of<J>().v = rounded<S::type>(static_cast<std::int64_t>(outer_coordinate<S::a>()));
    } else if constexpr (S::what == action::compute) {
      if constexpr (S::c >= 0)
        row_of<J>().v =
            evaluate<S::kind, S::type>(row_operand<S::a>(), row_operand<S::b>(), row_operand<S::c>());
      else if constexpr (S::b >= 0)
        row_of<J>().v = evaluate<S::kind, S::type>(row_operand<S::a>(), row_operand<S::b>());
      else
        row_of<J>().v = evaluate<S::kind, S::type>(row_operand<S::a>());
    } else if constexpr (S::what == action::store) {
      if (is_there && lane == 0) *row_address<S::a, T>() = stored<S::type>(row_operand<S::b>());
    } else if constexpr (S::what == action::reduce_row) {
      NAPKIN_UNROLL for (unsigned v = 0; v < vector; ++v) row_of<J>().v[v] = identity_of<S::kind, S::type>();
    }
  }
  template <int Axis>  // outer axes count from the outermost
  NAPKIN_DEVICE std::size_t outer_coordinate() const {
    return coordinate_of<static_cast<int>(rank_of(Outer{})) - 1 - Axis>(row, Outer{});
  }
  template <std::size_t... Size>
  static constexpr std::size_t rank_of(extents<Size...>) {
    return sizeof...(Size);
  }

  // What a phase keeps in registers by group; and elements that it writes, of which the compiler cannot know
  // that no later group reads them.
  template <class S, int Phase>
  static constexpr bool keeps = Dealt::kept&& S::phase == Phase &&
                                (S::what == action::reduce_column ||
                                 (moves_data<S> && S::along == pace::scratch));
  template <class S, int Phase>
  static constexpr bool writes = S::phase == Phase&& S::what == action::store&& S::at == place::element;
  /// All of this thread's positions. Where groups are written one after another, copies of the loop's body
  /// have no more loads in flight than the loop, and take nvcc four times as long.
  template <int Phase>
  NAPKIN_DEVICE void elements() {
    if constexpr (!acts<moment::element, Phase>) {
      return;
    } else if constexpr ((writes<Steps, Phase> || ...) && !(keeps<Steps, Phase> || ...)) {
      NAPKIN_ROLL for (unsigned g = 0; g < groups; ++g) group(g, acting_at<moment::element, Phase>{});
    } else if constexpr (Dealt::kept) {
      NAPKIN_UNROLL for (unsigned g = 0; g < groups; ++g) group(g, acting_at<moment::element, Phase>{});
    } else {
      for (unsigned g = 0; g < groups; ++g) group(g, acting_at<moment::element, Phase>{});
    }
  }
  template <std::size_t... J>
  NAPKIN_DEVICE void group(unsigned g, std::index_sequence<J...>) {
    const std::size_t p = begin + (std::size_t{g} * team + lane) * vector;
    if (p < end) {
      positions values;
      (element_step<J>(values, g, p), ...);
    }
  }
  template <std::size_t J>
  NAPKIN_DEVICE auto operand(positions& values, unsigned v) {
    if constexpr (has_lanes<step_at<J>>)
      return value_of<J>(values).v[v];
    else
      return row_operand<J>();
  }
  /// The store that keeps scratch slot A, as a step's number.
  template <int A>
  static constexpr std::size_t keeper() {
    std::size_t found = 0;
    ((found = Steps::what == action::store && Steps::along == pace::scratch && Steps::a == A ? I : found),
     ...);
    return found;
  }
  template <class S>
  NAPKIN_DEVICE auto* scratch_address(std::size_t p) const {
    using T = type_of<S::type>;
    return reinterpret_cast<T*>(k.scratch + number * k.scratch_per_team + k.slots[S::a]) + p;
  }

  template <std::size_t J>
  NAPKIN_DEVICE void element_step(positions& values, unsigned g, std::size_t p) {
    using S = step_at<J>;
    using T = type_of<S::type>;
    if constexpr (S::what == action::reduce_row) {
      NAPKIN_UNROLL for (unsigned v = 0; v < vector; ++v) row_of<J>().v[v] =
          evaluate<S::kind, S::type>(row_of<J>().v[v], static_cast<R_of<S>>(operand<S::a>(values, v)));
    } else if constexpr (S::what == action::reduce_column) {
      NAPKIN_UNROLL for (unsigned v = 0; v < vector; ++v) {
        const auto x = static_cast<R_of<S>>(operand<S::a>(values, v));
        if constexpr (Dealt::kept)
          kept_of<J>().v[g * vector + v] = evaluate<S::kind, S::type>(kept_of<J>().v[g * vector + v], x);
        else
          partial<J>()[p + v] = evaluate<S::kind, S::type>(partial<J>()[p + v], x);
      }
    } else if constexpr (S::what == action::load && S::along == pace::scratch && Dealt::kept) {
      NAPKIN_UNROLL for (unsigned v = 0; v < vector; ++v) value_of<J>(values).v[v] =
          kept_of<keeper<S::a>()>().v[g * vector + v];
    } else if constexpr (S::what == action::store && S::along == pace::scratch && Dealt::kept) {
      NAPKIN_UNROLL for (unsigned v = 0; v < vector; ++v) kept_of<J>().v[g * vector + v] =
          operand<static_cast<std::size_t>(S::b)>(values, v);
    } else if constexpr (S::what == action::load) {
      const T* from;
      if constexpr (S::along == pace::scratch)
        from = scratch_address<S>(p);
      else
        from = row_address<S::a, const T>() + offset_of(p, Inner{}, typename access_at<S::a>::inner{});
      if constexpr (S::along == pace::strided) {
        NAPKIN_UNROLL for (unsigned v = 0; v < vector; ++v) value_of<J>(values).v[v] =
            loaded<S::type>(from[static_cast<std::ptrdiff_t>(v) * last_stride<S::a>()]);
      } else {
        constexpr unsigned n = at_once<T, vector>;
        NAPKIN_UNROLL for (unsigned v = 0; v < vector; v += n) {
          const auto x = *reinterpret_cast<const packed<T, n>*>(from + v);
          NAPKIN_UNROLL for (unsigned i = 0; i < n; ++i) value_of<J>(values).v[v + i] =
              loaded<S::type>(x.x[i]);
        }
      }
    } else if constexpr (S::what == action::store) {
      T* to;
      if constexpr (S::along == pace::scratch)
        to = scratch_address<S>(p);
      else
        to = row_address<S::a, T>() + offset_of(p, Inner{}, typename access_at<S::a>::inner{});
      if constexpr (S::along == pace::strided) {
        NAPKIN_UNROLL for (unsigned v = 0; v < vector; ++v)
            to[static_cast<std::ptrdiff_t>(v) * last_stride<S::a>()] =
                stored<S::type>(operand<static_cast<std::size_t>(S::b)>(values, v));
      } else {
        constexpr unsigned n = at_once<T, vector>;
        NAPKIN_UNROLL for (unsigned v = 0; v < vector; v += n) {
          packed<T, n> x;
          NAPKIN_UNROLL for (unsigned i = 0; i < n; ++i) x.x[i] =
              stored<S::type>(operand<static_cast<std::size_t>(S::b)>(values, v + i));
          *reinterpret_cast<packed<T, n>*>(to + v) = x;
        }
      }
    } else if constexpr (S::what == action::iota) {
      constexpr int axis =
          static_cast<int>(rank_of(Inner{})) - 1 - (S::a - static_cast<int>(rank_of(Outer{})));
      NAPKIN_UNROLL for (unsigned v = 0; v < vector; ++v) value_of<J>(values).v[v] =
          rounded<S::type>(static_cast<std::int64_t>(coordinate_of<axis>(p + v, Inner{})));
    } else if constexpr (S::what == action::compute) {
      NAPKIN_UNROLL for (unsigned v = 0; v < vector; ++v) {
        if constexpr (S::c >= 0)
          value_of<J>(values).v[v] = evaluate<S::kind, S::type>(
              operand<S::a>(values, v), operand<S::b>(values, v), operand<S::c>(values, v));
        else if constexpr (S::b >= 0)
          value_of<J>(values).v[v] =
              evaluate<S::kind, S::type>(operand<S::a>(values, v), operand<S::b>(values, v));
        else
          value_of<J>(values).v[v] = evaluate<S::kind, S::type>(operand<S::a>(values, v));
      }
    }
  }
  template <std::ptrdiff_t First, std::ptrdiff_t... Rest>
  static constexpr std::ptrdiff_t first_of(strides<First, Rest...>) {
    return First;
  }
  static constexpr std::ptrdiff_t first_of(strides<>) { return 0; }
  template <int A>
  static constexpr std::ptrdiff_t last_stride() {
    return first_of(typename access_at<static_cast<std::size_t>(A)>::inner{});
  }

  // ---- joining: after the elements of a phase, `exchange` gives every thread of the team the same value

  template <int Phase, class Exchange>
  NAPKIN_DEVICE void join(Exchange& exchange) {
    if constexpr (acts<moment::join, Phase>) join_steps(exchange, acting_at<moment::join, Phase>{});
  }
  template <class Exchange, std::size_t... J>
  NAPKIN_DEVICE void join_steps(Exchange& exchange, std::index_sequence<J...>) {
    (join_step<J>(exchange), ...);
  }
  template <std::size_t J, class Exchange>
  NAPKIN_DEVICE void join_step(Exchange& exchange) {
    using S = step_at<J>;
    NAPKIN_UNROLL for (unsigned half = vector / 2; half > 0; half /= 2)
        NAPKIN_UNROLL for (unsigned v = 0; v < half; ++v) row_of<J>()
            .v[v] = evaluate<S::kind, S::type>(row_of<J>().v[v], row_of<J>().v[v + half]);
    row_of<J>().v[0] = exchange.template join<S::kind, S::type, team>(row_of<J>().v[0]);
  }
};

}  // namespace detail

template <class Program, class Geometry>
struct fused;
template <class... Steps, class Dealt, class Outer, class Inner, class... Accesses>
struct fused<program<Steps...>, geometry<Dealt, Outer, Inner, Accesses...>> {
  static constexpr std::size_t count_of(action what, bool scratch) {
    int n = 0;
    ((n = Steps::what == what && (Steps::along == pace::scratch) == scratch &&
                  (what == action::reduce_column ? Steps::b : Steps::a) >= n
              ? (what == action::reduce_column ? Steps::b : Steps::a) + 1
              : n),
     ...);
    return static_cast<std::size_t>(n);
  }
  using dealt = Dealt;
  using arguments = fused_arguments<sizeof...(Accesses), count_of(action::constant, false),
                                    count_of(action::store, true), count_of(action::reduce_column, false)>;
  using thread = detail::fused_thread<program<Steps...>, geometry<Dealt, Outer, Inner, Accesses...>,
                                      arguments, std::index_sequence_for<Steps...>>;
};

/// How the teams' sums of a column are joined: slice i of `column_slices` takes teams i, i + column_slices,
/// ... in order; then the slices are joined by halves.
inline constexpr unsigned column_slices = 8;
template <op Kind, dtype Type>
NAPKIN_DEVICE register_type<Type> join_slice(const std::byte* partials, std::size_t per_team,
                                             std::size_t teams, std::size_t column, unsigned slice) {
  register_type<Type> sum = identity_of<Kind, Type>();
  for (std::size_t t = slice; t < teams; t += column_slices)
    sum = evaluate<Kind, Type>(sum,
                               reinterpret_cast<const register_type<Type>*>(partials + t * per_team)[column]);
  return sum;
}

}  // namespace napkin::on_cuda
