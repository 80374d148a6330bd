// Counts what a program allocates: every operator new and, where the C library allows it, every malloc and
// mmap of every library. It replaces those functions, so one file of a program includes it.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

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
#include <sys/syscall.h>
#include <unistd.h>
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

/// Counts from 0 while it lives.
class count_here {
 public:
  count_here() {
    news = mallocs = maps = 0;
    counting = true;
  }
  ~count_here() { counting = false; }
  count_here(const count_here&) = delete;
  count_here& operator=(const count_here&) = delete;
};

inline void* try_to_allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) {
  count(news);
  return alignment <= alignof(std::max_align_t)
             ? std::malloc(size)
             : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}
inline void* allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) {
  void* const made = try_to_allocate(size, alignment);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}
// Not inlined: g++ would say of a std::vector that what operator new gave it is freed by free.
[[gnu::noinline]] inline void release(void* p) { std::free(p); }

}  // namespace allocations

void* operator new(std::size_t size) { return allocations::allocate(size); }
void* operator new[](std::size_t size) { return allocations::allocate(size); }
void* operator new(std::size_t size, std::align_val_t a) {
  return allocations::allocate(size, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t size, std::align_val_t a) {
  return allocations::allocate(size, static_cast<std::size_t>(a));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocations::try_to_allocate(size);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocations::try_to_allocate(size);
}
void* operator new(std::size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocations::try_to_allocate(size, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t size, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocations::try_to_allocate(size, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { allocations::release(p); }
void operator delete[](void* p) noexcept { allocations::release(p); }
void operator delete(void* p, std::size_t) noexcept { allocations::release(p); }
void operator delete[](void* p, std::size_t) noexcept { allocations::release(p); }
void operator delete(void* p, std::align_val_t) noexcept { allocations::release(p); }
void operator delete[](void* p, std::align_val_t) noexcept { allocations::release(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { allocations::release(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { allocations::release(p); }

#if defined(TEST_COUNTS_MALLOC)
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
  allocations::count(allocations::mallocs);
  return __libc_malloc(size);
}
void* calloc(std::size_t n, std::size_t size) {
  allocations::count(allocations::mallocs);
  return __libc_calloc(n, size);
}
void* realloc(void* old, std::size_t size) {
  allocations::count(allocations::mallocs);
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  allocations::count(allocations::mallocs);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** to, std::size_t alignment, std::size_t size) {
  allocations::count(allocations::mallocs);
  void* const made = __libc_memalign(alignment, size);
  if (made == nullptr) return ENOMEM;
  *to = made;
  return 0;
}
void* mmap(void* at, std::size_t size, int protection, int flags, int file, long offset) noexcept {
  allocations::count(allocations::maps);
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, size, protection, flags, file, offset));
}
void* mmap64(void* at, std::size_t size, int protection, int flags, int file, long offset) noexcept {
  return mmap(at, size, protection, flags, file, offset);
}
}
#endif
