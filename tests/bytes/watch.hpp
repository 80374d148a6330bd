// Included before an example: its kernels mark each element of each tensor that they touch, and when a kernel
// has run, the distinct ones are held against the bytes that its plan counts. Where any differ, the program
// says so and ends with 1. Kernels run on one thread.
#pragma once

namespace napkin::testing {
template <class Plan>
struct watched;
}
#define NAPKIN_WATCH ::napkin::testing::watched

#include <array>
#include <bitset>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>
#include <vector>

#include "napkin/cpu/executor.hpp"
#include "napkin/cpu/threads.hpp"
#include "napkin/plan/cost.hpp"

namespace napkin::testing {

/// Bytes of this process's memory that were read, and those that were written. What is read after it was
/// written moves nothing: it is what the kernel itself has just made, a row at a time.
class marked_bytes {
 public:
  void read(const std::byte* first, std::size_t n) {
    each(first, n, [](page& p, std::size_t at) {
      if (!p.written[at]) p.read.set(at);
    });
  }
  void write(const std::byte* first, std::size_t n) {
    each(first, n, [](page& p, std::size_t at) { p.written.set(at); });
  }
  byte_counts count() const {
    byte_counts sum;
    for (const auto& [number, p] : pages_) {
      sum.read += p.read.count();
      sum.written += p.written.count();
    }
    return sum;
  }
  void clear() {
    pages_.clear();
    last_ = ~std::uintptr_t{0};
  }

 private:
  static constexpr std::size_t page_size = 4096;
  struct page {
    std::bitset<page_size> read, written;
  };
  std::unordered_map<std::uintptr_t, page> pages_;
  std::uintptr_t last_ = ~std::uintptr_t{0};
  page* page_ = nullptr;  // of last_; nodes of the map stay where they are

  template <class Mark>
  void each(const std::byte* first, std::size_t n, const Mark& mark) {
    auto at = reinterpret_cast<std::uintptr_t>(first);
    for (; n > 0; ++at, --n) {
      if (at / page_size != last_) {
        last_ = at / page_size;
        page_ = &pages_[last_];
      }
      mark(*page_, at % page_size);
    }
  }
};

/// What all plans of the program have come to; reported when it ends.
struct tally {
  std::uint64_t runs = 0, kernels = 0, wrong = 0;
  tally() { on_cpu::set_threads(1); }
  ~tally() {
    std::fflush(stdout);
    std::fprintf(stderr, "bytes: %llu kernels, run %llu times, touch what their plans count; %llu do not\n",
                 static_cast<unsigned long long>(kernels), static_cast<unsigned long long>(runs),
                 static_cast<unsigned long long>(wrong));
    if (wrong > 0 || kernels == 0) std::_Exit(1);
  }
};
inline tally all_plans;

class plan_watch {
 public:
  explicit plan_watch(const on_cpu::plan_view& plan) : plan_(plan), seen_(plan.count.kernels) {}

  void begins(const on_cpu::kernel_arguments& k) {
    now_ = &seen_[k.index];
    if (now_->blocks == 0) now_->marked.clear();
  }
  void reads(const std::byte* first, std::size_t n) { now_->marked.read(first, n); }
  void writes(const std::byte* first, std::size_t n) { now_->marked.write(first, n); }
  void ends(const on_cpu::kernel_arguments& k) {
    if (++now_->blocks < plan_.kernels[k.index].blocks) return;
    now_->blocks = 0;
    check(k.index);
  }

 private:
  struct seen {
    marked_bytes marked;
    std::size_t blocks = 0;  // that have run
    bool before = false;
  };
  on_cpu::plan_view plan_;
  std::vector<seen> seen_;
  seen* now_ = nullptr;

  void check(std::size_t index) {
    const on_cpu::kernel_record& k = plan_.kernels[index];
    const seen& s = seen_[index];
    byte_counts done = s.marked.count();
    // Columns are joined from partial sums after the kernel's last block: each result is written once.
    for (std::int32_t c = 0; c < k.columns; ++c)
      done.written += k.row_length * size_of(plan_.columns[k.first_column + c].type);
    compare(index, "alone", planning::detail::bytes_of_kernel(plan_, k, -1), done);
    for (std::size_t i = 0; i < plan_.count.instructions; ++i) {
      const on_cpu::instruction& now = plan_.instructions[i];
      if (now.epilogue < 0 || static_cast<std::size_t>(now.epilogue) != index) continue;
      // What it reads of the product that it follows is in cache, all of it.
      const on_cpu::contraction_plan& p = plan_.products[plan_.contractions[now.index].product];
      byte_counts left = done;
      left.read -= p.batch_size() * p.m * p.n * size_of(p.type);
      compare(index, "after a product", planning::detail::bytes_of_kernel(plan_, k, now.index), left);
    }
    ++all_plans.runs;
    if (!seen_[index].before) ++all_plans.kernels;
    seen_[index].before = true;
  }
  static void compare(std::size_t index, const char* how, byte_counts counted, byte_counts done) {
    if (counted == done) return;
    ++all_plans.wrong;
    const auto n = [](std::uint64_t x) { return static_cast<unsigned long long>(x); };
    std::fprintf(stderr,
                 "bytes: kernel %zu, %s: the plan counts %llu read, %llu written; touched %llu, %llu\n",
                 index, how, n(counted.read), n(counted.written), n(done.read), n(done.written));
  }
};

template <class Plan>
struct watched {
  static plan_watch& watch() {
    static plan_watch w(Plan::view());
    return w;
  }
  static void begins(const on_cpu::kernel_arguments& k) { watch().begins(k); }
  static void reads(const std::byte* first, std::size_t n) { watch().reads(first, n); }
  static void writes(const std::byte* first, std::size_t n) { watch().writes(first, n); }
  static void ends(const on_cpu::kernel_arguments& k) { watch().ends(k); }
};

}  // namespace napkin::testing
