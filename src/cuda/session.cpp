// The session of a thread.
#include "napkin/cuda/session.hpp"

#include <memory>
#include <vector>

namespace napkin::on_cuda {
namespace {

thread_local session* entered = nullptr;
thread_local std::vector<std::shared_ptr<session>> own;  // one of each device

}  // namespace

session::session(cuda_calls& calls, blas_calls& blas)
    : blas_calls_(&blas), device_(device_of_thread(calls)), stream_(calls) {}
session::session(cuda_calls& calls, blas_calls& blas, stream_handle callers)
    : blas_calls_(&blas), device_(device_of_thread(calls)), stream_(calls, callers) {}
session::~session() = default;

const blas_library& session::blas(std::source_location where) {
  if (!blas_) {
    const using_device here = use(where);
    blas_ = box<blas_library>(std::in_place, *blas_calls_, where);
  }
  return *blas_;
}

session& current_session() {
  if (entered != nullptr) return *entered;
  const int device = device_of_thread(cuda_runtime());
  for (const std::shared_ptr<session>& s : own)
    if (s->device() == device) return *s;
  return *own.emplace_back(std::make_shared<session>());
}

in_session::in_session(session& s) : before_(entered) { entered = &s; }
in_session::~in_session() { entered = before_; }

}  // namespace napkin::on_cuda
