// Counts what a program allocates, in calls and bytes: every operator new and, where the C library allows it,
// every malloc and mmap of every library. It replaces those functions, so one file of a program includes it.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <new>

#include "allocations.hpp"

#if defined(TEST_COUNTS_MALLOC)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace allocations {

inline void* try_to_allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) {
  count(news);
  void* const made = alignment <= alignof(std::max_align_t)
                         ? std::malloc(size)
                         : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (!mallocs_are_counted) bytes.took(made, size);
  return made;
}
inline void* allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) {
  void* const made = try_to_allocate(size, alignment);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}
// Not inlined: g++ would say of a std::vector that what operator new gave it is freed by free.
[[gnu::noinline]] inline void release(void* p) {
  if (!mallocs_are_counted) bytes.gave_back(p);
  std::free(p);
}

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
void __libc_free(void*);

void* malloc(std::size_t size) {
  allocations::count(allocations::mallocs);
  void* const made = __libc_malloc(size);
  allocations::bytes.took(made, size);
  return made;
}
void* calloc(std::size_t n, std::size_t size) {
  allocations::count(allocations::mallocs);
  void* const made = __libc_calloc(n, size);
  allocations::bytes.took(made, n * size);
  return made;
}
void* realloc(void* old, std::size_t size) {
  allocations::count(allocations::mallocs);
  allocations::bytes.gave_back(old);
  void* const made = __libc_realloc(old, size);
  allocations::bytes.took(made, size);
  return made;
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  allocations::count(allocations::mallocs);
  void* const made = __libc_memalign(alignment, size);
  allocations::bytes.took(made, size);
  return made;
}
void* memalign(std::size_t alignment, std::size_t size) { return aligned_alloc(alignment, size); }
int posix_memalign(void** to, std::size_t alignment, std::size_t size) {
  void* const made = aligned_alloc(alignment, size);
  if (made == nullptr) return ENOMEM;
  *to = made;
  return 0;
}
void free(void* p) {
  allocations::bytes.gave_back(p);
  __libc_free(p);
}
void* mmap(void* at, std::size_t size, int protection, int flags, int file, long offset) noexcept {
  allocations::count(allocations::maps);
  void* const made = reinterpret_cast<void*>(syscall(SYS_mmap, at, size, protection, flags, file, offset));
  if (reinterpret_cast<std::intptr_t>(made) != -1) allocations::bytes.took(made, size);
  return made;
}
void* mmap64(void* at, std::size_t size, int protection, int flags, int file, long offset) noexcept {
  return mmap(at, size, protection, flags, file, offset);
}
int munmap(void* at, std::size_t size) noexcept {
  allocations::bytes.gave_back(at);
  return static_cast<int>(syscall(SYS_munmap, at, size));
}
}
#endif
