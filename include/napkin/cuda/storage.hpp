// Memory of the device as storage that tensors share.
#pragma once

#include <cstddef>
#include <source_location>

#include "napkin/cuda/session.hpp"
#include "napkin/tensor/storage.hpp"

namespace napkin::on_cuda {

/// So many bytes of the session's device, uninitialised, aligned to 256. The last handle gives them back.
storage device_storage(const session& on, std::size_t bytes,
                       std::source_location where = std::source_location::current());

}  // namespace napkin::on_cuda
