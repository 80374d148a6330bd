// What kernels ask of their program, at compile time: which steps act at a moment of a team's work, what they
// keep, and which of them say no more than a shorter way computes.
#pragma once

#include <cstddef>
#include <utility>

#include "napkin/cuda/geometry.hpp"
#include "napkin/cuda/registers.hpp"

namespace napkin::on_cuda {

namespace detail {

using namespace planning::detail;

/// Where in a kernel steps have something to do.
enum class moment : unsigned char { team_begins, row, fetch, element, join, team_ends };

/// A step reads adjacent elements of a row.
constexpr bool reads_adjacent(const passes::kernel_step& s) {
  return s.what == action::load && s.at == place::element && s.along == pace::contiguous;
}

constexpr bool acts_at(const passes::kernel_step& s, moment m, int phase, bool kept) {
  const bool reduces_row = s.what == action::reduce_row, reduces_column = s.what == action::reduce_column;
  switch (m) {
    case moment::team_begins:
      return s.what == action::constant || reduces_column;
    case moment::team_ends:
      return reduces_column && kept;
    case moment::row:
      return s.phase == phase && s.at == place::row && s.what != action::constant && !reduces_column;
    case moment::fetch:
      return s.phase == phase && reads_adjacent(s);
    case moment::element:
      return s.phase == phase && (s.at == place::element || reduces_row || reduces_column);
    case moment::join:
      return s.phase == phase && reduces_row;
  }
  return false;
}

/// A program as values, and what kernels ask of it.
template <class Program>
struct listed_program;
template <step_code... Codes>
struct listed_program<program<Codes...>> : program_facts<Codes...> {
  using program_facts<Codes...>::count, program_facts<Codes...>::steps;

  static constexpr bool moves_scratch(const passes::kernel_step& s) {
    return moves_data(s) && s.along == pace::scratch;
  }
  static constexpr bool is_read(std::size_t j) { return reads_adjacent(steps[j]); }
  /// Of a phase: how many steps read elements at all; of `vector` elements each, the words of 4 bytes that
  /// steps read side by side; the cells that steps before j take for theirs.
  static constexpr unsigned loads_read(int phase) {
    unsigned n = 0;
    for (const passes::kernel_step& s : steps)
      n += s.phase == phase && s.what == action::load && s.at == place::element;
    return n;
  }
  static constexpr unsigned words_read(int phase, unsigned vector) {
    std::size_t n = 0;
    for (std::size_t j = 0; j < count; ++j)
      if (steps[j].phase == phase && is_read(j)) n += (vector * size_of(steps[j].type) + 3) / 4;
    return static_cast<unsigned>(n);
  }
  /// Registers of a value that moves along the row, at most.
  static constexpr unsigned words() {
    unsigned most = 1;
    for (const passes::kernel_step& s : steps)
      if (s.at == place::element && size_of(s.type) > 4) most = 2;
    return most;
  }
  /// What `vector` adjacent elements of step j's take.
  static constexpr unsigned cells_of(std::size_t j, unsigned vector) {
    return static_cast<unsigned>((vector * size_of(steps[j].type) + sizeof(cell) - 1) / sizeof(cell));
  }
  static constexpr unsigned cells_read(int phase, std::size_t j, unsigned vector) {
    unsigned n = 0;
    for (std::size_t i = 0; i < j; ++i)
      if (steps[i].phase == phase && is_read(i)) n += cells_of(i, vector);
    return n;
  }
  /// No step writes what step j reads: it may be read before its phase, and before its row's turn.
  static constexpr bool may_read_early(std::size_t j) {
    if (steps[j].what != action::load || moves_scratch(steps[j])) return false;
    for (const passes::kernel_step& s : steps)
      if (s.what == action::store && !moves_scratch(s) && s.a == steps[j].a) return false;
    return true;
  }
  /// What step j gives is stored of a row, or computed with for that, and nothing else.
  static constexpr bool is_stored_alone(std::size_t j) {
    for (std::size_t i = j + 1; i < count; ++i) {
      const passes::kernel_step& s = steps[i];
      const auto is_j = [j](int operand) { return operand == static_cast<int>(j); };
      const bool computes = s.what == action::compute, stores = s.what == action::store;
      const bool reduces = s.what == action::reduce_row || s.what == action::reduce_column;
      if (!((computes || reduces) && is_j(s.a)) && !((computes || stores) && is_j(s.b)) &&
          !(computes && is_j(s.c)))
        continue;
      if (s.at != place::row || reduces || moves_scratch(s) || (computes && !is_stored_alone(i)))
        return false;
    }
    return true;
  }
  /// The first step that reads the elements that step j reads, and whether a step of a phase behind the first
  /// reads them.
  static constexpr std::size_t first_reader(std::size_t j) {
    for (std::size_t i = 0; i < j; ++i)
      if (is_read(i) && steps[i].a == steps[j].a && steps[i].type == steps[j].type) return i;
    return j;
  }
  static constexpr bool is_read_later(std::size_t j) {
    for (std::size_t i = 0; i < count; ++i)
      if (is_read(i) && steps[i].phase > 0 && first_reader(i) == first_reader(j)) return true;
    return false;
  }
  /// Of `vector` elements each, the cells of all that steps before j are the first to read.
  static constexpr unsigned cells_first_read(std::size_t j, unsigned vector) {
    unsigned n = 0;
    for (std::size_t i = 0; i < j; ++i)
      if (is_read(i) && first_reader(i) == i) n += cells_of(i, vector);
    return n;
  }
  /// The step of an earlier phase that reads the same elements as step j, which nothing has written since;
  /// -1: none.
  static constexpr int read_before(std::size_t j) {
    if (!is_read(j) || !may_read_early(j)) return -1;
    const std::size_t i = first_reader(j);
    return steps[i].phase < steps[j].phase ? static_cast<int>(i) : -1;
  }
  /// A later phase reads again what step i reads, the first of its readers.
  static constexpr bool is_read_again(std::size_t i) {
    if (!is_read(i)) return false;
    for (std::size_t j = 0; j < count; ++j)
      if (read_before(j) == static_cast<int>(i)) return true;
    return false;
  }
  static constexpr bool reads_again(int phase) {
    for (std::size_t j = 0; j < count; ++j)
      if (steps[j].phase == phase && read_before(j) >= 0) return true;
    return false;
  }
  /// Of a position, the bytes that later phases read again: of steps before i, or of all.
  static constexpr std::size_t bytes_read_again(std::size_t i = count) {
    std::size_t n = 0;
    for (std::size_t j = 0; j < i; ++j) n += is_read_again(j) ? size_of(steps[j].type) : 0;
    return n;
  }
  /// Joined sums that phases end with: of the step's phase, or those before step j in it.
  static constexpr unsigned joined_in(int phase, std::size_t j = count) {
    unsigned n = 0;
    for (std::size_t i = 0; i < j; ++i) n += steps[i].what == action::reduce_row && steps[i].phase == phase;
    return n;
  }
  /// How many phases end with joined sums.
  static constexpr unsigned joining_phases() {
    unsigned n = 0;
    for (std::size_t j = 0; j < count; ++j)
      n += steps[j].what == action::reduce_row && joined_in(steps[j].phase, j) == 0;
    return n;
  }
  /// Rooms in shared memory that a team joins sums in, by turns: as many as phases join, each at one room, is
  /// fastest, but they are to leave memory to other blocks. `most`: bytes. A room has places for `warps`
  /// values of every step of a phase; phases of as many steps share theirs, of one dtype.
  static constexpr unsigned joining_rooms(std::size_t warps, std::size_t most) {
    std::size_t bytes = 0;
    for (std::size_t j = 0; j < count; ++j) {
      const unsigned values = joined_in(steps[j].phase);
      bool is_first = steps[j].what == action::reduce_row;
      for (std::size_t i = 0; i < j; ++i)
        if (steps[i].what == action::reduce_row && steps[i].type == steps[j].type &&
            joined_in(steps[i].phase) == values)
          is_first = false;
      if (is_first) bytes += values * warps * sizeof(std::uint64_t);
    }
    const unsigned n = joining_phases();
    return n > 2 && n * bytes <= most ? n : 2;
  }
  /// How many constants, scratch slots or columns there are: numbers are given out from 0.
  static constexpr std::size_t numbered(action what, bool in_scratch) {
    int n = 0;
    for (const passes::kernel_step& s : steps) {
      const int number = what == action::reduce_column ? s.b : s.a;
      if (s.what == what && moves_scratch(s) == in_scratch && number >= n) n = number + 1;
    }
    return static_cast<std::size_t>(n);
  }
  static constexpr std::size_t constants = numbered(action::constant, false),
                               slots = numbered(action::store, true),
                               columns = numbered(action::reduce_column, false);

  /// The store that keeps scratch slot a, as a step's number.
  static constexpr std::size_t keeper(int a) {
    std::size_t found = 0;
    for (std::size_t j = 0; j < count; ++j)
      if (steps[j].what == action::store && moves_scratch(steps[j]) && steps[j].a == a) found = j;
    return found;
  }
  /// Whether two steps have the same value at each position, in whatever phases they are.
  static constexpr bool are_same(int i, int j) {
    if (i == j) return true;
    if (i < 0 || j < 0) return false;
    const passes::kernel_step &s = steps[static_cast<std::size_t>(i)],
                              &t = steps[static_cast<std::size_t>(j)];
    if (s.what == action::load && moves_scratch(s)) return are_same(steps[keeper(s.a)].b, j);
    if (t.what == action::load && moves_scratch(t)) return are_same(i, steps[keeper(t.a)].b);
    if (s.what != t.what || s.kind != t.kind || s.type != t.type || s.at != t.at) return false;
    if (s.what == action::compute) return are_same(s.a, t.a) && are_same(s.b, t.b) && are_same(s.c, t.c);
    const bool reads = s.what == action::load || s.what == action::constant || s.what == action::iota;
    return reads && s.a == t.a;
  }
  /// Step j is a softmax's exp(x - y) in f32, y the row's largest x, kept finite perhaps.
  static constexpr bool is_weight(std::size_t j) {
    const passes::kernel_step& s = steps[j];
    if (s.what != action::compute || s.kind != op::exp || s.type != dtype::f32) return false;
    const passes::kernel_step& difference = steps[static_cast<std::size_t>(s.a)];
    if (difference.what != action::compute || difference.kind != op::sub) return false;
    const passes::kernel_step* y = &steps[static_cast<std::size_t>(difference.b)];
    while (y->what == action::compute && (y->kind == op::maximum || y->kind == op::minimum))
      y = &steps[static_cast<std::size_t>(y->a)];
    return y->what == action::reduce_row && y->kind == op::max && are_same(difference.a, y->a);
  }
  /// Steps of select(index == position, x, other), the index the row's own, other a number; -1: no such.
  /// Where other is 0, one position of the row gives something.
  struct one_place {
    int index = -1, other = -1;
  };
  static constexpr one_place place_chosen(const passes::kernel_step& chosen) {
    if (chosen.what != action::compute || chosen.kind != op::select) return {};
    const passes::kernel_step &where = steps[static_cast<std::size_t>(chosen.a)],
                              &other = steps[static_cast<std::size_t>(chosen.c)];
    if (where.what != action::compute || where.kind != op::equal || other.what != action::constant) return {};
    const auto is_position = [](int i) {
      const passes::kernel_step& of = steps[static_cast<std::size_t>(i)];
      return of.what == action::iota && of.at == place::element;
    };
    const auto is_of_row = [](int i) {
      const passes::kernel_step& of = steps[static_cast<std::size_t>(i)];
      return of.at == place::row && is_integer(of.type);
    };
    if (is_of_row(where.a) && is_position(where.b)) return {where.a, chosen.c};
    if (is_of_row(where.b) && is_position(where.a)) return {where.b, chosen.c};
    return {};
  }
  /// Of a sum along the row of such.
  static constexpr one_place place_summed(std::size_t j) {
    const passes::kernel_step& s = steps[j];
    if (s.what != action::reduce_row || s.kind != op::sum) return {};
    return place_chosen(steps[static_cast<std::size_t>(s.a)]);
  }
  /// Of such and another value added up.
  static constexpr one_place place_added(std::size_t j) {
    const passes::kernel_step& s = steps[j];
    if (s.what != action::compute || s.kind != op::add || s.type != dtype::f32 ||
        !has_lanes(steps[static_cast<std::size_t>(s.b)]))
      return {};
    return place_chosen(steps[static_cast<std::size_t>(s.a)]);
  }
  /// The step whose value is stored as step j's: what a cast rounds, if j does no more. A store rounds as
  /// well.
  static constexpr int before_rounding(int j) {
    const passes::kernel_step& s = steps[static_cast<std::size_t>(j)];
    if (s.what != action::compute || s.kind != op::cast || (s.type != dtype::bf16 && s.type != dtype::f16))
      return j;
    const passes::kernel_step& from = steps[static_cast<std::size_t>(s.a)];
    return from.type == dtype::f32 && has_lanes(from) ? s.a : j;
  }
  /// Keeps values of a row, or sums over rows.
  static constexpr bool is_kept(const passes::kernel_step& s) {
    return s.what == action::reduce_column || (s.what == action::store && moves_scratch(s));
  }
  /// How many steps before step j do; of all steps, how many.
  static constexpr std::size_t kept_before(std::size_t j) {
    std::size_t n = 0;
    for (std::size_t i = 0; i < j; ++i) n += is_kept(steps[i]);
    return n;
  }
  // What a phase keeps in registers by group; and elements that it writes, of which the compiler cannot know
  // that no later group reads them.
  static constexpr bool keeps(int phase) {
    for (const passes::kernel_step& s : steps)
      if (s.phase == phase && (s.what == action::reduce_column || moves_scratch(s))) return true;
    return false;
  }
  static constexpr bool writes(int phase) {
    for (const passes::kernel_step& s : steps)
      if (s.phase == phase && s.what == action::store && s.at == place::element) return true;
    return false;
  }
};

/// The numbers j below Count of which Which::has(j), as an index_sequence: of steps that do something, so
/// that nothing is instantiated for the others.
template <class Which, std::size_t Count>
struct numbers_where {
  static constexpr std::size_t count() {
    std::size_t n = 0;
    for (std::size_t j = 0; j < Count; ++j) n += Which::has(j);
    return n;
  }
  static constexpr std::size_t number(std::size_t i) {
    std::size_t j = 0;
    while (!Which::has(j) || i-- > 0) ++j;
    return j;
  }
  template <std::size_t... I>
  static constexpr auto numbers(std::index_sequence<I...>) -> std::index_sequence<number(I)...>;
  using type = decltype(numbers(std::make_index_sequence<count()>{}));
};

/// The steps that act then.
template <class Program, moment When, int Phase, bool Kept>
struct acting {
  using listed = listed_program<Program>;
  static constexpr bool has(std::size_t j) { return acts_at(listed::steps[j], When, Phase, Kept); }
  using type = typename numbers_where<acting, listed::count>::type;
};

}  // namespace detail
}  // namespace napkin::on_cuda
