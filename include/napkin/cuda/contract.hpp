// Launching the loops of a contraction that is no GEMM.
#pragma once

#include "napkin/cuda/calls.hpp"
#include "napkin/cuda/loop_product.hpp"

namespace napkin::on_cuda {

/// Put c = a * b into the stream, by the product's loops. a, b, c: addresses on the device of the element at
/// index 0 of every axis. Launch errors are the stream's to check.
void contract_by_loops(const product& p, const void* a, const void* b, void* c, stream_handle on);

}  // namespace napkin::on_cuda
