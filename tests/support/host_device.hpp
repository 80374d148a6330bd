// A device on the host: what nvcc compiles elsewhere, run by fake_cuda when its streams come to it; products
// are fake_blas's. Kernels are in host_kernels.hpp. A program that includes this links this folder's sources
// and tests/device_on_host's attention.cpp, movements.cpp and loops.cpp, which take the place of what the
// library launches, and instructions.cpp, by which what an instruction does to memory that is not its own is
// misuse.
#pragma once

#include <utility>

#include "napkin/cuda/session.hpp"
#include "support/fake_blas.hpp"
#include "support/fake_cuda.hpp"
#include "support/instruction_watch.hpp"

namespace napkin::testing {

/// The fake that launches go to: of the innermost host_device.
inline fake_cuda* launched_on = nullptr;
/// Whether kernels wait for earlier ones where they start early: those of plans, and the library's.
inline bool kernels_wait = true, library_waits = true;
inline instruction_watch* watched_by = nullptr;
inline std::size_t small_products_run = 0;  // on any, by cuda/small_product.hpp's kernel
inline std::size_t taken_products_run = 0;  // and by kernels that take them in (cuda/taken_product.hpp)

struct host_device {
  fake_cuda cuda;
  fake_blas blas{cuda};
  instruction_watch watch{cuda};
  fake_cuda* before = std::exchange(launched_on, &cuda);
  instruction_watch* watch_before = std::exchange(watched_by, &watch);

  host_device() { blas.algorithms.resize(1); }  // several are timed, each by loops on the host
  host_device(const host_device&) = delete;
  host_device& operator=(const host_device&) = delete;
  ~host_device() {
    launched_on = before;
    watched_by = watch_before;
  }
};

/// And a session on it. What the seed draws is when its streams come to their work.
struct device_with_session : host_device {
  on_cuda::session session{cuda, blas};
  explicit device_with_session(unsigned seed = 1) { cuda.random.seed(seed); }
};

}  // namespace napkin::testing
