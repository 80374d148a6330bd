// Movements as the GPU's threads do them, in a random order, on the host. CUB's sort is std::stable_sort on
// the bits that CUB is given.
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <numeric>
#include <random>
#include <variant>
#include <vector>

#include "../../src/cuda/movement_launch.hpp"

namespace napkin::testing {

struct dice {
  std::mt19937_64 engine;
  explicit dice(std::uint64_t seed) : engine(seed) {}
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(engine() % n); }
  template <class T>
  T one_of(std::initializer_list<T> of) {
    return of.begin()[below(of.size())];
  }
};

/// Every thread of a launch, in a random order.
template <class F>
void for_each_thread(dice& d, std::size_t threads, F&& f) {
  std::vector<std::size_t> order(threads);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), d.engine);
  for (const std::size_t t : order) f(t);
}

/// What the launcher in movement.cu does, on the host.
struct host_launcher {
  dice& d;
  unsigned unit;

  void operator()(std::monostate) const {}
  template <class Offset>
  void operator()(const on_cuda::detail::copy_arguments<Offset>& a) const {
    on_cuda::detail::dispatch_unit(unit, [&]<unsigned Bytes>() {
      for_each_thread(d, on_cuda::detail::threads_for_units(a.count), [&](std::size_t t) {
        on_cuda::detail::copy_units<Bytes>(a, static_cast<on_cuda::detail::count_of<Offset>>(t));
      });
    });
  }
  template <class Offset>
  void operator()(const on_cuda::detail::pad_arguments<Offset>& a) const {
    on_cuda::detail::dispatch_unit(unit, [&]<unsigned Bytes>() {
      for_each_thread(d, on_cuda::detail::threads_for_units(a.count), [&](std::size_t t) {
        on_cuda::detail::pad_units<Bytes>(a, static_cast<on_cuda::detail::count_of<Offset>>(t));
      });
    });
  }
  template <class Offset>
  void operator()(const on_cuda::detail::gather_arguments<Offset>& a) const {
    on_cuda::detail::dispatch_unit(unit, [&]<unsigned Bytes>() {
      for_each_thread(d, on_cuda::detail::threads_for_units(a.count), [&](std::size_t t) {
        on_cuda::detail::gather_units<Bytes>(a, static_cast<on_cuda::detail::count_of<Offset>>(t));
      });
    });
  }
  template <class Offset>
  void operator()(const on_cuda::detail::key_arguments<Offset>& a) const {
    for_each_thread(d, a.count + 100, [&](std::size_t t) {
      on_cuda::detail::write_key(a, static_cast<on_cuda::detail::count_of<Offset>>(t));
    });
  }
  template <class Offset>
  void operator()(const on_cuda::detail::scatter_arguments<Offset>& s) const {
    host_launcher{d, s.zero_unit}(s.zeros);
    if (s.layout.picks == 0) return;
    (*this)(s.keys);
    on_cuda::detail::sum_arguments<Offset> a = s.sums;
    sort(s, a);
    const std::size_t threads = std::size_t{a.pieces} * a.outer_count * a.columns;
    using count = on_cuda::detail::count_of<Offset>;
    on_cuda::detail::dispatch_sum<Offset>(s.type, s.vector, [&]<dtype Type, unsigned Vector>() {
      for_each_thread(d, threads + 100, [&](std::size_t t) {
        on_cuda::detail::sum_piece<Type, Vector>(a, static_cast<count>(t));
      });
      using joined = on_cuda::detail::joined_pieces<Type, Vector, Offset>;
      if (a.pieces > 1)
        for_each_thread(d, a.pieces * joined::blocks_of_piece(a), [&](std::size_t b) {
          joined block(a, static_cast<count>(b));
          block.key = block.find();
          if (block.key != block.none) run_block(block);
        });
    });
  }
  void operator()(const on_cuda::detail::look_arguments& s) const {
    constexpr std::size_t threads = on_cuda::detail::movement_threads;
    on_cuda::detail::dispatch_look(s.type, s.vector, [&]<dtype Type, unsigned Vector>() {
      for_each_thread(d, (s.threads() + threads - 1) / threads, [&](std::size_t b) {
        run_block(on_cuda::detail::looked_for<Type, Vector>(s, static_cast<std::uint32_t>(b)));
      });
    });
  }
  /// What is in shared memory before is anything.
  template <class Block>
  void run_block(const Block& block) const {
    constexpr std::size_t threads = on_cuda::detail::movement_threads;
    std::vector<typename Block::sum> shared(threads * Block::place::vector);
    std::memset(shared.data(), 0x7f, shared.size() * sizeof shared[0]);
    const auto each = [&](auto f) {
      for_each_thread(d, threads, [&](std::size_t t) { f(static_cast<unsigned>(t)); });
    };
    each([&](unsigned t) { block.add(shared.data(), t); });
    each([&](unsigned t) { block.write(shared.data(), t); });
  }
  /// Into either of the two buffers: which one it is depends on the number of passes.
  template <class Offset>
  void sort(const on_cuda::detail::scatter_arguments<Offset>& s,
            on_cuda::detail::sum_arguments<Offset>& a) const {
    const auto at = [&](std::size_t offset) {
      return reinterpret_cast<std::uint32_t*>(s.workspace + offset);
    };
    const std::size_t n = s.layout.picks, to = d.below(2);
    const std::vector<std::uint32_t> keys(s.keys.keys, s.keys.keys + n),
        positions(s.keys.positions, s.keys.positions + n);
    const std::uint32_t mask = s.layout.bits == 32 ? ~0u : (1u << s.layout.bits) - 1;
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t i, std::size_t j) { return (keys[i] & mask) < (keys[j] & mask); });
    std::uint32_t *sorted = at(s.layout.keys[to]), *sorted_positions = at(s.layout.positions[to]);
    std::memset(s.workspace + s.layout.sort, 0x7f, s.layout.sort_bytes);
    for (std::size_t i = 0; i < n; ++i) {
      sorted[i] = keys[order[i]];
      sorted_positions[i] = positions[order[i]];
    }
    a.keys = sorted;
    a.positions = sorted_positions;
  }
};

}  // namespace napkin::testing
