// A fused kernel on a GPU: what one thread does, as a function template over a program and a geometry. A
// row's values that later phases need stay in registers where they fit; reductions along a row are joined
// across the team in a fixed order, sums over rows are kept by each team and joined by another kernel: no
// atomics, so the bits depend on shapes alone. Compiled for the host as well, where tests run a team's
// threads in turn.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "napkin/cuda/fused_layout.hpp"
#include "napkin/cuda/listed_program.hpp"
#include "napkin/cuda/registers.hpp"

namespace napkin::on_cuda {

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

// ---- a thread

/// What an access reads instead of memory: rows that the thread's block has made, and no others
/// (cuda/taken_product.hpp). Where row 0 would lie; access -1: none does.
struct made_rows {
  int access = -1;
  std::byte* row_zero = nullptr;
  std::size_t end = std::size_t(-1);  // past the last
};

/// One thread of a kernel. Sizes and strides are values, constants to whoever makes it: kernels of one
/// program that take as many positions at once are one class. `Kept` is dealing::kept; `IsRowAhead`: of rows
/// that a team takes one after another the next is fetched while one is computed with; `HasRoom`: there is
/// shared memory for what later phases read again of a row, on devices that have so much.
template <class Program, class Arguments, class Layout, unsigned Vector, unsigned Groups, bool Kept,
          bool IsRowAhead, bool HasRoom>
struct fused_thread {
  using listed = listed_program<Program>;
  using index = typename Layout::index;
  static constexpr int phases = listed::phases;
  /// Positions of which it keeps values.
  static constexpr unsigned held = Kept && listed::slots + listed::columns > 0 ? Groups* Vector : 0;
  template <moment When, int Phase = 0>
  using acting_at = typename acting<Program, When, Phase, Kept>::type;

  const Arguments& k;
  const Layout& layout;
  std::byte* const room;     // the shared memory,
  const bool is_room_there;  // if the device has it
  const made_rows made;
  index number;                       // of the team
  unsigned lane;                      // within it
  const index walks;                  // of this team
  index row = 0, begin = 0, end = 0;  // positions of the row that this walk takes; none: nothing to do
  bool is_there = false;
  // Of step J from J * Vector on: a value of the row, or a reduction's part at each position.
  cell rows[at_least_one(listed::count * Vector)]{};
  // `held` cells of each step that keeps something: a value for a later phase, which the step keeps that
  // stores it in scratch, or a column's sums. No more: nvcc leaves large arrays in memory.
  cell kept[at_least_one(listed::kept_before(listed::count) * held)];

  static constexpr unsigned most_cells_early = 8;
  // What later phases read of a row, as it lies in memory: asked for when the row begins.
  static constexpr bool is_early(std::size_t j) {
    return Kept && listed::may_read_early(j) &&
           (IsRowAhead || (listed::is_read(j) && listed::is_read_later(j) &&
                           listed::cells_of(j, Vector) * Groups <= most_cells_early));
  }
  static constexpr unsigned early_cells = Kept ? listed::cells_first_read(listed::count, Vector) * Groups : 0;
  template <bool Is>
  struct early_row {
    cell elements[at_least_one(Is ? early_cells : 0)], rows[at_least_one(Is ? listed::count : 0)];
  };
  early_row<Kept> early;
  early_row<IsRowAhead> ahead;
  /// Step j asks for what a row reads early: of several that read the same, the first.
  struct asking_early {
    static constexpr bool has(std::size_t j) {
      return is_early(j) &&
             (listed::steps[j].at == place::row || (listed::is_read(j) && listed::first_reader(j) == j));
    }
  };
  using early_steps = typename numbers_where<asking_early, listed::count>::type;

  NAPKIN_DEVICE fused_thread(const Arguments& arguments, const Layout& sizes, std::byte* shared,
                             bool is_shared, index team_number, unsigned lane_of_team, made_rows instead = {})
      : k(arguments),
        layout(sizes),
        room(shared),
        is_room_there(is_shared),
        made(instead),
        number(team_number),
        lane(lane_of_team),
        walks(walks_of_team()) {
    begin_team(acting_at<moment::team_begins>{});
    if constexpr (IsRowAhead) {
      const index first = number * walks_per_team();
      if (walks > 0 && first < made.end) fetch_row(ahead, first, early_steps{});
    }
  }

  template <std::size_t J>
  NAPKIN_DEVICE cell* kept_by() {
    constexpr std::size_t before = listed::kept_before(J);
    return kept + before * held;
  }

  // ---- a team

  template <std::size_t... J>
  NAPKIN_DEVICE void begin_team(std::index_sequence<J...>) {
    (begin_team_step<J>(), ...);
  }
  template <std::size_t J>
  NAPKIN_DEVICE void begin_team_step() {
    constexpr passes::kernel_step s = listed::steps[J];
    if constexpr (s.what == action::constant) {
      in<s.type>(rows[J * Vector]) = rounded<s.type>(k.constants[s.a]);
      if constexpr (!Kept && s.type == dtype::f32) keep_in_register(in<s.type>(rows[J * Vector]));
    } else if constexpr (Kept) {
      begin_sums<s.kind, s.type, held>(kept_by<J>());
    } else if (number < layout.how.teams) {  // a team past the last has no partial sums
      cell none;
      in<s.type>(none) = identity_of<s.kind, s.type>();
      for (index p = lane * Vector; p < row_length(); p += layout.how.team * Vector)
        put_sums<s.type, Vector>(partial<J>() + p, {&none, 0});
    }
  }
  template <std::size_t J>
  NAPKIN_DEVICE auto* partial() {
    constexpr passes::kernel_step s = listed::steps[J];
    return reinterpret_cast<register_type<s.type>*>(k.partials + std::size_t{number} * k.partials_per_team +
                                                    k.columns[s.b]);
  }
  /// After the last walk: a kept column sum goes to memory.
  NAPKIN_DEVICE void end_team() {
    if (number < layout.how.teams) end_team(acting_at<moment::team_ends>{});
  }
  template <std::size_t... J>
  NAPKIN_DEVICE void end_team(std::index_sequence<J...>) {
    (end_team_step<J>(), ...);
  }
  template <std::size_t J>
  NAPKIN_DEVICE void end_team_step() {
    constexpr passes::kernel_step s = listed::steps[J];
    NAPKIN_UNROLL for (unsigned g = 0; g < Groups; ++g) {
      const index p = position(g);
      if (p < row_length()) put_sums<s.type, Vector>(partial<J>() + p, {kept_by<J>() + g * Vector, 1});
    }
  }

  // ---- a walk: a row, or a chunk of one

  /// How many walks this team has: constant, where all have as many and no block has teams past the last.
  NAPKIN_DEVICE index walks_of_team() const {
    const auto all = static_cast<index>(layout.how.walks);
    const index first = number * walks_per_team();
    const bool is_team = layout.how.team == layout.how.threads || number < layout.how.teams;
    if (is_team && layout.how.walks == layout.how.teams * layout.how.walks_per_team) return walks_per_team();
    if (!is_team || first >= all) return 0;
    return all - first < walks_per_team() ? all - first : walks_per_team();
  }
  NAPKIN_DEVICE void begin_walk(index i, bool is_one = false) {
    const auto chunks = static_cast<index>(layout.how.chunks), chunk = static_cast<index>(layout.how.chunk);
    const index walk = number * walks_per_team() + i;
    is_there = is_one || (number < layout.how.teams && walk < layout.how.walks);
    row = is_there ? walk / chunks : 0;
    begin = is_there ? walk % chunks * chunk : 0;
    const index stop = begin + chunk < row_length() ? begin + chunk : row_length();
    end = is_there ? stop : 0;
  }
  NAPKIN_DEVICE index row_length() const { return static_cast<index>(layout.how.row_length); }
  NAPKIN_DEVICE index walks_per_team() const { return static_cast<index>(layout.how.walks_per_team); }
  /// The first of this thread's in group g, counted from where the walk begins.
  NAPKIN_DEVICE index position(index g) const { return (g * layout.how.team + lane) * Vector; }

  NAPKIN_DEVICE std::byte* memory_of(int access) const {
    return access == made.access ? made.row_zero : k.memory[access];
  }
  template <std::size_t J>
  NAPKIN_DEVICE const cell* early_cells_of(unsigned g) const {
    constexpr unsigned at = listed::cells_first_read(listed::first_reader(J), Vector) * Groups;
    return early.elements + at + g * cells_for<listed::steps[J].type, Vector>;
  }
  template <class Early, std::size_t... J>
  NAPKIN_DEVICE void fetch_row([[maybe_unused]] Early& to, [[maybe_unused]] index of,
                               std::index_sequence<J...>) {
    (fetch_early<J>(to, of), ...);
  }
  /// The team's next row, or behind its last that one again: what is fetched under a condition is moved
  /// between registers, and another team's row may be written as this is read.
  NAPKIN_DEVICE void fetch_ahead() {
    const index next = row + 1;
    const bool is_row = next < number * walks_per_team() + walks && next < made.end;
    fetch_row(ahead, is_row ? next : row, early_steps{});
  }
  /// Of what only a row's store needs one thread reads the old, since it may be what it writes.
  template <std::size_t J>
  NAPKIN_DEVICE bool is_one_who_reads() const {
    return !listed::is_stored_alone(J) || lane == 0;
  }
  template <std::size_t J, class Early>
  NAPKIN_DEVICE void fetch_early(Early& to, index of) {
    constexpr passes::kernel_step s = listed::steps[J];
    const auto* const from =
        reinterpret_cast<const type_of<s.type>*>(memory_of(s.a)) + layout.offset_of_row(s.a, of);
    if constexpr (s.at == place::row) {
      if (is_one_who_reads<J>()) load_strided<s.type, 1>(to.rows + J, from, 0);
    } else {
      if (!layout.moves_by_row[s.a]) return;
      constexpr unsigned size = cells_for<s.type, Vector>, at = listed::cells_first_read(J, Vector) * Groups;
      NAPKIN_UNROLL for (unsigned g = 0; g < Groups; ++g) {
        const index p = position(g);
        if (g < layout.full_groups || p < row_length())
          fetch_adjacent<s.type, Vector>(to.elements + at + g * size, from + layout.offset_in_row(s.a, p));
      }
    }
  }
  template <class From, std::size_t... J>
  NAPKIN_DEVICE void take_early([[maybe_unused]] const From& from, std::index_sequence<J...>) {
    (take_early<J>(from), ...);
  }
  template <std::size_t J, class From>
  NAPKIN_DEVICE void take_early(const From& from) {
    if constexpr (listed::is_read(J)) {
      constexpr unsigned size = cells_for<listed::steps[J].type, Vector> * Groups,
                         at = listed::cells_first_read(J, Vector) * Groups;
      NAPKIN_UNROLL for (unsigned i = 0; i < size; ++i) early.elements[at + i] = from.elements[at + i];
    } else {
      early.rows[J] = from.rows[J];
    }
  }

  template <int J>
  NAPKIN_DEVICE operand<listed::steps[J].type> row_operand() {
    return {rows + J * static_cast<int>(Vector), 0};
  }
  template <dtype Type>
  NAPKIN_DEVICE type_of<Type>* row_address(int access) const {
    return reinterpret_cast<type_of<Type>*>(memory_of(access)) + layout.offset_of_row(access, row);
  }

  /// Once a row, before the phase's positions.
  template <int Phase>
  NAPKIN_DEVICE void begin_phase() {
    if constexpr (Phase == 0 && IsRowAhead) {
      take_early(ahead, early_steps{});
      if (is_there) fetch_ahead();
    } else if constexpr (Phase == 0 && Kept) {
      if (is_there) fetch_row(early, row, early_steps{});
    }
    row_steps(acting_at<moment::row, Phase>{});
  }
  template <std::size_t... J>
  NAPKIN_DEVICE void row_steps(std::index_sequence<J...>) {
    (row_step<J>(), ...);
  }
  template <std::size_t J>
  NAPKIN_DEVICE void row_step() {
    constexpr passes::kernel_step s = listed::steps[J];
    cell* to = rows + J * Vector;
    if constexpr (s.what == action::load) {
      if constexpr (IsRowAhead && is_early(J))
        *to = early.rows[J];
      else if (is_there && is_one_who_reads<J>())
        load_strided<s.type, 1>(to, row_address<s.type>(s.a), 0);
    } else if constexpr (s.what == action::iota) {
      in<s.type>(*to) =
          rounded<s.type>(static_cast<std::int64_t>(layout.template coordinate_of_row<s.a>(row)));
    } else if constexpr (s.what == action::compute) {
      if constexpr (s.c >= 0)
        compute<s.kind, s.type, 1>(to, row_operand<s.a>(), row_operand<s.b>(), row_operand<s.c>());
      else if constexpr (s.b >= 0)
        compute<s.kind, s.type, 1>(to, row_operand<s.a>(), row_operand<s.b>());
      else
        compute<s.kind, s.type, 1>(to, row_operand<s.a>());
    } else if constexpr (s.what == action::store) {
      if (is_there && lane == 0) store_strided<s.type, 1>(row_address<s.type>(s.a), row_operand<s.b>(), 0);
    } else {
      begin_sums<s.kind, s.type, Vector>(to);
    }
  }

  /// All of this thread's positions, some groups at a time: what they read is asked for before any of them is
  /// computed with, or a warp would wait for each in turn. The compiler does not see to that itself: it
  /// cannot know that no later group reads what an earlier one writes. (No load does: rows are nobody
  /// else's, and what a phase writes is read in later ones.)
  template <int Phase>
  NAPKIN_DEVICE void elements() {
    using steps = acting_at<moment::element, Phase>;
    if constexpr (steps::size() > 0) {
      if (!is_there) return;
      constexpr unsigned words = listed::words_read(Phase, Vector);
      if constexpr (Kept && (listed::keeps(Phase) || !listed::writes(Phase))) {
        constexpr unsigned most = words == 0                 ? Groups
                                  : words > words_on_the_way ? 1
                                                             : words_on_the_way / words;
        every_batch<Phase, (most < Groups ? most : Groups)>(steps{});
      } else {
        // Copies of a loop's body take nvcc long, and registers; where axes are many, for the index alone.
        constexpr unsigned loads = listed::loads_read(Phase);
        constexpr unsigned copies = Layout::inner_rank > 2 || steps::size() > long_body ? 1
                                    : steps::size() > middling_body                     ? 2
                                    : steps::size() > short_body                        ? 4
                                                                                        : 8;
        // What comes from the room is there at once: fewer of it wait in registers.
        constexpr unsigned wait = HasRoom && listed::reads_again(Phase) ? 1 : copies;
        constexpr unsigned most = loads == 0 || loads > wait ? 1 : wait / loads;
        looped_batches<Phase, (most < Groups ? most : Groups)>(steps{});
      }
    }
  }
  static constexpr unsigned words_on_the_way = 40;                              // registers
  static constexpr unsigned short_body = 4, middling_body = 8, long_body = 16;  // steps

  /// No loop, which nvcc leaves one where its body is long: what is kept would be an array in memory.
  template <int Phase, unsigned Size, class Steps>
  NAPKIN_DEVICE void every_batch(Steps steps) {
    unrolled_batches<Phase, Size>(std::make_integer_sequence<unsigned, Groups / Size>{}, steps);
    if constexpr (Groups % Size != 0)
      batch<Phase>(Groups - Groups % Size, false, std::make_integer_sequence<unsigned, Groups % Size>{},
                   steps);
  }
  template <int Phase, unsigned Size, unsigned... B, class Steps>
  NAPKIN_DEVICE void unrolled_batches(std::integer_sequence<unsigned, B...>, Steps steps) {
    (batch<Phase>(B * Size, false, std::make_integer_sequence<unsigned, Size>{}, steps), ...);
  }
  template <int Phase, unsigned Most, class Steps>
  NAPKIN_DEVICE void looped_batches(Steps steps) {
    if constexpr (Kept) {
      constexpr unsigned whole = Groups / Most * Most;
      const bool fills = layout.full_groups >= whole;
      NAPKIN_ROLL for (unsigned g = 0; g < whole; g += Most)
          batch<Phase>(g, fills, std::make_integer_sequence<unsigned, Most>{}, steps);
      if constexpr (whole < Groups)
        batch<Phase>(whole, false, std::make_integer_sequence<unsigned, Groups - whole>{}, steps);
    } else {  // a row, which fills all groups but perhaps the last
      constexpr unsigned full = Groups - 1, size = even_batch(full, Most), whole = full / size * size;
      if constexpr (whole > 0) {
        NAPKIN_ROLL for (unsigned g = 0; g < whole; g += size)
            batch<Phase>(g, true, std::make_integer_sequence<unsigned, size>{}, steps);
      }
      if constexpr (whole < full)
        batch<Phase>(whole, true, std::make_integer_sequence<unsigned, full - whole>{}, steps);
      batch<Phase>(full, false, std::make_integer_sequence<unsigned, 1>{}, steps);
    }
  }
  /// So many of `groups` at a time, more than half of `most`, that few are left.
  static constexpr unsigned even_batch(unsigned groups, unsigned most) {
    unsigned best = most;
    for (unsigned size = most; 2 * size > most; --size)
      if (groups % size < groups % best) best = size;
    return best;
  }
  /// Groups from `first` on; a row or chunk `fills` them, or some of them.
  template <int Phase, unsigned... G, std::size_t... J>
  NAPKIN_DEVICE void batch(unsigned first, bool fills, std::integer_sequence<unsigned, G...>,
                           std::index_sequence<J...>) {
    constexpr unsigned cells = listed::cells_read(Phase, listed::count, Vector);
    cell fetched[at_least_one(sizeof...(G) * cells)];
    if (sizeof...(G) == 1 && !has_positions(first, fills)) return;
    const bool known = fills || sizeof...(G) == 1;
    (fetch_group(first + G, known, fetched + G * cells, acting_at<moment::fetch, Phase>{}), ...);
    (group(first + G, known, fetched + G * cells, std::index_sequence<J...>{}), ...);
  }
  NAPKIN_DEVICE bool has_positions(unsigned g, bool fills) const {
    if constexpr (Kept)
      if (g < layout.full_groups) return true;
    return fills || begin + position(g) < end;
  }
  template <std::size_t... J>
  NAPKIN_DEVICE void fetch_group(unsigned g, bool fills, [[maybe_unused]] cell* fetched,
                                 std::index_sequence<J...>) {
    if (has_positions(g, fills)) (fetch_step<J>(fetched, begin + position(g)), ...);
  }
  /// Of what step J is the first to read, where position p lies in the room. A thread reads there what it has
  /// put there itself: none waits for another.
  template <std::size_t J>
  NAPKIN_DEVICE auto* place_in_room(index p) const {
    return reinterpret_cast<type_of<listed::steps[J].type>*>(
               room + listed::bytes_read_again(J) * room_positions(layout.how.row_length)) +
           p;
  }
  template <std::size_t J>
  NAPKIN_DEVICE void fetch_step([[maybe_unused]] cell* fetched, [[maybe_unused]] index p) {
    constexpr passes::kernel_step s = listed::steps[J];
    if (is_early(J) && layout.moves_by_row[s.a]) return;
    constexpr unsigned at = listed::cells_read(s.phase, J, Vector);
    if constexpr (constexpr int first = listed::read_before(J); HasRoom && first >= 0)
      if (is_room_there)
        return fetch_adjacent<s.type, Vector>(fetched + at,
                                              place_in_room<static_cast<std::size_t>(first)>(p));
    fetch_adjacent<s.type, Vector>(fetched + at, row_address<s.type>(s.a) + layout.offset_in_row(s.a, p));
  }
  template <std::size_t... J>
  NAPKIN_DEVICE void group(unsigned g, bool fills, const cell* fetched, std::index_sequence<J...>) {
    if (!has_positions(g, fills)) return;
    cell values[listed::count * Vector];  // of step J from J * Vector on
    (element_step<J>(values, fetched, g, begin + position(g)), ...);
  }
  template <int J>
  NAPKIN_DEVICE operand<listed::steps[J].type> operand_of(cell* values) {
    if constexpr (has_lanes(listed::steps[J]))
      return {values + J * static_cast<int>(Vector), 1};
    else
      return row_operand<J>();
  }
  template <std::size_t J>
  NAPKIN_DEVICE auto* scratch_address(index p) const {
    constexpr passes::kernel_step s = listed::steps[J];
    return reinterpret_cast<type_of<s.type>*>(k.scratch + std::size_t{number} * k.scratch_per_team +
                                              k.slots[s.a]) +
           p;
  }
  /// How far row_operand<Index>()'s position is behind p: less than Vector, or as good as any other number.
  template <int Index>
  NAPKIN_DEVICE std::uint32_t distance(index p) {
    const auto at = row_operand<Index>()[0];
    if constexpr (sizeof(at) > sizeof(std::uint32_t) || sizeof(index) > sizeof(std::uint32_t)) {
      const auto away =
          static_cast<std::uint64_t>(static_cast<std::int64_t>(at)) - static_cast<std::uint64_t>(p);
      return away < Vector ? static_cast<std::uint32_t>(away) : Vector;
    } else {
      return static_cast<std::uint32_t>(at) - static_cast<std::uint32_t>(p);
    }
  }
  /// A select of row_operand<Index>()'s position gives 0, its other operand, at all of these.
  template <int Index, int Other>
  NAPKIN_DEVICE bool passes_by(index p) {
    if constexpr (Layout::inner_rank != 1) return false;
    return distance<Index>(p) >= Vector && row_operand<Other>()[0] == 0;
  }
  template <std::size_t J>
  NAPKIN_DEVICE void element_step(cell* values, [[maybe_unused]] const cell* fetched, unsigned g, index p) {
    constexpr passes::kernel_step s = listed::steps[J];
    cell* to = values + J * Vector;
    if constexpr (s.what == action::reduce_row) {
      constexpr auto one = listed::place_summed(J);
      if constexpr (one.index >= 0 && Layout::inner_rank == 1) {
        if (row_operand<one.other>()[0] == 0)
          add_chosen<s.type, Vector>(rows + J * Vector, operand_of<listed::steps[s.a].b>(values),
                                     distance<one.index>(p));
        else
          accumulate_in_one<s.kind, s.type, Vector>(rows + J * Vector, operand_of<s.a>(values));
      } else {
        accumulate<s.kind, s.type, Vector>(rows + J * Vector, operand_of<s.a>(values));
      }
    } else if constexpr (s.what == action::reduce_column) {
      if constexpr (Kept)
        accumulate<s.kind, s.type, Vector>(kept_by<J>() + g * Vector, operand_of<s.a>(values));
      else
        accumulate_in_memory<s.kind, s.type, Vector>(partial<J>() + p, operand_of<s.a>(values));
    } else if constexpr (s.what == action::load && listed::moves_scratch(s)) {
      if constexpr (Kept)
        copy<s.type, Vector>(to, operand<s.type>{kept_by<listed::keeper(s.a)>() + g * Vector, 1});
      else
        load_adjacent<s.type, Vector>(to, scratch_address<J>(p));
    } else if constexpr (s.what == action::store && listed::moves_scratch(s)) {
      if constexpr (Kept)
        copy<s.type, Vector>(kept_by<J>() + g * Vector, operand_of<s.b>(values));
      else
        store_adjacent<s.type, Vector>(scratch_address<J>(p), operand_of<s.b>(values));
    } else if constexpr (listed::is_read(J)) {
      constexpr unsigned at = listed::cells_read(s.phase, J, Vector);
      if constexpr (is_early(J))
        if (layout.moves_by_row[s.a]) {
          take_adjacent<s.type, Vector>(to, early_cells_of<J>(g));
          return;
        }
      if constexpr (HasRoom && listed::is_read_again(J))
        if (is_room_there) put_fetched<s.type, Vector>(place_in_room<J>(p), fetched + at);
      take_adjacent<s.type, Vector>(to, fetched + at);
    } else if constexpr (s.what == action::load || s.what == action::store) {
      type_of<s.type>* at = row_address<s.type>(s.a) + layout.offset_in_row(s.a, p);
      if constexpr (s.what == action::load)
        load_strided<s.type, Vector>(to, at, layout.last_stride(s.a));
      else if constexpr (s.along == pace::strided)
        store_strided<s.type, Vector>(at, operand_of<s.b>(values), layout.last_stride(s.a));
      else
        store_adjacent<s.type, Vector>(at, operand_of<listed::before_rounding(s.b)>(values));
    } else if constexpr (s.what == action::iota) {
      NAPKIN_UNROLL for (unsigned v = 0; v < Vector; ++v) in<s.type>(to[v]) =
          rounded<s.type>(static_cast<std::int64_t>(layout.template coordinate_in_row<s.a>(p + v)));
    } else if constexpr (s.c >= 0) {
      compute<s.kind, s.type, Vector>(to, operand_of<s.a>(values), operand_of<s.b>(values),
                                      operand_of<s.c>(values));
    } else if constexpr (s.b >= 0) {
      constexpr auto one = listed::place_added(J);
      if constexpr (one.index >= 0)
        if (passes_by<one.index, one.other>(p)) return copy<s.type, Vector>(to, operand_of<s.b>(values));
      compute<s.kind, s.type, Vector>(to, operand_of<s.a>(values), operand_of<s.b>(values));
    } else if constexpr (listed::is_weight(J)) {
      compute_weights<Vector>(to, operand_of<s.a>(values));
    } else {
      compute<s.kind, s.type, Vector>(to, operand_of<s.a>(values));
    }
  }

  // ---- joining: after the elements of a phase, `exchange` gives every thread of the team the same value

  template <int Phase, class Exchange>
  NAPKIN_DEVICE void join(Exchange& exchange) {
    join_steps(exchange, acting_at<moment::join, Phase>{});
  }
  template <class Exchange, std::size_t... J>
  NAPKIN_DEVICE void join_steps(Exchange& exchange, std::index_sequence<J...> steps) {
    (fold_sums<listed::steps[J].kind, listed::steps[J].type, Vector>(rows + J * Vector), ...);
    if constexpr (sizeof...(J) > 1 && requires { Exchange::joins_several; })
      join_several(exchange, steps, std::make_integer_sequence<unsigned, sizeof...(J)>{});
    else
      (join_step<J>(exchange), ...);
    (end_sum<listed::steps[J].kind, listed::steps[J].type>(rows + J * Vector), ...);
  }
  template <std::size_t J, class Exchange>
  NAPKIN_DEVICE void join_step(Exchange& exchange) {
    value_of<J>() =
        exchange.template join<listed::steps[J].kind, listed::steps[J].type>(value_of<J>(), layout.how.team);
  }
  template <class Exchange, std::size_t... J, unsigned... I>
  NAPKIN_DEVICE void join_several(Exchange& exchange, std::index_sequence<J...>,
                                  std::integer_sequence<unsigned, I...>) {
    constexpr unsigned n = sizeof...(I);
    const unsigned team = layout.how.team;
    ((value_of<J>() = exchange.template begin_join<listed::steps[J].kind, listed::steps[J].type, n>(
          value_of<J>(), team, I)),
     ...);
    exchange.meet(team);
    ((value_of<J>() = exchange.template end_join<listed::steps[J].kind, listed::steps[J].type, n>(
          value_of<J>(), team, I)),
     ...);
  }
  template <std::size_t J>
  NAPKIN_DEVICE auto& value_of() {
    return in<listed::steps[J].type>(rows[J * Vector]);
  }
};

}  // namespace detail

template <class Program, class Geometry>
struct fused;
template <class Program, class Dealt, class Outer, class Inner, class Strides>
struct fused<Program, geometry<Dealt, Outer, Inner, Strides>> {
  using dealt = Dealt;
  using listed = detail::listed_program<Program>;
  using layout = decltype(detail::layout_of(geometry<Dealt, Outer, Inner, Strides>{}));
  /// A constant of the kernel's own is made of it: a device reads no static member of a class.
  static constexpr layout make_layout() {
    return detail::layout_of(geometry<Dealt, Outer, Inner, Strides>{});
  }
  /// Bytes of shared memory of a block, for what its team reads again of a row: of rows that registers do not
  /// hold. Memory's second cache would have them, but does not give them so fast.
  static constexpr std::size_t find_room() {
    if (Dealt::kept || Dealt::spread || Dealt::team != Dealt::threads) return 0;
    const std::size_t bytes = listed::bytes_read_again() * detail::room_positions(Dealt::row_length);
    return bytes <= detail::most_room ? bytes : 0;
  }
  static constexpr std::size_t room = find_room();
  using arguments = fused_arguments<listed::accesses, listed::constants, listed::slots, listed::columns>;
  /// Column sums are kept of many rows, and registers hold what every row reads anew of the next one
  /// (kernel_facts::fetched).
  static constexpr bool find_row_ahead() {
    if (!Dealt::kept || listed::columns == 0 || Dealt::walks_per_team < 2) return false;
    constexpr layout of = make_layout();
    std::size_t bytes = 0;
    for (std::size_t j = 0; j < listed::count; ++j)
      if (listed::is_read(j) && listed::first_reader(j) == j && listed::may_read_early(j) &&
          of.moves_by_row[listed::steps[j].a])
        bytes += size_of(listed::steps[j].type);
    return Dealt::groups * Dealt::vector * bytes <= detail::bytes_ahead;
  }
  /// Threads that meet are of one team, which ends with its last row: no thread asks whether it has one.
  static constexpr bool is_alone =
      !Dealt::spread && (Dealt::team == Dealt::threads || Dealt::team == detail::warp);
  using thread = detail::fused_thread<Program, arguments, layout, Dealt::vector, Dealt::groups, Dealt::kept,
                                      find_row_ahead(), (room > 0)>;
};

}  // namespace napkin::on_cuda
