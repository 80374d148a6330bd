// Memory that tensors and views share: one block on the heap with a count of its owners. Knows bytes, not
// elements.
#pragma once

#include <cstddef>
#include <utility>

namespace napkin {

/// Bytes that all storages hold now. Memory taken over with `adopt` is not counted.
std::size_t memory_allocated();
/// The most that `memory_allocated()` has been since the start or the last reset.
std::size_t max_memory_allocated();
void reset_max_memory_allocated();

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
  static storage adopt(void* data, std::size_t bytes, void (*release)(void*) noexcept, void* context);

  storage(const storage& other) noexcept : block_(other.block_) {
    if (block_ != nullptr) share(*block_);
  }
  storage(storage&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  storage& operator=(storage other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~storage() {
    if (block_ != nullptr) drop(block_);
  }

  void* data() const noexcept { return block_ == nullptr ? nullptr : block_->data; }
  std::size_t bytes() const noexcept { return block_ == nullptr ? 0 : block_->bytes; }
  /// How many handles share the memory.
  std::size_t use_count() const noexcept;
  explicit operator bool() const noexcept { return block_ != nullptr; }
  /// One and the same memory.
  bool operator==(const storage&) const = default;

 private:
  // Stands in front of the bytes, in one allocation with them unless they were adopted.
  struct alignas(alignment) block {
    std::size_t owners;  // counted in storage.cpp, as nvcc takes 0.25 s for <atomic>
    std::size_t bytes;
    void* data;
    void (*release)(void*) noexcept;  // null: the bytes follow
    void* context;
  };

  static_assert(sizeof(block) == header_bytes);

  [[gnu::returns_nonnull]] static block* allocate(std::size_t bytes);
  static void share(block& of) noexcept;
  static void drop(block* of) noexcept;

  block* block_ = nullptr;
};

}  // namespace napkin
