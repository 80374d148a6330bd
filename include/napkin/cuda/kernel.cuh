// Fused kernels as nvcc compiles them: teams' threads side by side, or spread. No name, string or expression
// stands in their symbols: a program and a geometry do, which are enumerators and integers.
#pragma once

#include <type_traits>

#include "napkin/cuda/column_sums.hpp"
#include "napkin/cuda/device_machine.cuh"
#include "napkin/cuda/early_start.cuh"
#include "napkin/cuda/fused.hpp"
#include "napkin/cuda/small_product_body.hpp"
#include "napkin/cuda/taken_product.hpp"

// What nvcc compiles for where nothing is said (nvcc 13: 7.5) has not all instructions.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#error napkin: kernels are for GPUs of compute capability 8.0 and later: give nvcc their architecture, -arch=sm_90
#endif

namespace napkin::on_cuda {

namespace detail {

/// Joins the values of a team: within a warp by halves, each lane with the one `half` away; warps likewise,
/// or in order where they are no power of two. Several values meet once: begin_join of each, meet, end_join.
/// Joins take turns in `Rooms` rooms, two at least, as others may still read the one before (listed_program's
/// joining_rooms). A block has `Warps`.
template <unsigned Rooms, unsigned Warps>
class team_exchange {
 public:
  static constexpr bool joins_several = true;
  template <class R>
  static __device__ __forceinline__ R from_lane(R x, unsigned half) {
    if constexpr (sizeof(R) < 4)
      return static_cast<R>(__shfl_xor_sync(0xffffffffu, static_cast<int>(x), half));
    else
      return __shfl_xor_sync(0xffffffffu, x, half);
  }
  template <op Kind, dtype Type, class R>
  __device__ __forceinline__ R join(R x, unsigned team) {
    x = begin_join<Kind, Type, 1>(x, team, 0);
    meet(team);
    return end_join<Kind, Type, 1>(x, team, 0);
  }
  /// Value i of `Values`.
  template <op Kind, dtype Type, unsigned Values, class R>
  __device__ __forceinline__ R begin_join(R x, unsigned team, unsigned i) {
#pragma unroll
    for (unsigned half = (team < 32 ? team : 32) / 2; half > 0; half /= 2)
      x = combined<Kind, Type>(x, from_lane(x, half));
    if (team > 32 && threadIdx.x % 32 == 0) room<R, Values>(turn_, i)[threadIdx.x / 32] = x;
    return x;
  }
  __device__ __forceinline__ void meet(unsigned team) {
    if (team <= 32) return;
    __syncthreads();
    last_ = turn_;
    turn_ = turn_ + 1 == Rooms ? 0 : turn_ + 1;
  }
  template <op Kind, dtype Type, unsigned Values, class R>
  __device__ __forceinline__ R end_join(R x, unsigned team, unsigned i) {
    if (team <= 32) return x;
    const unsigned warps = team / 32;
    const R* const of_warp = room<R, Values>(last_, i);
    if ((warps & (warps - 1)) == 0) {
      x = of_warp[threadIdx.x % warps];
#pragma unroll
      for (unsigned half = warps / 2; half > 0; half /= 2) x = combined<Kind, Type>(x, from_lane(x, half));
    } else {
      x = of_warp[0];
#pragma unroll
      for (unsigned w = 1; w < warps; ++w) x = combined<Kind, Type>(x, of_warp[w]);
    }
    return x;
  }

 private:
  unsigned turn_ = 0, last_ = 0;

  template <class R, unsigned Values>
  static __device__ __forceinline__ R* room(unsigned turn, unsigned i) {
    __shared__ R of_warp[Rooms][Values][Warps];
    return of_warp[turn][i];
  }
};

/// The same of teams whose threads lie `Apart` apart, through shared memory.
template <unsigned Threads, unsigned Apart>
struct spread_exchange {
  template <op Kind, dtype Type, class R>
  __device__ __forceinline__ R join(R x, unsigned) {
    __shared__ R of_thread[Threads];
#pragma unroll
    for (unsigned half = Threads / Apart / 2; half > 0; half /= 2) {
      of_thread[threadIdx.x] = x;
      __syncthreads();
      x = combined<Kind, Type>(x, of_thread[threadIdx.x ^ (half * Apart)]);
      __syncthreads();  // before the next value is written there
    }
    return x;
  }
};

template <class Thread, class Exchange, int... Phase>
__device__ __forceinline__ void run_phases(Thread& t, Exchange& exchange,
                                           std::integer_sequence<int, Phase...>) {
  ((t.template begin_phase<Phase>(), t.template elements<Phase>(), t.template join<Phase>(exchange)), ...);
}

/// Blocks that a multiprocessor must be able to hold at a time. Asked for one, ptxas takes the registers
/// that it needs; not asked (0) it aims at more blocks, at times for a few bytes of local memory. Threads
/// that hold pieces of a row have enough loads on their way with fewer blocks. Where rows are walked again
/// all teams run at a time, of programs that 64 registers suffice for: short ones, not of f64.
template <class Program, class Geometry>
constexpr unsigned find_least_blocks() {
  using kernel = fused<Program, Geometry>;
  using dealt = typename kernel::dealt;
  if (!dealt::kept && !dealt::spread && dealt::walks_per_team > 1 && dealt::threads == hungry_team &&
      kernel::layout::inner_rank == 1 && kernel::listed::words() == 1 && kernel::listed::count <= 48)
    return static_cast<unsigned>(unkept_teams / processors);
  return dealt::groups > 1 ? 1 : 0;
}
template <class Program, class Geometry>
inline constexpr unsigned least_blocks = find_least_blocks<Program, Geometry>();

/// Steps. The longest program that a device has timed, GPT-2's, has 52; of random graphs, as
/// tests/emulated/random has them, the shortest whose variable was left on the stack had 54.
inline constexpr std::size_t longest_with_variable = 52;

/// What a thread of `Threads` in a block does, of teams side by side or spread. Each thread of a block takes
/// as many walks as every other, some of them empty: they meet where values are joined.
template <class Program, class Geometry, unsigned Threads>
__device__ __forceinline__ void run_teams(const typename fused<Program, Geometry>::arguments& k,
                                          std::byte* room, bool has_room, made_rows made = {}) {
  using dealt = typename fused<Program, Geometry>::dealt;
  using thread = typename fused<Program, Geometry>::thread;
  constexpr unsigned teams = Threads / dealt::team;
  // Of a variable's values nvcc makes the fewest branches, but a long program's it leaves on the stack: there
  // it is a constant in memory, of which nothing is left either once all is inlined.
  [[maybe_unused]] constexpr auto variable = fused<Program, Geometry>::make_layout();
  [[maybe_unused]] static constexpr auto in_memory = fused<Program, Geometry>::make_layout();
  constexpr bool is_long = fused<Program, Geometry>::listed::count > longest_with_variable;
  const auto& layout = is_long ? in_memory : variable;
  unsigned team = dealt::spread ? threadIdx.x % teams : teams == 1 ? 0 : threadIdx.x / dealt::team;
  if constexpr (fused<Program, Geometry>::is_alone && dealt::team == warp)
    team = __shfl_sync(0xffffffffu, team, 0);  // the compiler is told that it is the warp's
  const unsigned lane = dealt::spread ? threadIdx.x / teams : threadIdx.x % dealt::team;
  thread t(k, layout, room, has_room, typename thread::index{blockIdx.x} * teams + team, lane, made);
  constexpr unsigned warps = (Threads + warp - 1) / warp;
  constexpr unsigned rooms = fused<Program, Geometry>::listed::joining_rooms(warps, block_memory / 4);
  std::conditional_t<dealt::spread, spread_exchange<Threads, teams>, team_exchange<rooms, warps>> exchange;
  constexpr bool is_alone = fused<Program, Geometry>::is_alone;
  const auto walks = is_alone ? t.walks : static_cast<typename thread::index>(dealt::walks_per_team);
  for (typename thread::index i = 0; i < walks; ++i) {
    t.begin_walk(i, is_alone);
    run_phases(t, exchange, std::make_integer_sequence<int, thread::phases>{});
  }
  t.end_team();
}

}  // namespace detail

/// Threads: `dealt::threads` a block. `has_room`: it is launched with as much shared memory as rows are to
/// lie in.
template <class Program, class Geometry, unsigned Threads>
__global__ void __launch_bounds__(Threads, detail::least_blocks<Program, Geometry>)
    fused_kernel(const __grid_constant__ typename fused<Program, Geometry>::arguments k, bool has_room) {
  wait_for_earlier_kernels();
  std::byte* room = nullptr;
  if constexpr (fused<Program, Geometry>::room > 0) {
    extern __shared__ __align__(16) std::byte room_of_rows[];
    room = room_of_rows;
  }
  detail::run_teams<Program, Geometry, Threads>(k, room, has_room);
}

/// The same behind a block's rows of a product (cuda/taken_product.hpp), which access `Access` reads then,
/// where they lie in shared memory. The first `RowThreads` have the rows.
template <class Program, class Geometry, unsigned RowThreads, dtype Type, bool AAlongRows, int Access>
__global__ void __launch_bounds__(taking_threads)
    taking_kernel(const __grid_constant__ typename fused<Program, Geometry>::arguments k,
                  const __grid_constant__ small_product p) {
  wait_for_earlier_kernels();
  constexpr std::size_t length = fused<Program, Geometry>::dealt::row_length;
  using columns =
      detail::taken_columns<detail::device_machine, Type, AAlongRows, static_cast<unsigned>(length)>;
  static_assert(RowThreads <= taking_threads && columns::threads == taking_threads &&
                sizeof(typename columns::memory) == taking_memory(Type, length));
  __shared__ typename columns::memory shared;
  detail::device_machine machine;
  const unsigned first = blockIdx.x * static_cast<unsigned>(taken_rows);
  columns::run(machine, p, first, shared);
  if (threadIdx.x >= RowThreads) return;
  std::byte* const row_zero =
      reinterpret_cast<std::byte*>(&shared.c[0][0]) - first * std::ptrdiff_t{length * size_of(Type)};
  detail::run_teams<Program, Geometry, RowThreads>(k, nullptr, false,
                                                   {Access, row_zero, std::size_t{first} + taken_rows});
}

/// Columns of one kernel, of one kind and dtype.
template <dtype Type>
struct columns_to_join {
  const std::byte* partials[planning::joined_columns];
  const type_of<Type>* added[planning::joined_columns];
  type_of<Type>* to[planning::joined_columns];
};

/// The teams' sums of each column made one, and added to what lies at `added`, if that is not null. Blocks of
/// 32 elements by `column_slices`; which of the columns, by blockIdx.y.
template <op Kind, dtype Type>
__global__ void __launch_bounds__(32 * column_slices)
    join_columns(const __grid_constant__ columns_to_join<Type> k, std::size_t per_team, std::size_t teams,
                 std::size_t length) {
  wait_for_earlier_kernels();
  __shared__ register_type<Type> sums[column_slices][32];
  const std::size_t i = std::size_t{blockIdx.x} * 32 + threadIdx.x;
  if (i < length)
    sums[threadIdx.y][threadIdx.x] =
        join_slice<Kind, Type>(k.partials[blockIdx.y], per_team, teams, i, threadIdx.y);
  for (unsigned half = column_slices / 2; half > 0; half /= 2) {
    __syncthreads();
    if (i < length && threadIdx.y < half)
      sums[threadIdx.y][threadIdx.x] =
          combined<Kind, Type>(sums[threadIdx.y][threadIdx.x], sums[threadIdx.y + half][threadIdx.x]);
  }
  if (i < length && threadIdx.y == 0)
    k.to[blockIdx.y][i] = joined<Type>(sums[0][threadIdx.x], k.added[blockIdx.y], i);
}

}  // namespace napkin::on_cuda
