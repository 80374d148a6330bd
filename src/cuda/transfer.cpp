// Copies between host and device.
#include "napkin/cuda/transfer.hpp"

#include <cstring>
#include <string>

namespace napkin::on_cuda {
namespace {

void copy(const stream& on, void* to, const void* from, std::size_t bytes, copy_kind kind,
          std::source_location where) {
  if (bytes == 0) return;
  const int result = on.calls().memcpy_async(to, from, bytes, kind, on.handle());
  if (result == 0) return;
  constexpr const char* ways[] = {" bytes to the device", " bytes to the host", " bytes within the device"};
  check(on.calls(), result, "cudaMemcpyAsync",
        "of " + std::to_string(bytes) + ways[static_cast<std::size_t>(kind)], where);
}

}  // namespace

void copy_to_device(const stream& on, void* to, std::span<const std::byte> from, std::source_location where) {
  copy(on, to, from.data(), from.size(), copy_kind::host_to_device, where);
}

void copy_to_host(const stream& on, std::span<std::byte> to, const void* from, std::source_location where) {
  copy(on, to.data(), from, to.size(), copy_kind::device_to_host, where);
  on.synchronize(where);
}

void copy_to_pinned(const stream& on, std::span<std::byte> to, const void* from, std::source_location where) {
  copy(on, to.data(), from, to.size(), copy_kind::device_to_host, where);
}

void copy_within_device(const stream& on, void* to, const void* from, std::size_t bytes,
                        std::source_location where) {
  copy(on, to, from, bytes, copy_kind::device_to_device, where);
}

void fill_with_zeros(const stream& on, void* to, std::size_t bytes, std::source_location where) {
  if (bytes == 0) return;
  const int result = on.calls().memset_async(to, 0, bytes, on.handle());
  if (result != 0)
    check(on.calls(), result, "cudaMemsetAsync", "of " + std::to_string(bytes) + " bytes", where);
}

staging::staging(cuda_calls& calls, std::size_t bytes, void* slots, std::source_location where)
    : bytes_(bytes),
      pinned_(calls, 2 * bytes, where),
      stream_(calls, where),
      first_{pinned_.data(), static_cast<std::byte*>(slots), event(calls, false, where),
             event(calls, false, where)},
      second_{pinned_.data() + bytes, static_cast<std::byte*>(slots) + bytes, event(calls, false, where),
              event(calls, false, where)} {}

staging::~staging() {
  cuda_calls& calls = stream_.calls();
  // a copy may still read the pinned memory
  report_failure(calls, calls.stream_synchronize(stream_.handle()), "cudaStreamSynchronize");
}

void staging::stage(std::span<const std::byte> batch, std::source_location where) {
  const auto write = [batch](std::span<std::byte> to) {
    if (!batch.empty()) std::memcpy(to.data(), batch.data(), batch.size());
  };
  stage(batch.size(), write, where);
}

void staging::stage(std::size_t bytes, function_ref<void(std::span<std::byte>)> write,
                    std::source_location where) {
  if (waiting() == 2) throw error("staging: two batches wait already; deliver one before staging the next");
  if (bytes > bytes_)
    throw error("staging: a batch of " + std::to_string(bytes) + " bytes, but there is room for " +
                std::to_string(bytes_));
  slot& to = of(staged_);
  to.copied.synchronize(where);  // of the batch before the last: its pinned memory is free
  stream_.wait(to.taken, where);
  write({to.host, bytes});
  copy_to_device(stream_, to.device, {to.host, bytes}, where);
  to.copied.record(stream_, where);
  to.bytes = bytes;
  ++staged_;
}

void staging::deliver(const stream& compute, void* to, std::source_location where) {
  if (waiting() == 0) throw error("staging: no batch waits to be delivered; stage one first");
  const slot& from = of(delivered_);
  compute.wait(from.copied, where);
  copy_within_device(compute, to, from.device, from.bytes, where);
  from.taken.record(compute, where);
  ++delivered_;
}

}  // namespace napkin::on_cuda
