// The session of a thread.
#include "napkin/cuda/session.hpp"

#include <memory>

namespace napkin::on_cuda {
namespace {

thread_local session* entered = nullptr;
thread_local std::unique_ptr<session> own;

}  // namespace

session::session(cuda_calls& calls, blas_calls& blas) : blas_calls_(&blas), stream_(calls) {}
session::session(cuda_calls& calls, blas_calls& blas, stream_handle callers)
    : blas_calls_(&blas), stream_(calls, callers) {}
session::~session() = default;

const blas_library& session::blas(std::source_location where) {
  if (!blas_) blas_ = box<blas_library>(std::in_place, *blas_calls_, where);
  return *blas_;
}

session& current_session() {
  if (entered != nullptr) return *entered;
  if (!own) own = std::make_unique<session>();
  return *own;
}

in_session::in_session(session& s) : before_(entered) { entered = &s; }
in_session::~in_session() { entered = before_; }

}  // namespace napkin::on_cuda
