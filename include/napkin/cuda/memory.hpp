// Memory of the device, and of the host where the device can copy from it while the program goes on. A
// program takes one piece of each and divides it; nothing here divides.
#pragma once

#include <cstddef>
#include <source_location>

#include "napkin/cuda/error.hpp"
#include "napkin/cuda/handle.hpp"

namespace napkin::on_cuda {

namespace detail {
struct free_device {
  static constexpr const char* name = "cudaFree";
  static int release(cuda_calls& calls, void* x) { return calls.free(x); }
};
struct free_pinned {
  static constexpr const char* name = "cudaFreeHost";
  static int release(cuda_calls& calls, void* x) { return calls.free_host(x); }
};
}  // namespace detail

/// One allocation on the device, aligned to 256 bytes; its contents are undefined.
class device_memory {
 public:
  device_memory() = default;
  device_memory(cuda_calls& calls, std::size_t bytes,
                std::source_location where = std::source_location::current());

  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  std::size_t size() const { return bytes_; }

 private:
  owned<void*, detail::free_device> memory_;
  std::size_t bytes_ = 0;
};

/// Host memory that stays in place, for copies that run beside the program. Dear to allocate.
class pinned_memory {
 public:
  pinned_memory() = default;
  pinned_memory(cuda_calls& calls, std::size_t bytes,
                std::source_location where = std::source_location::current());

  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  std::size_t size() const { return bytes_; }

 private:
  owned<void*, detail::free_pinned> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace napkin::on_cuda
