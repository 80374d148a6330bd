// The scales of a step in 8-bit floats, on the device that runs it: three kernels beside its plans, in the
// stream's order, so that the host is not asked between one step and the next.
#pragma once

#include <span>

#include "napkin/core/delayed_scale.hpp"
#include "napkin/core/dtype.hpp"
#include "napkin/cuda/calls.hpp"

namespace napkin::on_cuda {

/// What the host says of a step's scales.
struct scale_settings {
  std::uint64_t step = 0;  // from 0
  std::int32_t margin = 0;
};

/// What a run saw of a tensor: the largest magnitude of each row.
struct seen_rows {
  const float* rows = nullptr;
  std::size_t count = 0;
};

// All memory is the device's. Launch errors are the stream's to check.

/// Before a step's first run: its scales follow from the history, and nothing is seen yet.
void set_scales(const scale_memory& of, const scale_settings* by, stream_handle on);
/// After each run: what it saw of each tensor, in their order.
void add_seen(const scale_memory& of, std::span<const seen_rows> seen, stream_handle on);
/// At a step's end: what its runs saw becomes part of the history, where the step is applied.
void keep_seen(const scale_memory& of, const scale_settings* by, const b8* applied, stream_handle on);

}  // namespace napkin::on_cuda
