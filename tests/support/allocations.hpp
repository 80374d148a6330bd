// What support/count_allocations.hpp counts: calls, and bytes that are asked for and not given back. Any
// number of files may look at it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

// Sanitizers have a malloc of their own.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED
#endif
#if defined(__GLIBC__) && defined(__linux__) && defined(__LP64__) && !defined(TEST_SANITIZED)
#define TEST_COUNTS_MALLOC
#endif

namespace allocations {

#if defined(TEST_COUNTS_MALLOC)
inline constexpr bool mallocs_are_counted = true;
#else
inline constexpr bool mallocs_are_counted = false;
#endif

inline std::atomic<bool> counting{false};
inline std::atomic<long> news{0}, mallocs{0}, maps{0};

inline void count(std::atomic<long>& which) {
  if (counting.load(std::memory_order_relaxed)) which.fetch_add(1, std::memory_order_relaxed);
}

/// Bytes asked for, by address: what was asked for while nothing is counted is not known, and not given back.
/// In a table of its own, as whoever counts allocations allocates nothing.
class ledger_of_bytes {
 public:
  void took(const void* at, std::size_t bytes) {
    if (at == nullptr || !counting.load(std::memory_order_relaxed)) return;
    const lock held(busy_);
    if (known_ == capacity) overflowed = true;
    if (overflowed) return;
    std::size_t slot = place(at);
    while (blocks_[slot].at != nullptr && blocks_[slot].at != &gone_) slot = (slot + 1) % capacity;
    known_ += blocks_[slot].at == nullptr;
    blocks_[slot] = {at, bytes};
    alive += bytes;
    if (alive > most) most = alive;
  }
  void gave_back(const void* at) {
    if (at == nullptr || !counting.load(std::memory_order_relaxed)) return;
    const lock held(busy_);
    std::size_t slot = place(at);
    for (std::size_t looked = 0; looked < capacity && blocks_[slot].at != nullptr; ++looked) {
      if (blocks_[slot].at == at) {
        alive -= blocks_[slot].bytes;
        blocks_[slot].at = &gone_;
        return;
      }
      slot = (slot + 1) % capacity;
    }
  }
  void clear() {
    for (std::size_t i = 0; i < capacity; ++i) blocks_[i] = {};
    known_ = alive = most = 0;
    overflowed = false;
  }

  std::size_t alive = 0, most = 0;
  bool overflowed = false;

 private:
  static constexpr std::size_t capacity = 4096;
  struct block {
    const void* at = nullptr;
    std::size_t bytes = 0;
  };
  struct lock {
    explicit lock(std::atomic_flag& f) : flag(f) {
      while (flag.test_and_set(std::memory_order_acquire)) {
      }
    }
    ~lock() { flag.clear(std::memory_order_release); }
    std::atomic_flag& flag;
  };
  static std::size_t place(const void* at) { return reinterpret_cast<std::uintptr_t>(at) / 16 % capacity; }

  block blocks_[capacity];
  std::size_t known_ = 0;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
  char gone_ = 0;  // its address stands where a block was
};
inline ledger_of_bytes bytes;

/// Counts from 0 while it lives.
class count_here {
 public:
  count_here() {
    news = mallocs = maps = 0;
    bytes.clear();
    counting = true;
  }
  ~count_here() { counting = false; }
  count_here(const count_here&) = delete;
  count_here& operator=(const count_here&) = delete;
};

}  // namespace allocations
