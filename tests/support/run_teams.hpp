// GPU kernels on the host: a team's threads in turn, a phase at a time, their values joined in the order in
// which the device joins them; of a kernel in tiles, a block's threads. A whole plan is run so: its kernels
// by teams, its attentions by warps, its contractions and movements by the CPU's own code.
#pragma once

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "napkin/cpu/attention.hpp"
#include "napkin/cpu/movement.hpp"
#include "napkin/cuda/column_sums.hpp"
#include "napkin/cuda/fused.hpp"
#include "napkin/cuda/plan.hpp"
#include "napkin/cuda/tiled.hpp"
#include "napkin/plan/uses.hpp"
#include "napkin/tensor/storage.hpp"
#include "support/host_products.hpp"

namespace napkin::testing {

/// What the threads of a team hand over when values are joined: first each notes its own, then each asks, and
/// the first that does has them joined.
class host_exchange {
 public:
  void ask() { asking_ = true; }
  void begin_thread() { next_ = 0; }

  template <op Kind, dtype Type, class R>
  R join(R x, unsigned team) {
    if (next_ == noted_.size()) noted_.emplace_back();
    std::vector<value>& all = noted_[next_++];
    if (!asking_) {
      value v{};
      std::memcpy(v.data(), &x, sizeof x);
      all.push_back(v);
      return x;
    }
    R sum;
    if (all.size() > team) {
      std::memcpy(&sum, all[team].data(), sizeof sum);
      return sum;
    }
    std::vector<R> lanes(team);
    for (std::size_t l = 0; l < team; ++l) std::memcpy(&lanes[l], all[l].data(), sizeof(R));
    for (unsigned half = (team < 32 ? team : 32) / 2; half > 0; half /= 2) {
      const std::vector<R> before = lanes;
      for (unsigned l = 0; l < team; ++l)
        lanes[l] = planning::combined<Kind, Type>(before[l], before[l ^ half]);
    }
    sum = lanes[0];
    for (unsigned w = 32; w < team; w += 32) sum = planning::combined<Kind, Type>(sum, lanes[w]);
    all.emplace_back();
    std::memcpy(all.back().data(), &sum, sizeof sum);
    return sum;
  }

 private:
  using value = std::array<std::byte, 8>;
  std::vector<std::vector<value>> noted_;
  std::size_t next_ = 0;
  bool asking_ = false;
};

template <int Phase, class Thread>
void run_phase(std::vector<Thread>& team) {
  for (Thread& t : team) t.template begin_phase<Phase>(), t.template elements<Phase>();
  host_exchange exchange;
  for (Thread& t : team) exchange.begin_thread(), t.template join<Phase>(exchange);
  exchange.ask();
  for (Thread& t : team) exchange.begin_thread(), t.template join<Phase>(exchange);
}

/// Whether teams are given shared memory for the rows that they read again, as a device has it or not.
inline bool gives_room = true;

/// Shared memory begins as what no kernel should read. Teams from `first` on, all or so many.
template <class Program, class Geometry>
void run_teams(const typename on_cuda::fused<Program, Geometry>::arguments& k, std::size_t first = 0,
               std::size_t count = std::size_t(-1), on_cuda::detail::made_rows made = {}) {
  using thread = typename on_cuda::fused<Program, Geometry>::thread;
  constexpr auto layout = on_cuda::fused<Program, Geometry>::make_layout();
  constexpr const on_cuda::dealing& how = on_cuda::fused<Program, Geometry>::dealt::value;
  using index = typename thread::index;
  for (auto number = static_cast<index>(first);
       number < how.blocks() * how.teams_per_block() && number - first < count; ++number) {
    std::vector<double> shared((on_cuda::fused<Program, Geometry>::room + sizeof(double) - 1) /
                               sizeof(double));
    if (!shared.empty()) std::memset(shared.data(), 0xff, shared.size() * sizeof(double));
    const bool has_room = gives_room && !shared.empty();
    std::vector<thread> team;
    for (unsigned lane = 0; lane < how.team; ++lane)
      team.emplace_back(k, layout, reinterpret_cast<std::byte*>(shared.data()), has_room, number, lane, made);
    if (number >= how.teams) continue;  // past the last: such a team has nothing to do but to meet
    constexpr bool is_alone = on_cuda::fused<Program, Geometry>::is_alone;
    const index walks = is_alone ? team[0].walks : static_cast<index>(how.walks_per_team);
    for (index i = 0; i < walks; ++i) {
      for (thread& t : team) t.begin_walk(i, is_alone);
      [&]<int... Phase>(std::integer_sequence<int, Phase...>) { (run_phase<Phase>(team), ...); }
      (std::make_integer_sequence<int, thread::phases>{});
    }
    for (thread& t : team) t.end_team();
  }
}

/// A kernel in tiles: all threads of a block fetch, then all compute. Shared memory as above.
template <class Kernel>
void run_tiles(const typename Kernel::arguments& k) {
  for (std::size_t number = 0; number < Kernel::blocks; ++number) {
    std::vector<double> room((Kernel::shared_bytes + sizeof(double) - 1) / sizeof(double));  // aligned
    std::memset(room.data(), 0xff, room.size() * sizeof(double));
    std::vector<typename Kernel::thread> block;
    for (unsigned lane = 0; lane < on_cuda::tile_threads; ++lane)
      block.push_back({k, reinterpret_cast<std::byte*>(room.data()), number, lane});
    for (auto& t : block) t.fetch();
    for (auto& t : block) t.run();
  }
}

/// A kernel as it was chosen: by teams or in tiles.
template <class Kernel>
struct run_kernel;
template <class Program, class Geometry>
struct run_kernel<on_cuda::fused<Program, Geometry>> {
  static void run(const typename on_cuda::fused<Program, Geometry>::arguments& k) {
    run_teams<Program, Geometry>(k);
  }
};
template <class Program, class Geometry, class Tile>
struct run_kernel<on_cuda::tiled<Program, Geometry, Tile>> {
  static void run(const typename on_cuda::tiled<Program, Geometry, Tile>::arguments& k) {
    run_tiles<on_cuda::tiled<Program, Geometry, Tile>>(k);
  }
};

template <op Kind, dtype Type>
void join_columns(const std::byte* partials, std::size_t per_team, std::size_t teams, std::size_t columns,
                  const std::byte* added, std::byte* to) {
  for (std::size_t c = 0; c < columns; ++c) {
    std::vector<planning::register_type<Type>> sums;
    for (unsigned slice = 0; slice < on_cuda::column_slices; ++slice)
      sums.push_back(on_cuda::join_slice<Kind, Type>(partials, per_team, teams, c, slice));
    for (unsigned half = on_cuda::column_slices / 2; half > 0; half /= 2)
      for (unsigned s = 0; s < half; ++s) sums[s] = planning::combined<Kind, Type>(sums[s], sums[s + half]);
    const type_of<Type> x = on_cuda::joined<Type>(sums[0], reinterpret_cast<const type_of<Type>*>(added), c);
    std::memcpy(to + c * sizeof x, static_cast<const void*>(&x), sizeof x);
  }
}

/// Runs a frozen plan for CUDA: its kernels as a GPU would run them, its movements by the CPU's code.
template <class Plan>
class team_executor {
 public:
  team_executor(std::vector<const void*> inputs, std::vector<void*> outputs)
      : arena_(Plan::value.peak), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}

  void run() {
    constexpr auto instructions = Plan::value.instructions.size();
    [&]<std::size_t... N>(std::index_sequence<N...>) { (run_instruction<N>(), ...); }
    (std::make_index_sequence<instructions>{});
  }

 private:
  storage arena_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;

  std::byte* address(const planning::location& l) {
    if (l.where == planning::region::arena) return static_cast<std::byte*>(arena_.data()) + l.at;
    if (l.where == planning::region::output) return static_cast<std::byte*>(outputs_[l.at]);
    return const_cast<std::byte*>(static_cast<const std::byte*>(inputs_[l.at]));
  }

  template <std::size_t N>
  void run_instruction() {
    constexpr planning::instruction now = Plan::value.instructions[N];
    if constexpr (now.kind == passes::unit_kind::kernel) {
      run_kernel<now.index>();
    } else if constexpr (now.kind == passes::unit_kind::contraction) {
      run_contraction(Plan::value.contractions[now.index]);
    } else if constexpr (now.kind == passes::unit_kind::attention) {
      on_cpu::attention_call at;
      for (std::size_t x = 0; x < passes::attention_tensors; ++x) {
        const planning::attention_operand& from = Plan::value.attentions[now.index].operands[x];
        if (from.there) at.of[x] = address(from.at) + from.offset;
      }
      on_cpu::attend(Plan::value.attentions[now.index], at);
    } else {
      const planning::movement_record& r = Plan::value.movements[now.index];
      const bool indexed = planning::looks_up(r.kind);
      on_cpu::movement(r, address(r.from) + r.from_offset,
                       indexed ? address(r.index) + r.index_offset : nullptr, address(r.to))
          .run();
    }
  }

  void run_contraction(const planning::contraction_record& r) {
    using planning::epilogue_operand;
    const on_cuda::product& p = Plan::value.products[static_cast<std::size_t>(r.product)];
    const auto other = [&](epilogue_operand x) { return r.of(x).bytes > 0 ? address(r.of(x).at) : nullptr; };
    std::byte* vector = other(epilogue_operand::vector);
    if (p.follows.rounds_vector()) {
      std::byte* const rounded = static_cast<std::byte*>(arena_.data()) + r.workspace + p.gemm.workspace;
      round_on_host(p.follows.type, vector, rounded, p.follows.vector_size);
      vector = rounded;
    }
    run_product(p, address(r.a) + r.a_offset, address(r.b) + r.b_offset, other(epilogue_operand::added),
                address(r.c), static_cast<std::byte*>(arena_.data()) + r.workspace);
    if (r.members > 0)
      finish_on_host(p, on_cuda::apart::all,
                     {.a = address(r.a) + r.a_offset,
                      .b = address(r.b) + r.b_offset,
                      .result = address(r.c),
                      .vector = vector,
                      .auxiliary = other(epilogue_operand::auxiliary),
                      .workspace = static_cast<std::byte*>(arena_.data()) + r.workspace});
  }

  template <int K>
  void run_kernel() {
    constexpr planning::kernel_record r = Plan::value.kernels[K];
    using program = planning::program_of<Plan, r.program>;
    using geometry = on_cuda::geometry_of<Plan, Plan::value.kernels[K].like>;
    using kernel = on_cuda::chosen_kernel<Plan, Plan::value.kernels[K].like, program, geometry>;
    constexpr on_cuda::dealing how = kernel::dealt::value;
    typename kernel::arguments k;
    for (int a = 0; a < r.accesses; ++a) {
      const planning::access_record& access =
          Plan::value.accesses[static_cast<std::size_t>(r.first_access + a)];
      k.memory[a] = address(access.base) + access.offset;
    }
    for (int c = 0; c < r.constants; ++c)
      k.constants[c] = Plan::value.constants[static_cast<std::size_t>(r.first_constant + c)];
    static_assert(how.teams == r.blocks, "the plan reserves workspace for as many teams as there are");
    k.scratch = static_cast<std::byte*>(const_cast<void*>(arena_.data())) + r.scratch;
    k.scratch_per_team = r.scratch_per_block;
    for (int s = 0; s < r.slots; ++s)
      k.slots[s] = Plan::value.slots[static_cast<std::size_t>(r.first_slot + s)];
    k.partials = static_cast<std::byte*>(const_cast<void*>(arena_.data())) + r.partials;
    k.partials_per_team = r.partials_per_block;
    for (int c = 0; c < r.columns; ++c)
      k.columns[c] = Plan::value.columns[static_cast<std::size_t>(r.first_column + c)].begin;
    testing::run_kernel<kernel>::run(k);
    [&]<int... C>(std::integer_sequence<int, C...>) {
      (join_column<K, C>(k.partials, r.partials_per_block, how.teams), ...);
    }
    (std::make_integer_sequence<int, r.columns>{});
  }
  template <int K, int C>
  void join_column(const std::byte* partials, std::size_t per_team, std::size_t teams) {
    constexpr planning::kernel_record r = Plan::value.kernels[K];
    constexpr planning::column_record c = Plan::value.columns[static_cast<std::size_t>(r.first_column + C)];
    join_columns<c.kind, c.type>(partials + c.begin, per_team, teams, r.row_length,
                                 c.adds ? address(c.added) : nullptr, address(c.to));
  }
};

}  // namespace napkin::testing
