// The storage of tensors on the device.
#include "napkin/cuda/storage.hpp"

#include <memory>

#include "napkin/cuda/memory.hpp"

namespace napkin::on_cuda {

storage device_storage(const session& on, std::size_t bytes, std::source_location where) {
  const using_device here = on.use(where);
  auto memory = std::make_unique<device_memory>(on.calls(), bytes, where);
  storage made = storage::adopt(
      memory->data(), bytes, [](void* context) noexcept { delete static_cast<device_memory*>(context); },
      memory.get());
  memory.release();
  return made;
}

}  // namespace napkin::on_cuda
