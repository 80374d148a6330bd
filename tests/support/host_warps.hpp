// Warps on the host: a block's threads as coroutines, which meet where the device's do. What a warp does as
// one (shuffles, ldmatrix, mma) is done when all of its lanes have come; copies to shared memory land when
// they are waited for. From PTX's text, not from the kernels'.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

#include "napkin/core/dtype.hpp"

namespace napkin::testing {

/// Runs `threads` coroutines, 32 a warp, in turn until all have returned; the same ones, if asked again. A
/// stack is entered once by ucontext, and left and taken up again by jumps, which ask nothing of the system.
class host_block {
 public:
  explicit host_block(unsigned threads) : fibers_(threads) { make_stacks(); }

  /// The one that all launches of so many threads share, with its stacks.
  static host_block& of(unsigned threads) {
    static std::map<unsigned, host_block> blocks;
    return blocks.try_emplace(threads, threads).first->second;
  }

  template <class F>
  void run(F body) {
    const auto call = [&](unsigned t) { body(t); };
    body_ = [](void* f, unsigned t) { (*static_cast<decltype(call)*>(f))(t); };
    data_ = const_cast<void*>(static_cast<const void*>(&call));
    for (fiber& f : fibers_) f.done = false;
    current() = this;
    left_ = fibers_.size();
    block_ = {};
    thrown_ = nullptr;
    while (left_ > 0)
      for (now_ = 0; now_ < fibers_.size(); ++now_) {
        fiber& f = fibers_[now_];
        if (f.done) continue;
        if (_setjmp(back_) == 0) {
          if (f.begun) _longjmp(f.here, 1);
          f.begun = true;
          setcontext(&f.context);
        }
        left_ -= fibers_[now_].done;  // no local variable: a jump came here
      }
    current() = nullptr;
    if (thrown_) std::rethrow_exception(thrown_);
  }

  /// The calling thread waits until `arrived` threads have come as often as it has to this meeting.
  struct meeting {
    unsigned arrived = 0;
    std::size_t round = 0;
  };
  void meet(meeting& m, unsigned threads) {
    const std::size_t round = m.round;
    if (++m.arrived == threads) {
      m.arrived = 0;
      ++m.round;
      return;
    }
    while (m.round == round) {
      pause();
      if (thrown_) throw std::runtime_error("another thread of the block threw");
    }
  }
  meeting& of_block() { return block_; }
  unsigned size() const { return static_cast<unsigned>(fibers_.size()); }

 private:
  static constexpr std::size_t stack_bytes = 1 << 16;
  struct fiber {
    std::unique_ptr<std::byte[]> stack;
    ucontext_t context{};
    jmp_buf here{};
    bool begun = false, done = false;
  };
  std::vector<fiber> fibers_;
  jmp_buf back_{};
  unsigned now_ = 0;
  std::size_t left_ = 0;
  meeting block_;
  void (*body_)(void*, unsigned) = nullptr;
  void* data_ = nullptr;
  std::exception_ptr thrown_;  // by the first thread that did; others that wait for it wait no longer

  // No local variable: getcontext returns twice, for all that g++ knows.
  [[gnu::noinline]] void make_stacks() {
    for (now_ = 0; now_ < fibers_.size(); ++now_) {
      fibers_[now_].stack = std::make_unique_for_overwrite<std::byte[]>(stack_bytes);
      getcontext(&fibers_[now_].context);
      fibers_[now_].context.uc_stack.ss_sp = fibers_[now_].stack.get();
      fibers_[now_].context.uc_stack.ss_size = stack_bytes;
      fibers_[now_].context.uc_link = nullptr;
      makecontext(&fibers_[now_].context, reinterpret_cast<void (*)()>(&host_block::begin), 0);
    }
  }
  static host_block*& current() {
    static host_block* b = nullptr;
    return b;
  }
  static void begin() {
    for (;;) {
      current()->run_body();
      current()->pause();  // until the next run
    }
  }
  void run_body() {
    const unsigned t = now_;
    try {
      body_(data_, t);
    } catch (...) {
      if (!thrown_) thrown_ = std::current_exception();
    }
    fibers_[t].done = true;
  }
  void pause() {
    if (_setjmp(fibers_[now_].here) == 0) _longjmp(back_, 1);
  }
};

/// What the lanes of a warp hand to one another, in turn in one of two places: who comes to a meeting has
/// read what was handed over at the one before, so a lane that is ahead overwrites nothing that another has
/// yet to read.
struct host_warp {
  host_block::meeting meeting;
  struct place {
    std::uint64_t words[32];
    const void* rows_of_lanes[32];
    double rows[16][16], columns[8][16];  // that mma multiplies
  };
  place places[2];

  /// The place of the meeting that the calling lane comes to next.
  place& next() { return places[meeting.round % 2]; }
};

/// attention_body.hpp's Machine, and tile_product_body.hpp's.
class host_machine {
 public:
  host_machine(host_block& block, std::vector<host_warp>& warps, unsigned thread)
      : block_(block), warp_(warps[thread / 32]), thread_(thread) {}
  ~host_machine() {
    if (!copies_.empty() || !begun_.empty() || !committed_.empty()) unfinished() = true;
  }
  /// Whether a thread ended with copies or products that it had not waited for.
  static bool& unfinished() {
    static bool is = false;
    return is;
  }
  /// How many of all threads.
  static std::uint64_t& fmas() {
    static std::uint64_t n = 0;
    return n;
  }

  unsigned lane() const { return thread_ % 32; }
  unsigned warp() const { return thread_ / 32; }
  void sync() { block_.meet(block_.of_block(), block_.size()); }

  template <class R>
  R from_lane(R x, unsigned from) {
    static_assert(sizeof x <= sizeof(std::uint64_t));
    host_warp::place& at = warp_.next();
    std::memcpy(&at.words[lane()], &x, sizeof x);
    meet();
    R y;
    std::memcpy(&y, &at.words[from], sizeof y);
    return y;
  }
  bool any(bool x) {
    host_warp::place& at = warp_.next();
    at.words[lane()] = x;
    meet();
    bool is = false;
    for (const std::uint64_t word : at.words) is = is || word != 0;
    return is;
  }
  void copy_async(void* to, const void* from, bool there) {
    if (reinterpret_cast<std::uintptr_t>(to) % 16 != 0 || reinterpret_cast<std::uintptr_t>(from) % 16 != 0)
      throw std::logic_error("cp.async of 16 bytes that are not aligned");
    copies_.push_back({to, there ? from : nullptr});
    std::memset(to, 0x7f, 16);  // what is read before it is waited for
  }
  void recompute(unsigned&) {}
  void wait_async() {
    for (const copy& c : copies_) {
      if (c.from != nullptr)
        std::memcpy(c.to, c.from, 16);
      else
        std::memset(c.to, 0, 16);
    }
    copies_.clear();
  }

  /// ldmatrix.sync.aligned.m8n8.x4: lanes 8 m to 8 m + 7 name the rows of matrix m. Lane l gets elements
  /// 2 * (l % 4) and the next of row l / 4; of a transposed one, of column l / 4.
  template <bool Turned>
  void load_matrices(std::uint32_t (&x)[4], const void* row) {
    if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0) throw std::logic_error("ldmatrix: not aligned");
    const void** const rows = warp_.next().rows_of_lanes;
    rows[lane()] = row;
    meet();
    for (unsigned m = 0; m < 4; ++m) {
      std::uint16_t pair[2];
      for (unsigned i = 0; i < 2; ++i) {
        const unsigned r = Turned ? lane() % 4 * 2 + i : lane() / 4,
                       c = Turned ? lane() / 4 : lane() % 4 * 2 + i;
        std::memcpy(&pair[i], static_cast<const std::byte*>(rows[8 * m + r]) + 2 * c, 2);
      }
      std::memcpy(&x[m], pair, 4);
    }
    meet();  // before any lane writes to what was read
  }

  /// mma.sync.aligned.m16n8k16.row.col: with g = lane / 4 and t = lane % 4, register a[i] holds row
  /// g + 8 * (i % 2), columns 2 t + 8 * (i / 2) and the next; b_i rows 2 t + 8 i and the next of column g; c
  /// rows g + 8 * (i / 2), column 2 t + i % 2.
  template <dtype Type>
  void multiply(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
    const unsigned g = lane() / 4, t = lane() % 4 * 2;
    host_warp::place& at = warp_.next();
    put_rows<Type>(at, a);
    put_halves<Type>(at.columns[g] + t, b0);
    put_halves<Type>(at.columns[g] + t + 8, b1);
    meet();
    const double *const top = at.rows[g], *const bottom = at.rows[g + 8], *const left = at.columns[t],
                        *const right = at.columns[t + 1];
    double top_left = c[0], top_right = c[1], bottom_left = c[2], bottom_right = c[3];
    for (unsigned k = 0; k < 16; ++k) {
      top_left += top[k] * left[k];
      top_right += top[k] * right[k];
      bottom_left += bottom[k] * left[k];
      bottom_right += bottom[k] * right[k];
    }
    c[0] = static_cast<float>(top_left), c[1] = static_cast<float>(top_right);
    c[2] = static_cast<float>(bottom_left), c[3] = static_cast<float>(bottom_right);
  }
  template <dtype Type>
  std::uint32_t pack(float low, float high) {
    const type_of<Type> both[2] = {static_cast<type_of<Type>>(low), static_cast<type_of<Type>>(high)};
    std::uint32_t packed;
    std::memcpy(&packed, static_cast<const void*>(both), 4);
    return packed;
  }

  // ---- warpgroup_attention_body.hpp's, too

  /// wgmma.m64n64k16, both in shared memory: done as late as it may be, when it is waited for.
  template <dtype Type, bool Adds>
  void multiply(float (*c)[4], const void* a, const void* b, unsigned step) {
    begun_.push_back([=, this] {
      for_each_sum(c, [&](float& sum, unsigned row, unsigned column) {
        double total = Adds ? static_cast<double>(sum) : 0;
        for (unsigned k = 0; k < 16; ++k)
          total += in_panel<Type>(a, warp() % 4 * 16 + row, step * 16 + k) *
                   in_panel<Type>(b, column, step * 16 + k);
        sum = static_cast<float>(total);
      });
    });
  }
  /// The same, a in registers, of which a warp has its own 16 rows; b's rows are summed over.
  template <dtype Type>
  void add(float (*c)[4], const std::uint32_t (&a)[4], const void* b, unsigned step) {
    host_warp::place& at = warp_.next();
    put_rows<Type>(at, a);
    meet();
    std::array<double, 32> rows;
    std::copy_n(at.rows[lane() / 4], 16, rows.begin());
    std::copy_n(at.rows[lane() / 4 + 8], 16, rows.begin() + 16);
    begun_.push_back([=, this] {
      for_each_sum(c, [&](float& sum, unsigned row, unsigned column) {
        double total = static_cast<double>(sum);
        for (unsigned k = 0; k < 16; ++k)
          total += rows[(row < 8 ? 0 : 16) + k] * in_panel<Type>(b, step * 16 + k, column);
        sum = static_cast<float>(total);
      });
    });
  }
  void begin_products() {}
  void commit_products() {
    committed_.push_back(std::move(begun_));
    begun_.clear();
  }
  template <unsigned Left>
  void wait_products() {
    while (committed_.size() > Left) {
      for (const auto& f : committed_.front()) f();
      committed_.erase(committed_.begin());
    }
  }
  template <class X>
  void keep(X&) {}
  void publish() {}

  template <bool Fast>
  float exp2(float x) {
    return std::exp2(x);
  }
  float log2(float x) { return std::log2(x); }
  float larger(float x, float y) { return std::fmax(x, y); }
  float smaller(float x, float y) { return std::fmin(x, y); }
  double larger(double x, double y) { return std::fmax(x, y); }
  float fma(float a, float b, float c) { return ++fmas(), std::fma(a, b, c); }
  double fma(double a, double b, double c) { return ++fmas(), std::fma(a, b, c); }

 private:
  struct copy {
    void* to;
    const void* from;
  };
  host_block& block_;
  host_warp& warp_;
  unsigned thread_;
  std::vector<copy> copies_;
  using products = std::vector<std::function<void()>>;
  products begun_;
  std::vector<products> committed_;

  /// An element of 64 rows of 128 bytes at a multiple of 1,024, whose pieces of 16 bytes are swizzled.
  template <dtype Type>
  static double in_panel(const void* panel, unsigned row, unsigned column) {
    if (reinterpret_cast<std::uintptr_t>(panel) % 1024 != 0) throw std::logic_error("wgmma: not aligned");
    type_of<Type> x;
    std::memcpy(
        static_cast<void*>(&x),
        static_cast<const std::byte*>(panel) + row * 128 + (column / 8 ^ row % 8) * 16 + column % 8 * 2, 2);
    return static_cast<double>(static_cast<float>(x));
  }
  /// f(sum, its row of the warp's 16, its column of 64).
  template <class F>
  void for_each_sum(float (*c)[4], F&& f) const {
    for (unsigned n = 0; n < 8; ++n)
      for (unsigned i = 0; i < 4; ++i) f(c[n][i], lane() / 4 + i / 2 * 8, n * 8 + lane() % 4 * 2 + i % 2);
  }

  void meet() { block_.meet(warp_.meeting, 32); }
  template <dtype Type>
  static void put_halves(double* to, std::uint32_t word) {
    type_of<Type> both[2];
    std::memcpy(static_cast<void*>(both), &word, 4);
    for (unsigned i = 0; i < 2; ++i) to[i] = static_cast<double>(static_cast<float>(both[i]));
  }
  /// mma's a, of which each lane has four registers.
  template <dtype Type>
  void put_rows(host_warp::place& to, const std::uint32_t (&a)[4]) const {
    const unsigned g = lane() / 4, t = lane() % 4 * 2;
    for (unsigned i = 0; i < 4; ++i) put_halves<Type>(to.rows[g + 8 * (i % 2)] + t + 8 * (i / 2), a[i]);
  }
};

}  // namespace napkin::testing
