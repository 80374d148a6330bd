// Products as the GPU's own kernels compute them, block by block, by threads on the host; and as cuBLASLt reads
// its descriptors, with what stands beside such a product.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "napkin/core/dtype.hpp"
#include "napkin/cuda/finish.hpp"
#include "napkin/cuda/plan.hpp"
#include "napkin/cuda/small_product_body.hpp"
#include "napkin/cuda/taken_product.hpp"
#include "support/host_warps.hpp"

namespace napkin::testing {

/// What cuda/contract.hpp launches.
void contract_on_host(const on_cuda::product& p, const void* a, const void* b, void* c, void* workspace);
/// As cuBLASLt reads its descriptors, in doubles, without its epilogue but for scale and what is added; null:
/// nothing is.
void run_product(const on_cuda::product& p, const void* a, const void* b, const void* added, void* c,
                 void* workspace);
/// What cuda/small_product.hpp launches.
void multiply_small_on_host(const on_cuda::small_product& p);
/// The shared memory of a block that takes in rows of a product from `first` on.
template <on_cuda::taken_form Form, std::size_t Length>
class taken_rows_of {
 public:
  taken_rows_of(const on_cuda::small_product& p, std::size_t first)
      : first_(first), shared_(std::make_unique<typename columns::memory>()) {
    std::memset(static_cast<void*>(shared_.get()), 0x7f, sizeof(*shared_));
    std::vector<host_warp> warps(columns::threads / 32);
    host_block& block = host_block::of(columns::threads);
    block.run([&](unsigned thread) {
      host_machine machine(block, warps, thread);
      columns::run(machine, p, static_cast<unsigned>(first), *shared_);
    });
  }
  /// Where row 0 would lie.
  std::byte* row_zero() const {
    const auto at = reinterpret_cast<std::uintptr_t>(shared_->c);
    return reinterpret_cast<std::byte*>(at - first_ * Length * size_of(Form.type));
  }

 private:
  using columns = on_cuda::detail::taken_columns<host_machine, Form.type, Form.a_along_rows,
                                                 static_cast<unsigned>(Length)>;
  std::size_t first_;
  std::unique_ptr<typename columns::memory> shared_;
};
/// What the kernels beside products do (cuda/finish.hpp).
void finish_on_host(const on_cuda::product& p, on_cuda::apart left, const on_cuda::finish_operands& at);
void round_on_host(dtype type, const std::byte* from, std::byte* to, std::size_t size);

}  // namespace napkin::testing
