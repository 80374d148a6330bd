// Memory that tensors and views share: one block on the heap with a count of its owners. Knows bytes, not
// elements.
#pragma once

#include <atomic>
#include <cstddef>
#include <new>
#include <string>
#include <utility>

#include "napkin/core/error.hpp"

namespace napkin {

namespace detail {

inline std::atomic<std::size_t> held_bytes{0};
inline std::atomic<std::size_t> peak_bytes{0};

inline void count_allocation(std::size_t bytes) {
  const std::size_t held = held_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::size_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (peak < held && !peak_bytes.compare_exchange_weak(peak, held, std::memory_order_relaxed)) {
  }
}

}  // namespace detail

/// Bytes that all storages hold now. Memory taken over with `adopt` is not counted.
inline std::size_t memory_allocated() { return detail::held_bytes.load(std::memory_order_relaxed); }
/// The most that `memory_allocated()` has been since the start or the last reset.
inline std::size_t max_memory_allocated() { return detail::peak_bytes.load(std::memory_order_relaxed); }
inline void reset_max_memory_allocated() { detail::peak_bytes = detail::held_bytes.load(); }

/// A handle on shared memory. Copies share it; the last one frees it. Handles may be copied and dropped by
/// several threads at once; what the bytes hold is the callers' to guard.
class storage {
 public:
  /// Every block begins at a multiple of so many bytes, and the bytes up to the next multiple may be read.
  static constexpr std::size_t alignment = 64;

  /// Of each allocation, so many bytes more are asked for than it holds.
  static constexpr std::size_t header_bytes = alignment;

  /// No memory.
  storage() = default;
  /// So many bytes, not initialised. Throws system_error when there are not so many.
  explicit storage(std::size_t bytes) : block_(allocate(bytes)) {}
  /// Memory that someone else allocated: the last handle calls release(context).
  static storage adopt(void* data, std::size_t bytes, void (*release)(void*) noexcept, void* context) {
    storage adopted;
    adopted.block_ = new block{{1}, bytes, data, release, context};
    return adopted;
  }

  storage(const storage& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) block_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  storage(storage&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  storage& operator=(storage other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~storage() {
    if (block_ != nullptr && block_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) free(block_);
  }

  void* data() const noexcept { return block_ == nullptr ? nullptr : block_->data; }
  std::size_t bytes() const noexcept { return block_ == nullptr ? 0 : block_->bytes; }
  /// How many handles share the memory.
  std::size_t use_count() const noexcept {
    return block_ == nullptr ? 0 : block_->owners.load(std::memory_order_acquire);
  }
  explicit operator bool() const noexcept { return block_ != nullptr; }
  /// One and the same memory.
  bool operator==(const storage&) const = default;

 private:
  // Stands in front of the bytes, in one allocation with them unless they were adopted.
  struct alignas(alignment) block {
    std::atomic<std::size_t> owners;
    std::size_t bytes;
    void* data;
    void (*release)(void*) noexcept;  // null: the bytes follow
    void* context;
  };

  static_assert(sizeof(block) == header_bytes);

  static block* allocate(std::size_t bytes) {
    constexpr std::size_t most = std::size_t{1} << 47;  // no address space has more
    void* memory = nullptr;
    if (bytes <= most) {
      const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
      memory = ::operator new (sizeof(block) + rounded, std::align_val_t{alignment}, std::nothrow);
    }
    if (memory == nullptr)
      throw system_error("storage: the system has no " + std::to_string(bytes) + " bytes left (" +
                         std::to_string(memory_allocated()) + " bytes are held by tensors)");
    detail::count_allocation(bytes);
    return ::new (memory)
        block{{1}, bytes, static_cast<std::byte*>(memory) + sizeof(block), nullptr, nullptr};
  }

  static void free(block* last) noexcept {
    if (last->release != nullptr) {
      last->release(last->context);
      delete last;
      return;
    }
    detail::held_bytes.fetch_sub(last->bytes, std::memory_order_relaxed);
    last->~block();
    ::operator delete (static_cast<void*>(last), std::align_val_t{alignment});
  }

  block* block_ = nullptr;
};

}  // namespace napkin
