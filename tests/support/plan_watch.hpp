// The memory of a plan, looked at between its instructions. Before one runs, the bytes of the arena in which
// nothing lives that it may read are filled with NaN: what it makes is what it wrote, and what it reads of a
// life that is over is no number. When it has run, all is as it was but for what its records say that it
// writes: a kernel that writes past its result changes a neighbour, or bytes of nobody. Which bytes live
// when are the plan's lifetimes, placed as settle.hpp placed them, and not the offsets in its records, which
// may be wrong.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "napkin/cpu/plan.hpp"
#include "napkin/cuda/plan.hpp"
#include "napkin/plan/cost.hpp"
#include "napkin/plan/settle.hpp"

namespace napkin::testing {

/// Of an arena nothing is known: 16 bits at a time, each a NaN of f16 and of bf16, two of f32, four of f64,
/// and negative as an index. They differ from place to place, so that poison that is copied shows as well.
inline void poison(std::byte* arena, std::size_t first, std::size_t end) {
  for (; first < end; ++first) {
    const std::uint32_t place = static_cast<std::uint32_t>(first / 2) * 2654435761u;
    arena[first] = static_cast<std::byte>(first % 2 == 1 ? 0xff : 0x81 + (place >> 16) % 0x7f);
  }
}

template <class Product>
class plan_watch {
 public:
  using bytes = std::span<std::byte>;

  std::function<void(std::byte*, std::size_t)> poisoned;  // told of it, if it is set
  std::vector<std::int32_t>
      done_by;  // by instruction: a later one that does its work too; -1, or empty: none

  /// `looked_at`: what must not change: the allocations that arena, inputs and outputs lie in. `noted`:
  /// where a gather says of an index that it is outside of its axis.
  plan_watch(const planning::plan_view<Product>& plan, std::byte* arena, std::span<void* const> outputs,
             const std::vector<bytes>& looked_at, bytes noted = {})
      : plan_(plan), arena_(arena), outputs_(outputs.begin(), outputs.end()), noted_(noted) {
    for (const bytes b : looked_at) {
      if (b.empty()) continue;
      const bool known = std::any_of(memory_.begin(), memory_.end(),
                                     [&](const held& h) { return h.now.data() == b.data(); });
      if (!known) memory_.push_back({b, std::vector<std::byte>(b.size())});
    }
    passes::memory_plan placed = planning::plan_memory_of(plan.lives, plan.count.lives);
    for (const std::size_t offset : placed.offsets) begins_.push_back(offset);
    if (placed.peak != plan.peak) wrong_ = "the arena is not as large as the plan's lifetimes make it";
    expected_.resize(plan.peak);
    poison(expected_.data(), 0, plan.peak);
  }

  void before(std::size_t i) {
    const std::int32_t now = plan_.instructions[i].time;
    // Parts of a concatenation are instructions of one time: what begins to live does so before the first.
    const bool begins = i == 0 || plan_.instructions[i - 1].time != now;
    struct run {
      std::size_t begin, end;
    };
    std::vector<run> kept;  // what was made before, and may be read
    for (std::size_t l = 0; l < begins_.size(); ++l)
      if ((plan_.lives[l].first + begins <= now && now <= plan_.lives[l].last) || is_yet_to_be_read(l, i))
        kept.push_back({begins_[l], begins_[l] + plan_.lives[l].bytes});
    kept.push_back({plan_.peak, plan_.peak});
    std::sort(kept.begin(), kept.end(), [](const run& a, const run& b) { return a.begin < b.begin; });
    std::size_t at = 0;
    for (const run& r : kept) {
      if (at < r.begin) {
        std::memcpy(arena_ + at, expected_.data() + at, r.begin - at);
        if (poisoned) poisoned(arena_ + at, r.begin - at);
      }
      at = std::max(at, r.end);
    }
    for (held& h : memory_) std::memcpy(h.before.data(), h.now.data(), h.now.size());
  }

  /// Empty, or what the instruction did that it should not.
  std::string after(std::size_t i) {
    std::string said = wrong_.empty() ? wrong_ : text_of(i) + ": " + wrong_;
    accept(noted_.data(), noted_.size());
    for_each_write(i, said);
    for (std::size_t other = 0; other < done_by.size(); ++other)
      if (done_by[other] == static_cast<std::int32_t>(i)) for_each_write(other, said);
    for (const held& h : memory_) {
      if (std::memcmp(h.before.data(), h.now.data(), h.now.size()) == 0) continue;
      std::size_t at = 0, changed = 0;
      for (std::size_t b = h.now.size(); b-- > 0;)
        if (h.now[b] != h.before[b]) at = b, ++changed;
      said += text_of(i) + ": changes " + std::to_string(changed) +
              " bytes that are not its own, the first " +
              place_of(h.now.data() + at, plan_.instructions[i].time) + "; ";
    }
    return said;
  }

  /// What another stream wrote meanwhile.
  void accept(const void* from, std::size_t size) {
    for (held& h : memory_) {
      const auto* const first = static_cast<const std::byte*>(from);
      if (std::less<>()(first, h.now.data()) || !std::less<>()(first, h.now.data() + h.now.size())) continue;
      const auto at = static_cast<std::size_t>(first - h.now.data());
      std::memcpy(h.before.data() + at, first, std::min(size, h.now.size() - at));
    }
  }

 private:
  struct held {
    bytes now;
    std::vector<std::byte> before;
  };
  planning::plan_view<Product> plan_;
  std::byte* arena_;
  std::vector<void*> outputs_;
  bytes noted_;
  std::vector<held> memory_;
  std::vector<std::size_t> begins_;  // by life
  std::vector<std::byte> expected_;  // an arena full of poison
  std::string wrong_;

  struct axis {
    std::size_t size;
    std::ptrdiff_t stride;  // elements
  };

  /// By an instruction that was before i, and is done with i or later.
  bool is_yet_to_be_read(std::size_t life, std::size_t i) const {
    for (std::size_t other = 0; other < i && other < done_by.size(); ++other) {
      const std::int32_t then = plan_.instructions[other].time;
      if (done_by[other] >= static_cast<std::int32_t>(i) && plan_.lives[life].first < then &&
          then <= plan_.lives[life].last)
        return true;
    }
    return false;
  }

  /// Accepts what the instruction's records say that it writes; what they say wrongly goes to `said`.
  void for_each_write(std::size_t i, std::string& said) {
    const planning::instruction& now = plan_.instructions[i];
    const auto index = static_cast<std::size_t>(now.index);
    const auto writes = [&](const planning::location& to, std::ptrdiff_t offset, std::vector<axis> axes,
                            dtype type) { write(i, to, offset, axes, size_of(type), said); };
    switch (now.kind) {
      case planning::unit_kind::kernel:
        write_kernel(i, index, said);
        break;
      case planning::unit_kind::contraction: {
        const planning::contraction_record& r = plan_.contractions[index];
        const Product& p = plan_.products[r.product];
        writes(r.c, 0, result_of(p), type_of_result(p));
        for (const planning::contraction_record::other& x : r.others)
          if (x.written) writes(x.at, 0, {{x.bytes, 1}}, dtype::u8);
        if (now.epilogue >= 0) write_kernel(i, static_cast<std::size_t>(now.epilogue), said);
        break;
      }
      case planning::unit_kind::gather:
      case planning::unit_kind::scatter_add:
      case planning::unit_kind::pad:
      case planning::unit_kind::concat: {
        const planning::movement_record& r = plan_.movements[index];
        const bool is_part = r.kind == planning::unit_kind::concat;  // of what lies there
        std::ptrdiff_t stride = 1, first = 0;
        std::vector<axis> axes;
        for (std::size_t d = r.to_shape.size(); d-- > 0;
             stride *= static_cast<std::ptrdiff_t>(r.to_shape[d])) {
          axes.push_back({is_part ? r.from_shape[d] : r.to_shape[d], stride});
          if (is_part) first += static_cast<std::ptrdiff_t>(r.start[d]) * stride;
        }
        writes(r.to, first * static_cast<std::ptrdiff_t>(size_of(r.type)), axes, r.type);
        break;
      }
      case planning::unit_kind::attention: {
        const planning::attention_record& r = plan_.attentions[index];
        for (std::size_t x = 0; x < passes::attention_tensors; ++x) {
          if (!r.operands[x].there || !r.operands[x].written) continue;
          const auto of = static_cast<passes::attention_tensor>(x);
          std::vector<axis> axes;
          planning::detail::for_each_axis(r.extent, of, [&](std::size_t size, std::ptrdiff_t stride) {
            axes.push_back({size, stride});
          });
          writes(r.operands[x].at, r.operands[x].offset, axes, r.type_of(of));
        }
        break;
      }
    }
    for (std::size_t w = 0; w < plan_.count.workspaces; ++w) {
      const planning::workspace_record& r = plan_.workspaces[w];
      const bool is_kernel = now.kind == planning::unit_kind::kernel,
                 is_product = now.kind == planning::unit_kind::contraction;
      const std::int32_t kernel = is_kernel ? now.index : now.epilogue;
      const bool its = r.movement >= 0      ? !is_kernel && !is_product && r.movement == now.index
                       : r.contraction >= 0 ? is_product && r.contraction == now.index
                                            : kernel >= 0 && r.kernel == kernel;
      if (its) accept(arena_ + begins_[static_cast<std::size_t>(r.life)], plan_.lives[r.life].bytes);
    }
  }
  void write_kernel(std::size_t i, std::size_t kernel, std::string& said) {
    const planning::kernel_record& k = plan_.kernels[kernel];
    const planning::program_record& program = plan_.programs[k.program];
    for (std::int32_t s = program.first_step; s < program.first_step + program.steps; ++s) {
      const passes::kernel_step& step = plan_.steps[s];
      if (step.what != passes::action::store || step.along == passes::pace::scratch) continue;
      const planning::access_record& a = plan_.accesses[k.first_access + step.a];
      std::vector<axis> axes;
      // a value of a row is there though nothing is in the row
      const std::int32_t rank = k.outer_rank + (step.at == passes::place::element ? k.inner_rank : 0);
      for (std::int32_t d = 0; d < rank; ++d)
        axes.push_back({plan_.sizes[k.first_size + d], plan_.strides[a.first_stride + d]});
      write(i, a.base, a.offset, axes, size_of(step.type), said);
    }
    for (std::int32_t c = 0; c < k.columns; ++c) {
      const planning::column_record& column = plan_.columns[k.first_column + c];
      write(i, column.to, 0, {{k.row_length, 1}}, size_of(column.type), said);
    }
  }

  static dtype type_of_result(const on_cuda::product& p) { return p.gemm.possible ? p.gemm.c.type : p.type; }
  static std::vector<axis> result_of(const on_cuda::product& p) {
    std::vector<axis> axes;
    if (p.loops.empty) axes.push_back({0, 1});
    for (const passes::contraction_loops* group : {&p.loops.batch, &p.loops.rows, &p.loops.columns})
      for (const passes::contraction_loop& l : *group) axes.push_back({l.size, l.c});
    return axes;
  }
  static dtype type_of_result(const on_cpu::contraction_plan& p) { return p.type; }
  static std::vector<axis> result_of(const on_cpu::contraction_plan& p) {
    std::vector<axis> axes{{p.m, p.c_m}, {p.n, p.c_n}};
    for (const passes::contraction_loop& l : p.batch) axes.push_back({l.size, l.c});
    return axes;
  }

  void write(std::size_t i, const planning::location& to, std::ptrdiff_t offset, std::vector<axis> axes,
             std::size_t element, std::string& said) {
    for (const axis& a : axes)
      if (a.size == 0) return;
    std::ptrdiff_t first = offset, last = offset;
    for (const axis& a : axes) {
      const std::ptrdiff_t reach = a.stride * static_cast<std::ptrdiff_t>((a.size - 1) * element);
      (reach < 0 ? first : last) += reach;
    }
    std::byte* base = nullptr;
    if (to.where == planning::region::arena) {
      base = arena_ + to.at;
      const std::ptrdiff_t life = life_that_begins(to.at, plan_.instructions[i].time);
      const bool inside =
          life >= 0 && first >= 0 && static_cast<std::size_t>(last) + element <= plan_.lives[life].bytes;
      if (!inside) {
        said += text_of(i) + ": its record says that it writes where no life is, " + std::to_string(to.at) +
                " bytes into the arena; ";
        return;
      }
    } else {
      base = static_cast<std::byte*>(outputs_[to.at]);
    }
    // adjacent elements at once
    std::sort(axes.begin(), axes.end(),
              [](const axis& a, const axis& b) { return std::abs(a.stride) < std::abs(b.stride); });
    std::size_t run = element;
    while (!axes.empty() &&
           (axes.front().size == 1 || axes.front().stride == 0 ||
            axes.front().stride * static_cast<std::ptrdiff_t>(element) == static_cast<std::ptrdiff_t>(run))) {
      if (axes.front().size > 1 && axes.front().stride != 0) run *= axes.front().size;
      axes.erase(axes.begin());
    }
    walk(base + offset, axes, axes.size(), element, run);
  }
  void walk(const std::byte* at, const std::vector<axis>& axes, std::size_t left, std::size_t element,
            std::size_t run) {
    if (left == 0) return accept(at, run);
    const axis& a = axes[left - 1];
    for (std::size_t n = 0; n < a.size; ++n)
      walk(at + a.stride * static_cast<std::ptrdiff_t>(n * element), axes, left - 1, element, run);
  }

  std::ptrdiff_t life_that_begins(std::size_t offset, std::int32_t time) const {
    for (std::size_t l = 0; l < begins_.size(); ++l) {
      const passes::lifetime& life = plan_.lives[l];
      if (begins_[l] == offset && life.bytes > 0 && life.first <= time && time <= life.last)
        return static_cast<std::ptrdiff_t>(l);
    }
    return -1;
  }

  std::string text_of(std::size_t i) const {
    constexpr const char* names[] = {"kernel", "contraction", "gather",   "scatter_add",
                                     "pad",    "concat",      "attention"};
    static_assert(static_cast<int>(planning::unit_kind::attention) == 6);
    const planning::instruction& now = plan_.instructions[i];
    return "instruction " + std::to_string(i) + " (" + names[static_cast<int>(now.kind)] + " " +
           std::to_string(now.index) + ")";
  }
  std::string place_of(const std::byte* at, std::int32_t time) const {
    if (std::less<>()(at, arena_) || !std::less<>()(at, arena_ + plan_.peak)) return "outside of the arena";
    const auto offset = static_cast<std::size_t>(at - arena_);
    for (std::size_t l = 0; l < begins_.size(); ++l) {
      const passes::lifetime& life = plan_.lives[l];
      if (life.first <= time && time <= life.last && begins_[l] <= offset && offset < begins_[l] + life.bytes)
        return "in life " + std::to_string(l) + ", " + std::to_string(offset - begins_[l]) + " of " +
               std::to_string(life.bytes) + " bytes";
    }
    return std::to_string(offset) + " bytes into the arena, where nothing lives";
  }
};

}  // namespace napkin::testing
