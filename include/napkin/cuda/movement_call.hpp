// A movement on a GPU. How it is launched follows from shapes, strides and addresses and is decided when the call
// is made; running it launches and does nothing else. Includes no header of CUDA's; for src/cuda, not for users'
// files, which would compile it for nothing.
#pragma once

#include <memory>

#include "napkin/cuda/movement.hpp"

struct CUstream_st;  // what cudaStream_t points to

namespace napkin::on_cuda {

namespace detail {
struct movement_launch;
}

/// Addresses on the device: of the element at index 0 of every axis, offsets included.
struct movement_addresses {
  const std::byte* from = nullptr;
  const std::byte* index = nullptr;  // gather, scatter_add
  std::byte* to = nullptr;
  std::byte* workspace = nullptr;  // workspace_of(record) bytes
  index_fault* fault = nullptr;    // gather, scatter_add
};

/// A movement ready to run, again and again, also while a graph is captured.
///
/// gather       every dtype; 16 bytes at a time where rows lie so, as pad and concat
/// scatter_add  every number; sums are kept in the dtype's accumulator and rounded once. Indices are sorted,
///              values of equal index added in order of position, 32 or more at a time, and then those sums,
///              every eighth of them first; or, unsorted, every 32nd index's first. No atomics, so that the
///              bits depend on shapes and indices alone
/// Errors       `error` when made: addresses that are missing, a dtype without a kernel, CUB's refusal. A
///              launch that fails is left for whoever asks the stream
class movement_call {
 public:
  movement_call(const planning::movement_record& record, const movement_addresses& at);
  void run(CUstream_st* stream) const;

 private:
  std::shared_ptr<const detail::movement_launch> launch_;
};

}  // namespace napkin::on_cuda
