// A GPU of one processor, on the host: runs a kernel's blocks in turn, and a block's warps from one meeting to the
// next. See memory.hpp for what it checks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "emulated/memory.hpp"
#include "emulated/ptx.hpp"
#include "emulated/warp.hpp"

namespace napkin::testing::ptx {

struct grid {
  std::array<std::uint32_t, 3> blocks{1, 1, 1}, threads{1, 1, 1};
  std::size_t shared = 0;  // bytes beyond the kernel's own
};

/// What a launch did. A request is one instruction of one warp; a sector 32 bytes of memory in line with
/// their size; a wavefront as much as shared memory gives at once: a word of each of 32 banks.
struct counts {
  std::uint64_t instructions = 0;                 // of warps
  std::uint64_t products = 0;                     // of those: mma
  std::uint64_t loads = 0, stores = 0;            // requests to global memory
  std::uint64_t load_bytes = 0, store_bytes = 0;  // asked for by lanes
  std::uint64_t load_sectors = 0, store_sectors = 0;
  std::uint64_t shared_requests = 0, shared_wavefronts = 0, least_wavefronts = 0;

  counts& operator+=(const counts& x) {
    instructions += x.instructions, products += x.products;
    loads += x.loads, stores += x.stores;
    load_bytes += x.load_bytes, store_bytes += x.store_bytes;
    load_sectors += x.load_sectors, store_sectors += x.store_sectors;
    shared_requests += x.shared_requests;
    shared_wavefronts += x.shared_wavefronts, least_wavefronts += x.least_wavefronts;
    return *this;
  }
};

/// A block while it runs.
class block {
 public:
  block(const kernel& k, const grid& g, std::span<const std::byte> parameters, global_memory& global,
        watched& shared, std::uint64_t launch, std::uint64_t number, counts& counted);
  void run();

  // ---- for instructions. Addresses are checked; what is wrong is thrown as std::runtime_error.
  const std::byte* parameter(std::uint64_t at, std::size_t bytes, const instruction& i) const;
  std::byte* touch(warp& w, const instruction& i, space where, std::uint64_t at, std::size_t bytes,
                   unsigned lane, bool writes, bool watch = true);
  /// The same of all lanes of one instruction, each with its address. Neighbours that read the same bytes do
  /// so as one.
  template <bool Writes>
  void touch_each(warp& w, const instruction& i, space where, std::span<const std::uint64_t> at,
                  const unsigned* lane, std::size_t bytes, std::byte** memory);
  /// Of one instruction, the addresses of the lanes that take part: what it costs.
  void count(space where, std::span<const std::uint64_t> at, std::size_t bytes, bool writes);
  counts& counted() { return *counted_; }

  const grid& shape() const { return *grid_; }
  std::array<std::uint32_t, 3> index() const;
  [[noreturn]] void fail(const instruction& i, const std::string& why, int thread = -1) const;
  bool vote = false;  // bar.red: what its threads have said so far

 private:
  const kernel* kernel_;
  const grid* grid_;
  std::span<const std::byte> parameters_;
  global_memory* global_;
  watched* shared_;
  std::uint64_t launch_, number_, epoch_ = 0;
  counts* counted_;

  struct found {
    watched& memory;
    std::size_t offset;
  };
  found find(const instruction& i, space where, std::uint64_t at, std::size_t bytes, unsigned thread);
};

/// Runs a kernel to its end. `parameters`: as the kernel lays them out.
counts run(const kernel& k, const grid& g, std::span<const std::byte> parameters, global_memory& global);

}  // namespace napkin::testing::ptx
