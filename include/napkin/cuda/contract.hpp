// Launching our own kernel for a contraction that is no GEMM, or of which cuBLASLt has no algorithm.
#pragma once

#include "napkin/cuda/calls.hpp"
#include "napkin/cuda/plan.hpp"

namespace napkin::on_cuda {

/// Put c = a * b into the stream, by the product's loops. a, b, c: addresses on the device of the element at
/// index 0 of every axis; workspace: where the plan keeps the product's. Launch errors are the stream's to
/// check.
///
/// Errors  `error` where products of its dtype have no sums.
void contract(const product& p, const void* a, const void* b, void* c, void* workspace, stream_handle on);

}  // namespace napkin::on_cuda
