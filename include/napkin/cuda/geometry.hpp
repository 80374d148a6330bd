// How a fused kernel is dealt to a GPU's threads, decided from its program and static shapes alone, and that
// decision as a type: a kernel is instantiated for one program on one geometry, so that all index arithmetic
// is done by the compiler. Layers that are alike share both.
//
// A *team* of threads walks one row at a time (or one chunk of a row, where nothing is reduced along it).
// Each thread takes `vector` adjacent positions, then those a team's stride later: `groups` times. Where
// memory is adjacent across rows, not along them, as in a sum over a middle axis, a team is *spread*: a warp
// is then one thread of each of 32 teams, which walk adjacent rows.
#pragma once

#include "napkin/plan/program.hpp"

namespace napkin::on_cuda {

using namespace planning;

/// Bytes of shared memory that a block of any kernel may take.
inline constexpr std::size_t block_memory = 48 * 1024;

/// Sizes of collapsed axes, outermost first.
template <std::size_t... Size>
struct extents {};
/// Strides in elements of each access in turn: over the outer axes, then over the inner ones.
template <std::ptrdiff_t... Stride>
struct strides {};

/// The numbers of a geometry. Constant where the kernel is known.
struct dealing {
  std::size_t row_length = 1;
  std::size_t chunk = 1, chunks = 1;  // positions of a row that a team takes at once; how often
  std::size_t walks = 1;              // rows times chunks
  std::size_t teams = 1, walks_per_team = 1;
  unsigned team = 1;     // threads
  unsigned vector = 1;   // adjacent positions of a thread
  unsigned groups = 1;   // vectors of a thread, in a row or chunk
  bool kept = true;      // what a row needs again stays in registers; else it is read back from memory
  unsigned threads = 1;  // of a block: several teams, where a team is less than that
  bool spread = false;   // a team's threads lie teams_per_block() apart, not side by side

  constexpr unsigned teams_per_block() const { return threads / team; }
  constexpr std::size_t blocks() const { return (teams + teams_per_block() - 1) / teams_per_block(); }
  constexpr bool operator==(const dealing&) const = default;
};

/// What the choice depends on.
struct kernel_facts {
  std::size_t rows = 1, row_length = 1;
  bool reduces_rows = false, reduces_columns = false;
  unsigned slots = 0, columns = 0;  // values a row keeps for later phases; column sums
  unsigned words = 1;               // registers of a value that moves along the row, at most
  unsigned fetched = 0;             // bytes of a position that every row reads anew, side by side
  unsigned smallest = 8;            // bytes of the smallest element that moves along the row
  std::size_t adjacent = 1;         // positions that lie side by side in every contiguous access, and aligned
  // Rows from one to the next of which accesses are adjacent, or stay where they are; 0: not all.
  std::size_t across = 0;
};

namespace detail {

constexpr std::size_t ceil_div(std::size_t x, std::size_t y) { return (x + y - 1) / y; }
constexpr unsigned power_of_two_from(std::size_t x) {
  unsigned p = 1;
  while (p < x && p < 1u << 31) p *= 2;  // more than any team has
  return p;
}

inline constexpr unsigned block_threads = 256;
inline constexpr unsigned hungry_team = 512;    // threads that have 128 registers each; of 1,024 each has 64
inline constexpr unsigned kept_positions = 32;  // registers that a thread may spend on one value of a row
inline constexpr std::size_t processors = 132;  // of the largest GPU
inline constexpr std::size_t column_teams = 4 * processors;
inline constexpr unsigned warp = 32;
inline constexpr unsigned schedulers = 4;                    // of a processor, each with its registers:
inline constexpr std::size_t registers = 16384 / warp;       // a lane's, if one warp had them all
inline constexpr unsigned column_block = schedulers * warp;  // threads of teams of a warp that sum columns
inline constexpr std::size_t column_positions = 24;          // of a thread of theirs,
inline constexpr std::size_t column_cells = 120;             // registers for what it keeps and sums,
inline constexpr std::size_t bytes_ahead = 160;              // and for the next row on its way
// What a row takes of a warp beside its positions, in positions: joins of sums, quotients, addresses.
inline constexpr std::size_t positions_a_row = 16;
inline constexpr unsigned spread_teams = 32, spread_team = 8;  // a warp's teams; threads that share a row
// Of rows that are walked again: so few that they stay in the second cache between (264 of 100 KB, of 50 MB).
inline constexpr std::size_t unkept_teams = 264;

/// Threads of a team that is spread; 0 where memory lies along rows, a row keeps more than registers hold, or
/// there are so few rows that their threads would take longer than a whole block for each.
constexpr unsigned spread_team_for(const kernel_facts& f) {
  if (f.across < spread_teams || !f.reduces_rows || f.reduces_columns) return 0;
  unsigned team = power_of_two_from(f.row_length);
  if (team > spread_team) team = spread_team;
  const auto suits = [&f](unsigned threads) {
    const std::size_t positions = ceil_div(f.row_length, threads);
    if (f.slots > 0)
      return positions <= kept_positions && positions * f.slots * f.words <= 3 * kept_positions;
    return positions <= 2 * kept_positions || f.rows * threads >= 128 * block_threads;
  };
  while (!suits(team) && team * spread_teams < hungry_team) team *= 2;
  return suits(team) ? team : 0;
}

constexpr std::size_t positions_for(std::size_t vectors, unsigned vector, std::size_t warps) {
  return ceil_div(vectors, warps * warp) * vector;
}
/// Threads of a team that keeps its row: as few warps as fill the row's vectors (but for an eighth) with what
/// registers hold. 0: no team does.
constexpr unsigned keeping_team_for(const kernel_facts& f, std::size_t vectors, unsigned vector) {
  if (vectors < warp) return power_of_two_from(vectors);
  const auto filled = [&](std::size_t warps) { return positions_for(vectors, vector, warps) * warps; };
  const auto holds = [&](std::size_t warps) {
    const std::size_t positions = positions_for(vectors, vector, warps);
    return positions <= kept_positions && positions * f.slots * f.words <= 3 * kept_positions;
  };
  std::size_t least = 0;
  for (std::size_t warps = 1; warps <= hungry_team / warp; ++warps)
    if (holds(warps) && (least == 0 || filled(warps) < least)) least = filled(warps);
  for (std::size_t warps = 1; warps <= hungry_team / warp; ++warps)
    if (holds(warps) && 8 * filled(warps) <= 9 * least) return static_cast<unsigned>(warps * warp);
  return 0;
}

/// Warps of a processor at a time that sum columns, whose threads keep `cells` registers of each of their
/// positions and have as many, `fetched` bytes of each, of the next row on its way. To the nearest of what
/// its schedulers can have: the rest of the registers is a guess.
constexpr std::size_t column_warps(std::size_t positions, std::size_t cells, std::size_t fetched) {
  const std::size_t ahead = positions * fetched <= bytes_ahead ? positions * fetched : 0;
  const std::size_t each = 40 + positions * cells + ahead / 2;
  const std::size_t warps = (registers + each / 2) / each;
  return (warps < 2 ? 2 : warps) * schedulers;
}
/// Threads of a team that sums columns, too, which take registers all along: those that issue a row's
/// instructions in the least time, with all teams that a processor holds. 0: none keeps its row.
constexpr unsigned column_team_for(const kernel_facts& f, std::size_t vectors, unsigned vector) {
  if (vectors < warp) return power_of_two_from(vectors);
  const std::size_t cells = f.words * (f.slots + f.columns);
  std::size_t best = 0, best_time = 0, best_teams = 1;
  for (const bool is_ahead : {true, false}) {
    if (best != 0) break;
    for (std::size_t warps = 1; warps <= hungry_team / warp; ++warps) {
      const std::size_t positions = positions_for(vectors, vector, warps);
      if (positions > column_positions || positions * cells > column_cells) continue;
      if (is_ahead && positions * f.fetched > bytes_ahead) continue;
      std::size_t teams = column_warps(positions, cells, f.fetched) / warps;
      if (teams == 0) teams = 1;
      const std::size_t time = ceil_div(teams * warps, schedulers) * (positions + positions_a_row);
      if (best != 0 && time * best_teams >= best_time * teams) continue;
      best = warps, best_time = time, best_teams = teams;
    }
  }
  return static_cast<unsigned>(best * warp);
}
/// Teams that sum columns, each of many rows: as many as run at a time, or some times that: GPUs of fewer
/// processors have theirs evenly, too. Of fewer than 16 rows each, sums that they hand over would be much of
/// what is moved.
constexpr std::size_t column_teams_for(const kernel_facts& f, const dealing& d) {
  if (d.team < warp) return column_teams;
  const std::size_t positions = std::size_t{d.groups} * d.vector;
  const std::size_t warps = column_warps(positions, f.words * (f.slots + f.columns), f.fetched);
  const std::size_t blocks = warps * warp < d.threads ? 1 : warps * warp / d.threads;
  const std::size_t at_a_time = blocks * d.teams_per_block() * processors;
  const std::size_t teams = ceil_div(column_teams, at_a_time) * at_a_time;
  return f.rows >= 16 * teams ? teams : column_teams;
}

}  // namespace detail

constexpr dealing deal(const kernel_facts& f) {
  dealing d;
  d.row_length = f.row_length;
  const std::size_t widest = 16 / f.smallest < 8 ? 16 / f.smallest : 8;
  const unsigned spread = detail::spread_team_for(f);
  while (spread == 0 && d.vector * 2 <= widest && f.adjacent % (d.vector * 2) == 0) d.vector *= 2;
  const std::size_t needed = detail::ceil_div(f.row_length, d.vector);  // vectors of a row
  const bool reduces = f.reduces_rows || f.reduces_columns || f.slots > 0;
  const unsigned keeping = !reduces || spread > 0 ? 0
                           : f.reduces_columns    ? detail::column_team_for(f, needed, d.vector)
                                                  : detail::keeping_team_for(f, needed, d.vector);

  if (spread > 0) {
    d.team = spread;
    d.spread = true;
  } else if (keeping > 0) {
    d.team = keeping;
  } else if (f.reduces_columns) {  // few teams, so wide ones; sums of every position take registers all along
    const unsigned wanted = detail::power_of_two_from(needed);
    d.team = wanted > detail::hungry_team ? detail::hungry_team : wanted;
  } else {
    const std::size_t wanted = detail::power_of_two_from(detail::ceil_div(needed, 4));
    const std::size_t most = reduces ? 1024 : detail::block_threads;
    d.team = static_cast<unsigned>(wanted > most ? most : wanted);
  }
  std::size_t groups = detail::ceil_div(needed, d.team);
  if (!reduces && groups > 4) groups = 4;
  if (groups == 0) groups = 1;
  d.groups = static_cast<unsigned>(groups);
  d.chunk = reduces ? f.row_length : groups * d.team * d.vector;
  d.chunks = d.chunk == 0 ? 1 : detail::ceil_div(f.row_length, d.chunk);
  if (d.chunks == 0) d.chunks = 1;
  d.walks = f.rows * d.chunks;
  const std::size_t positions = groups * d.vector;
  const unsigned values = f.slots + f.columns > 0 ? f.slots + f.columns : 1;  // of a position at a time
  const std::size_t most = (d.team > detail::hungry_team ? 1 : 3) * detail::kept_positions;
  d.kept = keeping >= detail::warp ||
           (positions <= detail::kept_positions && positions * values * f.words <= most);
  if (d.spread && f.slots == 0) d.kept = false;  // a loop does, whose groups written out would take registers
  if (!d.kept && d.team > detail::hungry_team) {
    d.team = detail::hungry_team;
    d.groups = static_cast<unsigned>(detail::ceil_div(needed, d.team));
  }

  d.threads = d.team > detail::block_threads || (reduces && d.team > detail::warp) ? d.team
              : f.reduces_columns && d.team == detail::warp                        ? detail::column_block
                                                                                   : detail::block_threads;
  if (d.spread && d.team * detail::spread_teams > d.threads) d.threads = d.team * detail::spread_teams;

  // Partial sums and rows of scratch are memory for each team: then there are few teams, of many rows each.
  d.teams = d.walks;
  const std::size_t most_teams = d.kept ? detail::column_teams_for(f, d) : detail::unkept_teams;
  if ((f.reduces_columns || (!d.kept && !d.spread)) && d.teams > most_teams) d.teams = most_teams;
  const std::size_t of_grid = 0x7fffffff * std::size_t{d.teams_per_block()};
  if (d.teams > of_grid) d.teams = of_grid;
  if (d.teams == 0) d.teams = 1;
  d.walks_per_team = detail::ceil_div(d.walks, d.teams);
  d.teams = d.walks_per_team == 0 ? 1 : detail::ceil_div(d.walks, d.walks_per_team);
  return d;
}

/// Step s, which loads adjacent elements, is the first to read there, and what it reads is each row's own.
template <class Product>
constexpr bool is_fetched(const plan_view<Product>& p, const kernel_record& r, const program_record& program,
                          std::int32_t s) {
  const std::int16_t access = p.steps[s].a;
  for (std::int32_t i = program.first_step; i < s; ++i) {
    const passes::kernel_step& step = p.steps[i];
    if (step.what == action::load && step.along == pace::contiguous && step.a == access) return false;
  }
  const access_record& a = p.accesses[r.first_access + access];
  for (std::int32_t d = 0; d < r.outer_rank && !a.written; ++d)
    if (p.strides[a.first_stride + d] != 0) return true;
  return false;
}
/// The facts of a planned kernel.
template <class Product>
constexpr kernel_facts facts_of(const plan_view<Product>& p, const kernel_record& r) {
  kernel_facts f;
  f.row_length = r.row_length;
  for (int d = 0; d < r.outer_rank; ++d) f.rows *= p.sizes[r.first_size + d];
  f.slots = static_cast<unsigned>(r.slots);
  f.columns = static_cast<unsigned>(r.columns);
  f.reduces_columns = r.columns > 0;
  bool moves = false, is_across = r.outer_rank > 0;
  const std::int32_t last_outer = r.outer_rank - 1;
  const std::int32_t last = r.first_size + r.outer_rank + r.inner_rank - 1;
  const std::size_t last_size = r.inner_rank == 0 ? 1 : p.sizes[last];
  f.adjacent = last_size % 8 == 0 ? 8 : last_size & (~last_size + 1);  // the power of two in it
  if (last_size == 0) f.adjacent = 1;
  const program_record& program = p.programs[r.program];
  for (std::int32_t s = program.first_step; s < program.first_step + program.steps; ++s) {
    const passes::kernel_step& step = p.steps[s];
    f.reduces_rows = f.reduces_rows || step.what == action::reduce_row;
    if (step.at == place::element && size_of(step.type) > 4) f.words = 2;
    const bool in_memory = step.what == action::load || step.what == action::store;
    if (!in_memory || step.at != place::element) continue;
    if (step.along != pace::scratch && is_across) {
      const std::ptrdiff_t by = p.strides[p.accesses[r.first_access + step.a].first_stride + last_outer];
      is_across = by == 0 || (by == 1 && step.along == pace::strided);
      if (by == 1) f.across = p.sizes[r.first_size + last_outer];
    }
    if (step.along != pace::contiguous) continue;
    moves = true;
    const auto size = static_cast<unsigned>(size_of(step.type));
    if (size < f.smallest) f.smallest = size;
    if (step.what == action::load && is_fetched(p, r, program, s)) f.fetched += size;
    const access_record& a = p.accesses[r.first_access + step.a];
    const auto by = [&](std::ptrdiff_t elements) {
      const auto n = static_cast<std::size_t>(elements < 0 ? -elements : elements);
      while (n % f.adjacent != 0) f.adjacent /= 2;
    };
    by(a.offset / static_cast<std::ptrdiff_t>(size));
    for (std::int32_t d = 0; d < r.outer_rank + r.inner_rank - 1; ++d) by(p.strides[a.first_stride + d]);
  }
  if (!moves) f.adjacent = 1;
  if (!is_across) f.across = 0;
  return f;
}

/// How a planned kernel was dealt.
constexpr dealing dealing_of(const kernel_record& r) {
  return {r.row_length,  r.chunk,         r.chunks,        r.walks,       r.blocks,         r.walks_per_block,
          r.layout.team, r.layout.vector, r.layout.groups, r.layout.kept, r.layout.threads, r.layout.spread};
}

/// A dealing as a type: what a kernel's symbol says of it.
template <unsigned Team, unsigned Vector, unsigned Groups, bool Kept, std::size_t RowLength,
          std::size_t Chunk, std::size_t Chunks, std::size_t Walks, std::size_t Teams,
          std::size_t WalksPerTeam, unsigned Threads, bool Spread>
struct dealt {
  static constexpr dealing value{RowLength, Chunk,  Chunks, Walks, Teams,   WalksPerTeam,
                                 Team,      Vector, Groups, Kept,  Threads, Spread};
  static constexpr unsigned team = Team, vector = Vector, groups = Groups, threads = Threads;
  static constexpr bool kept = Kept, spread = Spread;
  static constexpr std::size_t row_length = RowLength, chunk = Chunk, chunks = Chunks, walks = Walks,
                               teams = Teams, walks_per_team = WalksPerTeam;
};

template <class Dealt, class Outer, class Inner, class Strides>
struct geometry {};

namespace detail {

template <dealing D>
using dealt_as = dealt<D.team, D.vector, D.groups, D.kept, D.row_length, D.chunk, D.chunks, D.walks, D.teams,
                       D.walks_per_team, D.threads, D.spread>;

template <class Plan, int K>
struct kernel_of {
  // Copied once: compilers take time and memory by the size of the constant that they read from. Sizes and
  // strides of a kernel lie one after another.
  static constexpr kernel_record record = Plan::view().kernels[K];
  static constexpr dealing how = dealing_of(record);
  static constexpr int ranks = record.outer_rank + record.inner_rank;
  static constexpr std::array<std::size_t, static_cast<std::size_t>(ranks)> copy_sizes() {
    std::array<std::size_t, static_cast<std::size_t>(ranks)> copy{};
    copy_run(Plan::view().sizes + record.first_size, copy.size(), copy.data());
    return copy;
  }
  static constexpr std::array<std::ptrdiff_t, static_cast<std::size_t>(ranks* record.accesses)>
  copy_strides() {
    std::array<std::ptrdiff_t, static_cast<std::size_t>(ranks * record.accesses)> copy{};
    const auto p = Plan::view();
    if (record.accesses > 0)
      copy_run(p.strides + p.accesses[record.first_access].first_stride, copy.size(), copy.data());
    return copy;
  }
  static constexpr auto sizes = copy_sizes();
  static constexpr auto by = copy_strides();
  template <int... O, int... I, int... S>
  static constexpr auto whole(std::integer_sequence<int, O...>, std::integer_sequence<int, I...>,
                              std::integer_sequence<int, S...>)
      -> geometry<dealt_as<how>, extents<sizes[O]...>, extents<sizes[record.outer_rank + I]...>,
                  strides<by[S]...>>;
  using type = decltype(whole(std::make_integer_sequence<int, record.outer_rank>{},
                              std::make_integer_sequence<int, record.inner_rank>{},
                              std::make_integer_sequence<int, ranks * record.accesses>{}));
};

}  // namespace detail

/// Geometry of kernel K of a frozen plan.
template <class Plan, int K>
using geometry_of = typename detail::kernel_of<Plan, K>::type;

}  // namespace napkin::on_cuda
