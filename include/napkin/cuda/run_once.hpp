// Running the plan of an expression once, on the device: its inputs are tensors there and numbers of the
// host's.
#pragma once

#include <cstddef>
#include <span>

#include "napkin/cuda/executor.hpp"
#include "napkin/cuda/session.hpp"

namespace napkin::on_cuda {

/// An input of an expression: where a tensor lies on the device, or a number, which is copied there.
struct leaf {
  const void* at = nullptr;
  std::size_t number_bytes = 0;  // 0: a tensor
};

/// Put one run of a plan into the session's stream. Takes the plan's arena for the call, and waits for it:
/// loops are a trainer's business, or an executor's.
///
/// Errors  `cuda_error`; `input_error` where an index is outside its axis
void run_once(session& s, const plan_view& p, const kernel_entry* kernels, std::span<const leaf> inputs,
              std::span<void* const> outputs, std::source_location where = std::source_location::current());

}  // namespace napkin::on_cuda
