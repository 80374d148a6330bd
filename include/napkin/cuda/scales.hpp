// The scales of a step in 8-bit floats, on the device that runs it: three kernels beside its plans, in the
// stream's order, so that the host is not asked between one step and the next.
#pragma once

#include "napkin/core/delayed_scale.hpp"
#include "napkin/core/dtype.hpp"
#include "napkin/core/inplace_vector.hpp"
#include "napkin/cuda/calls.hpp"

namespace napkin::on_cuda {

/// What the host says of a step's scales.
struct scale_settings {
  std::uint64_t step = 0;  // from 0
  std::int32_t margin = 0;
};

/// Of some of a step's tensors, what a run saw: the largest magnitude of each row. A kernel's argument: of so
/// many as the 4 KB that every device takes have room for.
struct seen_rows {
  struct tensor {
    const float* rows;
    std::size_t count;
  };
  static constexpr std::size_t most = 250;

  std::size_t first = 0;  // index of the first tensor among the step's
  inplace_vector<tensor, most> tensors;
};
static_assert(sizeof(scale_memory) + sizeof(seen_rows) <= 4096);

// All memory is the device's. Launch errors are the stream's to check.

/// Before a step's first run: its scales follow from the history, and nothing is seen yet.
void set_scales(const scale_memory& of, const scale_settings* by, stream_handle on);
/// After each run, of all tensors in turn.
void add_seen(const scale_memory& of, const seen_rows& seen, stream_handle on);
/// At a step's end: what its runs saw becomes part of the history, where the step is applied.
void keep_seen(const scale_memory& of, const scale_settings* by, const b8* applied, stream_handle on);

}  // namespace napkin::on_cuda
