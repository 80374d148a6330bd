// Contractions that are no GEMM or small ones, what stands beside products, and the scales of 8-bit floats, on a
// device that is the host: in place of the library's launches.
#include "napkin/cuda/batch_addresses.hpp"
#include "napkin/cuda/contract.hpp"
#include "napkin/cuda/finish.hpp"
#include "napkin/cuda/scales.hpp"
#include "napkin/cuda/small_product.hpp"
#include "napkin/cuda/time_in_turns.hpp"
#include "support/host_device.hpp"
#include "support/run_teams.hpp"

namespace napkin::on_cuda {

void contract(const product& p, const void* a, const void* b, void* c, void* workspace, stream_handle on) {
  testing::launched_on->launch(on, [=] { testing::contract_on_host(p, a, b, c, workspace); });
}

void multiply_small(const small_product& p, stream_handle on) {
  testing::launched_on->launch(on, [=] {
    testing::multiply_small_on_host(p);
    ++testing::small_products_run;
  });
}

void finish_product(const product& p, apart left, const finish_operands& at, stream_handle on) {
  testing::launched_on->launch(on, [=] { testing::finish_on_host(p, left, at); });
}

void occupy(unsigned, stream_handle on) {
  testing::launched_on->launch(on, [] {});
}
bool library_waits_for_earlier() { return testing::library_waits; }

void write_addresses(const batch_addresses& x, stream_handle on) {
  testing::launched_on->launch(on, [=] {
    for (std::uint64_t i = 0; i < x.size(); ++i) x.to[i] = x.address(i);
  });
}

void round_vector(dtype type, const std::byte* from, std::byte* to, std::size_t size, stream_handle on) {
  testing::launched_on->launch(on, [=] { testing::round_on_host(type, from, to, size); });
}

void set_scales(const scale_memory& of, const scale_settings* by, stream_handle on) {
  testing::launched_on->launch(on, [=] {
    for (std::size_t i = 0; i < of.tensors; ++i) of.set(i, by->margin), of.forget(i);
  });
}

void add_seen(const scale_memory& of, std::span<const seen_rows> seen, stream_handle on) {
  testing::launched_on->launch(on, [of, all = std::vector(seen.begin(), seen.end())] {
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t r = 0; r < all[i].count; ++r) of.add(i, all[i].rows[r]);
  });
}

void keep_seen(const scale_memory& of, const scale_settings* by, const b8* applied, stream_handle on) {
  testing::launched_on->launch(on, [=] {
    if (*applied)
      for (std::size_t i = 0; i < of.tensors; ++i) of.keep(i, by->step);
  });
}

}  // namespace napkin::on_cuda
