// Reading many numbers on all threads, to find one that is not finite.
#include "napkin/train/finite.hpp"

#include <algorithm>
#include <atomic>

#include "napkin/cpu/threads.hpp"
#include "napkin/train/checkpoint_file.hpp"

namespace napkin::detail {

bool all_finite(std::span<const float> x) {
  constexpr std::size_t piece = std::size_t{1} << 16;
  std::atomic<bool> finite = true;
  on_cpu::parallel_for((x.size() + piece - 1) / piece, [&](std::size_t i) {
    const std::span<const float> part = x.subspan(i * piece, std::min(piece, x.size() - i * piece));
    if (!all_finite({"", dtype::f32, {part.size()}, part.data()}))
      finite.store(false, std::memory_order_relaxed);
  });
  return finite;
}

std::size_t first_nonfinite(const named_memory* tensors, std::size_t count) {
  std::atomic<std::size_t> first = count;
  on_cpu::parallel_for(count, [&](std::size_t i) {
    if (all_finite({"", dtype::f32, {tensors[i].count}, tensors[i].data})) return;
    std::size_t found = first.load(std::memory_order_relaxed);
    while (i < found && !first.compare_exchange_weak(found, i, std::memory_order_relaxed)) {
    }
  });
  return first;
}

}  // namespace napkin::detail
