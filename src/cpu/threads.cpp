// The pool of threads: tasks are claimed one by one from a counter, idle threads spin for some microseconds
// and then sleep in the kernel.
#include "napkin/cpu/threads.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "napkin/core/error.hpp"

namespace napkin::on_cpu {
namespace {

constexpr std::size_t most_threads = 1024;
// Longer than the gap between two kernels of a step, shorter than what a sleeping thread takes to wake.
constexpr auto spin_time = std::chrono::microseconds(20);

thread_local bool inside_task = false;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Wait until `value` is no longer `old`.
template <class T>
void wait_while_equal(const std::atomic<T>& value, T old, bool may_spin) {
  if (may_spin) {
    const auto until = std::chrono::steady_clock::now() + spin_time;
    do {
      for (int i = 0; i < 32; ++i) {
        if (value.load(std::memory_order_acquire) != old) return;
        pause();
      }
    } while (std::chrono::steady_clock::now() < until);
  }
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

std::size_t processors() { return std::max<std::size_t>(1, std::thread::hardware_concurrency()); }

std::size_t threads_asked_for() {
  const char* text = std::getenv("NAPKIN_THREADS");
  if (text == nullptr || *text == '\0') return std::min(processors(), most_threads);
  std::size_t n = 0;
  const char* end = text + std::strlen(text);
  const auto [last, failed] = std::from_chars(text, end, n);
  if (failed != std::errc() || last != end || n < 1 || n > most_threads)
    throw input_error("NAPKIN_THREADS is \"" + std::string(text) + "\", not a number from 1 to " +
                      std::to_string(most_threads));
  return n;
}

class pool {
 public:
  pool() : count_(threads_asked_for()) {}
  pool(const pool&) = delete;
  pool& operator=(const pool&) = delete;
  ~pool() { stop(); }

  std::size_t threads() const { return count_.load(std::memory_order_relaxed); }

  void set_threads(std::size_t n) {
    const std::lock_guard lock(in_use_);
    count_ = n;
    start();
  }

  void run(std::size_t tasks, function_ref<void(std::size_t)> task) {
    std::unique_lock lock(in_use_, std::defer_lock);
    if (inside_task || tasks == 1 || threads() == 1 || tasks > std::numeric_limits<std::uint32_t>::max() ||
        !lock.try_lock()) {
      for (std::size_t i = 0; i < tasks; ++i) task(i);
      return;
    }
    if (workers_.size() + 1 != count_) start();

    task_ = task;
    tasks_ = tasks;
    first_failed_ = tasks;
    unfinished_.store(static_cast<std::uint32_t>(tasks), std::memory_order_relaxed);
    const std::uint32_t generation = generation_.load(std::memory_order_relaxed) + 1;
    unclaimed_.store(std::uint64_t{generation} << 32 | tasks, std::memory_order_release);
    generation_.store(generation, std::memory_order_release);
    if (tasks > workers_.size()) {
      generation_.notify_all();
    } else {
      for (std::size_t i = 1; i < tasks; ++i) generation_.notify_one();
    }

    work();
    for (;;) {
      const std::uint32_t left = unfinished_.load(std::memory_order_acquire);
      if (left == 0) break;
      wait_while_equal(unfinished_, left, may_spin_);
    }
    if (first_failed_ < tasks) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  // One caller at a time; another one that finds it taken runs its tasks itself.
  std::mutex in_use_;
  std::atomic<std::size_t> count_;
  std::vector<std::thread> workers_;
  bool may_spin_ = true;

  // The call being run. The two are read only by who has claimed a task of it, which keeps it alive.
  function_ref<void(std::size_t)> task_;
  std::size_t tasks_ = 0;
  // High half: the call's number; low half: how many of its tasks nobody has claimed. In one word, so that
  // a thread which wakes late can never claim from another call than it looked at.
  std::atomic<std::uint64_t> unclaimed_{0};
  std::atomic<std::uint32_t> unfinished_{0};
  std::atomic<std::uint32_t> generation_{0};
  std::atomic<bool> stopping_{false};

  std::mutex failure_lock_;
  std::size_t first_failed_ = 0;
  std::exception_ptr failure_;

  void work() {
    std::uint64_t seen = unclaimed_.load(std::memory_order_acquire);
    inside_task = true;
    while ((seen & 0xffffffffu) != 0) {
      if (!unclaimed_.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel,
                                            std::memory_order_acquire))
        continue;
      const std::size_t i = tasks_ - (seen & 0xffffffffu);
      try {
        task_(i);
      } catch (...) {
        const std::lock_guard lock(failure_lock_);
        if (i < first_failed_) {
          first_failed_ = i;
          failure_ = std::current_exception();
        }
      }
      if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == 1) unfinished_.notify_one();
      seen = unclaimed_.load(std::memory_order_acquire);
    }
    inside_task = false;
  }

  void start() {
    stop();
    stopping_ = false;
    may_spin_ = count_ <= processors();
    workers_.reserve(count_ - 1);
    const std::uint32_t now = generation_.load();
    try {
      while (workers_.size() + 1 < count_)
        workers_.emplace_back([this, now] {
          std::uint32_t generation = now;
          for (;;) {
            wait_while_equal(generation_, generation, may_spin_);
            generation = generation_.load(std::memory_order_acquire);
            if (stopping_.load(std::memory_order_acquire)) return;
            work();
          }
        });
    } catch (const std::system_error& refused) {
      const std::size_t wanted = count_;
      count_ = workers_.size() + 1;
      throw system_error("thread " + std::to_string(count_) + " of " + std::to_string(wanted) +
                         " could not be started: " + refused.what());
    }
  }

  void stop() {
    stopping_ = true;
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
  }
};

pool& the_pool() {
  static pool instance;
  return instance;
}

}  // namespace

std::size_t threads() { return the_pool().threads(); }

void set_threads(std::size_t n) {
  if (n < 1 || n > most_threads)
    throw input_error("set_threads(" + std::to_string(n) + "): not a number from 1 to " +
                      std::to_string(most_threads));
  if (inside_task) throw input_error("set_threads: called from a task of parallel_for");
  the_pool().set_threads(n);
}

void parallel_for(std::size_t tasks, function_ref<void(std::size_t)> task) {
  if (tasks != 0) the_pool().run(tasks, task);
}

}  // namespace napkin::on_cpu
