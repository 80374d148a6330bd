// Products as the GPU's own kernels compute them, block by block, by threads on the host; and as cuBLASLt reads
// its descriptors, with what stands beside such a product.
#pragma once

#include <cstddef>

#include "napkin/core/dtype.hpp"
#include "napkin/cuda/finish.hpp"
#include "napkin/cuda/plan.hpp"

namespace napkin::testing {

/// What cuda/contract.hpp launches.
void contract_on_host(const on_cuda::product& p, const void* a, const void* b, void* c, void* workspace);
/// As cuBLASLt reads its descriptors, in doubles, without its epilogue but for scale and what is added; null:
/// nothing is.
void run_product(const on_cuda::product& p, const void* a, const void* b, const void* added, void* c,
                 void* workspace);
/// What the kernels beside products do (cuda/finish.hpp).
void finish_on_host(const on_cuda::product& p, on_cuda::apart left, const on_cuda::finish_operands& at);
void round_on_host(dtype type, const std::byte* from, std::byte* to, std::size_t size);

}  // namespace napkin::testing
