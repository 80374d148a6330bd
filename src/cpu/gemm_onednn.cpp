// oneDNN's sgemm on the calling thread alone, so that its bits follow from a block's shape and the processor.
#include "gemm_onednn.hpp"

#include <dlfcn.h>
#include <oneapi/dnnl/dnnl.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "napkin/core/error.hpp"

// Others cannot be told to stay on the calling thread.
#if DNNL_CPU_THREADING_RUNTIME != DNNL_RUNTIME_OMP && DNNL_CPU_THREADING_RUNTIME != DNNL_RUNTIME_SEQ
#error "napkin: NAPKIN_ONEDNN needs an oneDNN for OpenMP or without threads"
#endif

namespace napkin::on_cpu::detail {
namespace {

/// While it lives, oneDNN works on the calling thread alone. The functions are looked up because they must
/// be those of whichever OpenMP library oneDNN was loaded with.
class one_omp_thread {
 public:
  one_omp_thread() {
    if (functions().get == nullptr || functions().set == nullptr) return;
    before_ = functions().get();
    if (before_ != 1) functions().set(1);
  }
  one_omp_thread(const one_omp_thread&) = delete;
  one_omp_thread& operator=(const one_omp_thread&) = delete;
  ~one_omp_thread() {
    if (before_ > 1) functions().set(before_);
  }

 private:
  struct table {
    int (*get)();
    void (*set)(int);
  };
  static const table& functions() {
    static const table found{reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads")),
                             reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"))};
    return found;
  }
  int before_ = 1;
};

/// No signal is handled on this thread while it lives: oneDNN's kernels (2.6.3 on AVX-512) use the stack
/// pointer as a register for data, so that a handler's frame would be written over tensors.
class signals_wait {
 public:
  signals_wait() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~signals_wait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_wait(const signals_wait&) = delete;
  signals_wait& operator=(const signals_wait&) = delete;

 private:
  sigset_t before_;
};

std::atomic<std::size_t> calls{0};

/// The distance of lines, at least their length: it may be 0 where there is one.
dnnl_dim_t leading(std::ptrdiff_t stride, std::size_t length) {
  return std::max(static_cast<dnnl_dim_t>(stride), static_cast<dnnl_dim_t>(length));
}

}  // namespace

void multiply_by_onednn(const onednn_call& x) {
  const bool a_rows = is_row_major(x.m, x.k, x.a_m, x.a_k);
  const bool b_rows = is_row_major(x.k, x.n, x.b_k, x.b_n);
  const auto size = [](std::size_t extent) { return static_cast<dnnl_dim_t>(extent); };
  calls.fetch_add(1, std::memory_order_relaxed);

  const signals_wait until_the_end;
  const one_omp_thread alone;
  const dnnl_status_t status = dnnl_sgemm(
      a_rows ? 'N' : 'T', b_rows ? 'N' : 'T', size(x.m), size(x.n), size(x.k), 1.0f, x.a,
      a_rows ? leading(x.a_m, x.k) : leading(x.a_k, x.m), x.b,
      b_rows ? leading(x.b_k, x.n) : leading(x.b_n, x.k), x.add ? 1.0f : 0.0f, x.c, leading(x.c_m, x.n));
  if (status != dnnl_success)
    throw system_error("dnnl_sgemm failed with status " + std::to_string(static_cast<int>(status)));
}

std::size_t onednn_calls() { return calls.load(std::memory_order_relaxed); }

}  // namespace napkin::on_cpu::detail
