// Copies between host and device, as bytes: at once, or batch by batch while the device computes. Nothing is
// ever copied that the program did not ask for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>

#include "napkin/core/function_ref.hpp"
#include "napkin/cuda/memory.hpp"
#include "napkin/cuda/stream.hpp"

namespace napkin::on_cuda {

/// Put a copy into the stream. `from` may be changed when the stream has passed it; as soon as this returns,
/// where the device cannot read it by itself, as it can pinned and managed memory, and on some machines all.
void copy_to_device(const stream& on, void* to, std::span<const std::byte> from,
                    std::source_location where = std::source_location::current());

/// Copy what the stream's earlier work has made; returns when it is there.
void copy_to_host(const stream& on, std::span<std::byte> to, const void* from,
                  std::source_location where = std::source_location::current());

/// The same into pinned memory, without waiting: it is there once the stream has passed this.
void copy_to_pinned(const stream& on, std::span<std::byte> to, const void* from,
                    std::source_location where = std::source_location::current());

void copy_within_device(const stream& on, void* to, const void* from, std::size_t bytes,
                        std::source_location where = std::source_location::current());
void fill_with_zeros(const stream& on, void* to, std::size_t bytes,
                     std::source_location where = std::source_location::current());

/// Batches on their way to the device, at most two: while the device computes on one, the next is copied
/// over.
///
///     staging next{calls, bytes, slots};  // slots: 2 * bytes of the arena
///     next.stage(batch);                  // returns as soon as `batch` may be changed
///     next.deliver(compute, inputs);      // before the step, for which the addresses of its inputs are
///     fixed
///
/// A batch goes host -> pinned memory -> slot on a stream of its own; from the slot to where the step reads
/// it is a copy within the device, in the step's own stream.
class staging {
 public:
  /// `slots`: memory of the device for two batches of at most `bytes`, one behind the other; it outlives
  /// this.
  staging(cuda_calls& calls, std::size_t bytes, void* slots,
          std::source_location where = std::source_location::current());
  staging(const staging&) = delete;
  staging& operator=(const staging&) = delete;
  ~staging();

  /// Begin to copy a batch over. Waits only for the copy of the batch before the last.
  ///
  /// Errors  `error` where two batches wait to be delivered, or this one is larger than a slot.
  void stage(std::span<const std::byte> batch, std::source_location where = std::source_location::current());
  /// The same of a batch of so many bytes that `write` puts into pinned memory itself.
  void stage(std::size_t bytes, function_ref<void(std::span<std::byte>)> write,
             std::source_location where = std::source_location::current());

  /// Put the oldest staged batch at `to`, in the stream's order: what is put there later reads it.
  ///
  /// Errors  `error` where none waits.
  void deliver(const stream& compute, void* to, std::source_location where = std::source_location::current());

  std::size_t waiting() const { return static_cast<std::size_t>(staged_ - delivered_); }

 private:
  struct slot {
    std::byte* host;
    std::byte* device;
    event copied, taken;  // the batch is in the slot; the slot may be overwritten
    std::size_t bytes = 0;
  };
  slot& of(std::uint64_t batch) { return batch % 2 == 0 ? first_ : second_; }

  std::size_t bytes_;
  pinned_memory pinned_;
  stream stream_;
  slot first_, second_;
  std::uint64_t staged_ = 0, delivered_ = 0;
};

}  // namespace napkin::on_cuda
