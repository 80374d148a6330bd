// A warp of the machine that runs PTX: its lanes' registers, and where each of them is.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "emulated/ptx.hpp"

namespace napkin::testing::ptx {

class block;

enum class space : std::uint8_t { global, shared };

class warp {
 public:
  warp(block& of, const kernel& k, unsigned number, unsigned threads);

  /// Until every lane waits for the block, or has left.
  void run();

  bool is_done() const { return alive_ == 0; }
  bool waits_for_block() const { return alive_ != 0 && at_barrier_ == alive_; }
  /// vote: what bar.red gives all threads.
  void leave_barrier(bool vote);

  // ---- for instructions
  /// griddepcontrol.wait: what earlier kernels wrote is there, for these lanes.
  void wait() { waited_ |= mask_; }
  bool may_touch(std::uint32_t lanes) const { return (lanes & ~waited_) == 0; }
  std::uint64_t* row(std::int32_t r) { return registers_.data() + static_cast<std::size_t>(r) * warp_size; }
  std::uint32_t mask() const { return mask_; }
  unsigned number() const { return number_; }
  block& of() const { return *block_; }

  template <class F>
  void each_lane(F f) const {
    if (mask_ == ~0u) {
      for (unsigned l = 0; l < warp_size; ++l) f(l);
    } else {
      for (std::uint32_t left = mask_; left != 0; left &= left - 1)
        f(static_cast<unsigned>(std::countr_zero(left)));
    }
  }
  std::uint32_t lanes_where(std::int32_t predicate) {
    const std::uint64_t* p = row(predicate);
    std::uint32_t m = 0;
    for (unsigned l = 0; l < warp_size; ++l) m |= static_cast<std::uint32_t>(p[l] & 1) << l;
    return m;
  }

  // cp.async: what lanes have asked for and not yet waited for.
  struct copy {
    unsigned lane;
    std::uint64_t to, from;
    std::uint32_t bytes;  // of 16; the rest becomes zero
  };
  std::vector<copy> copies;
  std::uint32_t epoch = 0;  // meetings of the warp so far

 private:
  block* block_;
  const kernel* kernel_;
  unsigned number_;
  std::uint32_t alive_ = 0, at_barrier_ = 0, in_meeting_ = 0, mask_ = 0;
  std::uint32_t waited_;
  std::uint32_t pc_[warp_size] = {};
  std::int32_t voted_ = -1;  // the register that waits for a vote
  bool votes_against_ = false;
  std::vector<std::uint64_t> registers_;

  void run_group(std::uint32_t lanes, std::uint32_t pc, std::uint32_t until);
  void put(std::uint32_t lanes, std::uint32_t pc);
};

}  // namespace napkin::testing::ptx
