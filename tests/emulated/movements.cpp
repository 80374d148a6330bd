// What a sum by indices moves, its sort included: the bytes that its kernels load and store, beside the plan's.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "emulated/device.hpp"
#include "napkin/cuda/memory.hpp"
#include "napkin/cuda/movement_call.hpp"
#include "napkin/cuda/transfer.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;

namespace {

struct moved {
  nk::byte_counts said;  // of the workspace
  nk::testing::ptx::counts counted;
  std::uint64_t values = 0, indices = 0, result = 0, searched = 0;  // bytes
};

/// Of the keys that the join looks at for the ends of segments: three of a piece at most, and of a segment
/// that goes on four at a time by each of the eight threads that add it up.
std::uint64_t bytes_searched(std::vector<std::int32_t> keys, std::size_t length) {
  std::sort(keys.begin(), keys.end());
  std::uint64_t looked = 0;
  for (std::size_t begin = 0; begin + length < keys.size(); begin += length) {
    const std::size_t end = begin + length;
    looked += 2;
    if (keys[end] != keys[end - 1]) continue;
    looked += begin > 0;
    if (begin == 0 || keys[begin - 1] != keys[end]) looked += std::uint64_t{8} * 4;
  }
  return looked * 4;
}

/// Of rows of four numbers, as many as there are indices, in no order of theirs.
moved scatter(std::size_t picks, std::size_t size, std::size_t run = 4) {
  nk::planning::movement_record r;
  r.kind = nk::planning::unit_kind::scatter_add;
  r.from_shape = {picks, run}, r.from_stride = {static_cast<std::ptrdiff_t>(run), 1};
  r.index_shape = {picks}, r.index_stride = {1};
  r.to_shape = {size, run}, r.step = {1, 1};
  std::vector<std::int32_t> index(picks);
  for (std::size_t i = 0; i < picks; ++i) index[i] = static_cast<std::int32_t>(i * 7 % size);

  on_cuda::cuda_calls& calls = on_cuda::cuda_runtime();
  const on_cuda::stream on(calls);
  const on_cuda::device_memory from(calls, picks * run * 4), at(calls, picks * 4), to(calls, size * run * 4),
      workspace(calls, on_cuda::workspace_of(r)), fault(calls, sizeof(on_cuda::index_fault));
  on_cuda::fill_with_zeros(on, from.data(), from.size());
  on_cuda::fill_with_zeros(on, fault.data(), fault.size());
  on_cuda::copy_to_device(on, at.data(), std::as_bytes(std::span(index)));
  const on_cuda::movement_call call(r, {from.data(), at.data(), to.data(), workspace.data(),
                                        reinterpret_cast<on_cuda::index_fault*>(fault.data())});
  on.synchronize();
  nk::testing::counts_since();
  call.run(on.handle());
  on.synchronize();
  return {on_cuda::workspace_bytes_of(r),
          nk::testing::counts_since(),
          from.size(),
          at.size(),
          to.size(),
          bytes_searched(index, on_cuda::detail::layout_of_scatter(r).length)};
}

}  // namespace

// But for the sort's own counters, and for partial sums that there are none of. The result is written twice: zeros
// first.
TEST_CASE("emulated: a sum by indices moves what its plan says, its sort too, within 5%") {
  using sizes = std::pair<std::size_t, std::size_t>;  // one tile of the sort; several, in one pass and in two
  for (const auto& [picks, size] : {sizes{3000, 900}, sizes{20000, 200}, sizes{20000, 3000}}) {
    const moved m = scatter(picks, size);
    CAPTURE(picks, size, m.said.read, m.said.written);
    const auto read = static_cast<double>(m.said.read + m.values + m.indices + m.searched),
               written = static_cast<double>(m.said.written + 2 * m.result);
    CHECK(std::abs(static_cast<double>(m.counted.load_bytes) - read) <= 0.05 * read);
    CHECK(std::abs(static_cast<double>(m.counted.store_bytes) - written) <= 0.05 * written);
  }
}

// Which are read by every thread that looks for its own, once more or less in memory's eyes.
TEST_CASE("emulated: a sum that looks through its indices reads each value once and writes the result once") {
  const moved m = scatter(300, 40, 64);
  CHECK(m.said == nk::byte_counts{});
  CHECK(m.counted.store_bytes == m.result);
  const std::uint64_t threads = 40 * 64 / 4 * 32;              // 32 of them look for the same ones
  CHECK(m.counted.load_bytes == m.values + threads * 16 * 4);  // twice eight indices of 300 each
}
