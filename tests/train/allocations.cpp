// A step allocates nothing: every operator new passes through here and, where the C library allows it, every
// malloc of every library. What oneDNN does within its own calls cannot be helped: it compiles kernels in the
// first step, and each of its products takes a workspace, aligned to pages, and gives it back.
#include <atomic>
#include <catch2/catch.hpp>
#include <cerrno>
#include <cstdlib>
#include <new>

#include "napkin/cpu/threads.hpp"
#include "tiny.hpp"
#include "unit/train/temporary_folder.hpp"

namespace {

std::atomic<bool> counting{false};
std::atomic<long> news{0}, mallocs{0};

void count(std::atomic<long>& which) {
  if (counting.load(std::memory_order_relaxed)) which.fetch_add(1, std::memory_order_relaxed);
}

void* allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) {
  count(news);
  void* const made = alignment <= alignof(std::max_align_t)
                         ? std::malloc(size)
                         : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, std::align_val_t a) {
  return allocate(size, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t size, std::align_val_t a) {
  return allocate(size, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

// Sanitizers have a malloc of their own.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TEST_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SANITIZED
#endif
#if defined(__GLIBC__) && !defined(TEST_SANITIZED)
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
  count(mallocs);
  return __libc_malloc(size);
}
void* calloc(std::size_t n, std::size_t size) {
  count(mallocs);
  return __libc_calloc(n, size);
}
void* realloc(void* old, std::size_t size) {
  count(mallocs);
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count(mallocs);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** to, std::size_t alignment, std::size_t size) {
  constexpr std::size_t onednn_workspace = 4096;
  if (alignment != onednn_workspace) count(mallocs);
  void* const made = __libc_memalign(alignment, size);
  if (made == nullptr) return ENOMEM;
  *to = made;
  return 0;
}
}
constexpr bool mallocs_counted = true;
#else
constexpr bool mallocs_counted = false;
#endif

TEST_CASE("training: steps and evaluations allocate nothing") {
  const std::size_t before = napkin::on_cpu::threads();
  const temporary_folder folder;
  for (const std::size_t threads : {1u, 3u}) {
    INFO(threads << " threads");
    napkin::on_cpu::set_threads(threads);
    tiny::run run(folder.write("text", tiny::text()), 1);
    run.fetch();
    run.step_on_fetched();
    run.evaluate_fetched();

    news = mallocs = 0;
    counting = true;
    const std::vector<float> everything = run.everything();
    counting = false;
    CHECK(news > 0);  // they are counted
    CHECK((mallocs > 0) == mallocs_counted);

    news = mallocs = 0;
    counting = true;
    float loss = 0;
    for (int i = 0; i < 3; ++i) loss = run.step_on_fetched();
    const float evaluated = run.evaluate_fetched();
    counting = false;
    CHECK(news == 0);
    // With more threads, OpenMP, which oneDNN brings along, allocates when a thread first meets it.
    if (threads == 1) CHECK(mallocs == 0);
    CHECK(evaluated <= loss);
  }
  napkin::on_cpu::set_threads(before);
}
