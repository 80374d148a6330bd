// What the library's kernels would do beside the calls that these tests look at, which needs no nvcc here:
// the addresses of a batch, in memory that is the host's; a device that waits for the host.
#include "napkin/cuda/batch_addresses.hpp"
#include "napkin/cuda/launch.hpp"
#include "napkin/cuda/time_in_turns.hpp"

namespace napkin::on_cuda {

void write_addresses(const batch_addresses& x, stream_handle) {
  for (std::uint64_t i = 0; i < x.size(); ++i) x.to[i] = x.address(i);
}

void occupy(unsigned, stream_handle) {}
bool library_waits_for_earlier() { return true; }

}  // namespace napkin::on_cuda
