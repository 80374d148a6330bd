// How lanes part and meet, and warps wait for one another; what accesses are checked for, and counted.
#include "emulated/machine.hpp"

#include <algorithm>

namespace napkin::testing::ptx {

// ---- a warp

warp::warp(block& of, const kernel& k, unsigned number, unsigned threads)
    : block_(&of),
      kernel_(&k),
      number_(number),
      waited_(k.waits ? 0 : ~0u),
      registers_(static_cast<std::size_t>(k.registers) * warp_size, 0x7ff4dead7fa0beefull) {
  const std::uint32_t here = std::min(threads - number * warp_size, warp_size);
  alive_ = here == warp_size ? ~0u : (1u << here) - 1;
  for (const auto& [r, value] : k.constants) std::fill_n(row(r), warp_size, value);
  const grid& g = of.shape();
  const auto index = of.index();
  for (unsigned l = 0; l < warp_size; ++l) {
    const std::uint32_t t = number * warp_size + l;
    row(tid_x)[l] = t % g.threads[0];
    row(tid_y)[l] = t / g.threads[0] % g.threads[1];
    row(tid_z)[l] = t / g.threads[0] / g.threads[1];
    for (int d = 0; d < 3; ++d) {
      const auto i = static_cast<std::size_t>(d);
      row(ntid_x + d)[l] = g.threads[i];
      row(nctaid_x + d)[l] = g.blocks[i];
      row(ctaid_x + d)[l] = index[i];
    }
    row(laneid)[l] = l;
    row(warpid)[l] = number;
    row(lanemask_lt)[l] = (1u << l) - 1;
    row(lanemask_le)[l] = (2u << l) - 1;
  }
}

void warp::put(std::uint32_t lanes, std::uint32_t pc) {
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) pc_[std::countr_zero(left)] = pc;
}

void warp::leave_barrier(bool vote) {
  if (voted_ >= 0) std::fill_n(row(voted_), warp_size, std::uint64_t{vote != votes_against_});
  voted_ = -1;
  at_barrier_ = 0;
}

void warp::run() {
  while (true) {
    // The lanes that are furthest back go first, so that those which parted meet again where they can.
    const std::uint32_t ready = alive_ & ~at_barrier_ & ~in_meeting_;
    if (ready == 0) {
      if (in_meeting_ == 0) return;
      const int lane = std::countr_zero(in_meeting_);
      block_->fail(kernel_->code[pc_[lane]], "waits for lanes that never come");
    }
    std::uint32_t first = ~0u, until = ~0u;
    for (std::uint32_t left = ready; left != 0; left &= left - 1)
      first = std::min(first, pc_[std::countr_zero(left)]);
    std::uint32_t lanes = 0;
    for (std::uint32_t left = ready; left != 0; left &= left - 1) {
      const int l = std::countr_zero(left);
      if (pc_[l] == first)
        lanes |= 1u << l;
      else
        until = std::min(until, pc_[l]);
    }
    run_group(lanes, first, until);
  }
}

void warp::run_group(std::uint32_t lanes, std::uint32_t pc, std::uint32_t until) {
  counts& counted = block_->counted();
  while (pc < until) {
    const instruction& i = kernel_->code[pc];
    ++counted.instructions;
    std::uint32_t active = lanes;
    if (i.guard >= 0) active &= i.guard_is_negated ? ~lanes_where(i.guard) : lanes_where(i.guard);
    switch (i.what) {
      case control::none:
        if (active == 0) break;
        if (i.is_collective) {
          std::uint32_t needed = alive_;
          if (i.mask >= 0) {
            const int one = std::countr_zero(active);
            needed = static_cast<std::uint32_t>(row(i.mask)[one]);
            if ((needed & ~alive_) != 0) block_->fail(i, "names lanes that have left or were never there");
            if ((active & ~needed) != 0) block_->fail(i, "is reached by lanes that its mask does not name");
          }
          // Lanes that reached it before wait where they are.
          std::uint32_t there = active;
          for (std::uint32_t left = in_meeting_; left != 0; left &= left - 1)
            if (pc_[std::countr_zero(left)] == pc) there |= 1u << std::countr_zero(left);
          if (there != needed) {
            if (active != lanes) block_->fail(i, "is collective, and its guard is true of some lanes alone");
            put(lanes, pc);
            in_meeting_ |= lanes;
            return;
          }
          mask_ = there;
          i.run(*this, i);
          if (there != lanes) {
            in_meeting_ &= ~there;
            put(there, pc + 1);
            put(lanes & ~there, pc + 1);
            return;
          }
          break;
        }
        mask_ = active;
        i.run(*this, i);
        break;
      case control::branch:
        if (active == lanes) {
          pc = static_cast<std::uint32_t>(i.target);
          continue;
        }
        if (active != 0) {
          put(active, static_cast<std::uint32_t>(i.target));
          put(lanes & ~active, pc + 1);
          return;
        }
        break;
      case control::exit:
        if (!may_touch(active)) block_->fail(i, "leaves before it has waited for earlier kernels");
        alive_ &= ~active;
        lanes &= ~active;
        if (lanes == 0) return;
        break;
      case control::block_any:
      case control::block_all:  // none of them votes against it
        voted_ = i.x[0];
        votes_against_ = i.what == control::block_all;
        for (std::uint32_t left = active; left != 0; left &= left - 1)
          block_->vote = block_->vote || ((row(i.x[1])[std::countr_zero(left)] & 1) != 0) != votes_against_;
        [[fallthrough]];
      case control::block_barrier:
        if (active != lanes) block_->fail(i, "is a barrier, and its guard is true of some lanes alone");
        put(lanes, pc + 1);
        at_barrier_ |= lanes;
        return;
    }
    ++pc;
  }
  put(lanes, pc);
}

// ---- a block

block::block(const kernel& k, const grid& g, std::span<const std::byte> parameters, global_memory& global,
             watched& shared, std::uint64_t launch, std::uint64_t number, counts& counted)
    : kernel_(&k),
      grid_(&g),
      parameters_(parameters),
      global_(&global),
      shared_(&shared),
      launch_(launch),
      number_(number),
      counted_(&counted) {}

std::array<std::uint32_t, 3> block::index() const {
  const auto n = static_cast<std::uint32_t>(number_);
  return {n % grid_->blocks[0], n / grid_->blocks[0] % grid_->blocks[1],
          n / grid_->blocks[0] / grid_->blocks[1]};
}

void block::run() {
  const std::uint32_t threads = grid_->threads[0] * grid_->threads[1] * grid_->threads[2];
  std::vector<warp> warps;
  const std::uint32_t count = (threads + warp_size - 1) / warp_size;
  warps.reserve(count);
  for (std::uint32_t w = 0; w < count; ++w) warps.emplace_back(*this, *kernel_, w, threads);
  bool any = true;
  while (any) {
    any = false;
    for (warp& w : warps)
      if (!w.is_done()) w.run();
    // Those that have left are waited for no longer.
    for (warp& w : warps) {
      any = any || w.waits_for_block();
      w.leave_barrier(vote);
    }
    ++epoch_;
    vote = false;
  }
  for (warp& w : warps)
    if (!w.copies.empty())
      throw std::runtime_error(kernel_->name + ": ends with copies it has not waited for");
}

void block::fail(const instruction& i, const std::string& why, int thread) const {
  throw std::runtime_error("emulated: " + i.text + "\n  " + why + "\n  in block " + std::to_string(number_) +
                           (thread < 0 ? "" : ", thread " + std::to_string(thread)) + " of " + kernel_->name);
}

const std::byte* block::parameter(std::uint64_t at, std::size_t bytes, const instruction& i) const {
  if (at + bytes > parameters_.size()) fail(i, "reads beyond the parameters");
  return parameters_.data() + at;
}

inline block::found block::find(const instruction& i, space where, std::uint64_t at, std::size_t bytes,
                                unsigned thread) {
  if ((at & (bytes - 1)) != 0)
    fail(i, "is not aligned to its " + std::to_string(bytes) + " bytes", static_cast<int>(thread));
  if (where == space::global) {
    watched* const memory = global_->find(at, bytes);
    if (memory == nullptr) fail(i, "lies outside of what is allocated", static_cast<int>(thread));
    return {*memory, at - reinterpret_cast<std::uint64_t>(memory->data())};
  }
  if (at + bytes > shared_->size())
    fail(i, "lies beyond the block's shared memory", static_cast<int>(thread));
  return {*shared_, at};
}

namespace {
constexpr const char* early = "touches memory before it has waited for earlier kernels";
}  // namespace

std::byte* block::touch(warp& w, const instruction& i, space where, std::uint64_t at, std::size_t bytes,
                        unsigned lane, bool writes, bool watch) {
  const unsigned thread = w.number() * warp_size + lane;
  if (where == space::global && !w.may_touch(1u << lane)) fail(i, early, static_cast<int>(thread));
  const auto [memory, offset] = find(i, where, at, bytes, thread);
  if (watch && !i.is_volatile) {
    const stamp who(launch_, number_, thread, epoch_, w.epoch);
    const char* const wrong =
        writes ? memory.note_write(offset, bytes, who) : memory.note_read(offset, bytes, who);
    if (wrong != nullptr) fail(i, wrong, static_cast<int>(thread));
  } else if (writes) {
    memory.set_written(offset, bytes);
  }
  return memory.data() + offset;
}

template <bool Writes>
void block::touch_each(warp& w, const instruction& i, space where, std::span<const std::uint64_t> at,
                       const unsigned* lane, std::size_t bytes, std::byte** memory) {
  const unsigned thread = w.number() * warp_size;
  const stamp of_lane_0(launch_, number_, thread, epoch_, w.epoch);
  const bool may_touch = where == space::shared || w.may_touch(w.mask());
  for (std::size_t k = 0, next; k < at.size(); k = next) {
    const auto number = static_cast<int>(thread + lane[k]);
    if (!may_touch && !w.may_touch(1u << lane[k])) fail(i, early, number);
    std::uint32_t lanes = 1u << lane[k];
    next = k + 1;
    if constexpr (!Writes)
      for (; next < at.size() && at[next] == at[k]; ++next) lanes |= 1u << lane[next];
    const auto [touched, offset] = find(i, where, at[k], bytes, thread + lane[k]);
    const stamp who = of_lane_0.of_thread(lane[k]);
    const char* wrong = nullptr;
    if constexpr (Writes) {
      if (i.is_volatile)
        touched.set_written(offset, bytes);
      else
        wrong = touched.note_write(offset, bytes, who);
    } else if (!i.is_volatile) {
      wrong = next - k > 1 ? touched.note_read(offset, bytes, of_lane_0, lanes)
                           : touched.note_read(offset, bytes, who);
    }
    if (wrong != nullptr) fail(i, wrong, number);
    std::fill(memory + k, memory + next, touched.data() + offset);
  }
}
template void block::touch_each<false>(warp&, const instruction&, space, std::span<const std::uint64_t>,
                                       const unsigned*, std::size_t, std::byte**);
template void block::touch_each<true>(warp&, const instruction&, space, std::span<const std::uint64_t>,
                                      const unsigned*, std::size_t, std::byte**);

namespace {

std::uint64_t count_sectors(std::span<const std::uint64_t> at) {
  std::uint64_t distinct = 0, last = 0;
  bool ascend = true;
  for (const std::uint64_t a : at) {
    const std::uint64_t sector = a / 32;  // none is 0: nothing is allocated there
    ascend = ascend && sector >= last;
    distinct += sector != last;
    last = sector;
  }
  if (ascend) return distinct;
  std::uint64_t sectors[warp_size];
  std::size_t n = 0;
  for (const std::uint64_t a : at) sectors[n++] = a / 32;
  std::sort(sectors, sectors + n);
  return static_cast<std::uint64_t>(std::unique(sectors, sectors + n) - sectors);
}

// Of lanes that are served together, what each asks for being `unit` bytes in line with their size, as many banks as
// hold them: pieces of one bank come one after another, each once.
std::uint64_t count_wavefronts(std::span<const std::uint64_t> at, std::size_t unit) {
  const std::size_t banks = 128 / unit;
  const int shift = std::countr_zero(unit);
  std::uint64_t lowest = ~std::uint64_t{0}, highest = 0;
  for (const std::uint64_t a : at) lowest = std::min(lowest, a), highest = std::max(highest, a);
  if ((highest >> shift) - (lowest >> shift) < banks) return 1;  // no two pieces of one bank
  std::uint64_t of_bank[warp_size][warp_size];
  std::uint8_t found[warp_size] = {};
  std::uint8_t most = 0;
  std::uint64_t last = ~std::uint64_t{0};
  for (const std::uint64_t a : at) {
    const std::uint64_t x = a >> shift;
    if (x == last) continue;
    last = x;
    std::uint64_t* const pieces = of_bank[x & (banks - 1)];
    std::uint8_t& n = found[x & (banks - 1)];
    if (std::find(pieces, pieces + n, x) == pieces + n) pieces[n++] = x;
    most = std::max(most, n);
  }
  return most;
}

}  // namespace

void block::count(space where, std::span<const std::uint64_t> at, std::size_t bytes, bool writes) {
  if (where == space::global) {
    (writes ? counted_->stores : counted_->loads) += 1;
    (writes ? counted_->store_bytes : counted_->load_bytes) += at.size() * bytes;
    (writes ? counted_->store_sectors : counted_->load_sectors) += count_sectors(at);
    return;
  }
  // As many lanes at a time as can have 128 bytes.
  const std::size_t unit = std::max<std::size_t>(bytes, 4), together = warp_size * 4 / unit;
  ++counted_->shared_requests;
  for (; !at.empty(); at = at.subspan(std::min(at.size(), together))) {
    counted_->shared_wavefronts += count_wavefronts(at.first(std::min(at.size(), together)), unit);
    counted_->least_wavefronts += 1;
  }
}

counts run(const kernel& k, const grid& g, std::span<const std::byte> parameters, global_memory& global) {
  const std::uint64_t threads = std::uint64_t{g.threads[0]} * g.threads[1] * g.threads[2];
  if (threads == 0 || threads > k.max_threads)
    throw std::runtime_error("emulated: " + k.name + ": launched with " + std::to_string(threads) +
                             " threads of " + std::to_string(k.max_threads));
  const std::size_t shared_bytes = k.shared_bytes + g.shared;
  std::vector<std::byte> room(shared_bytes + 1);
  watched shared(room.data(), shared_bytes);
  counts counted;
  const std::uint64_t launch = global.next_launch();
  const std::uint64_t blocks = std::uint64_t{g.blocks[0]} * g.blocks[1] * g.blocks[2];
  for (std::uint64_t b = 0; b < blocks; ++b) {
    shared.forget_all();
    std::fill(room.begin(), room.end(), std::byte{0x7f});
    block(k, g, parameters, global, shared, launch, b, counted).run();
  }
  return counted;
}

}  // namespace napkin::testing::ptx
