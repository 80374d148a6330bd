// Results in the memory of operands: what a kernel writes goes where an operand lies that nothing reads
// later, the gradient of logits over the logits; what a product adds to, where that lies. A pass over a plan
// whose memory is not planned yet: of two lives it makes one.
#pragma once

#include "napkin/plan/uses.hpp"

namespace napkin::planning {

namespace detail {

template <class P>
class memory_sharer {
 public:
  constexpr memory_sharer(P& plan, const plan_sizes& sizes) : p_(plan), count_(sizes) {
    home_.reserve(count_.lives);
    for (std::size_t l = 0; l < count_.lives; ++l) home_.push_back(l);
  }

  /// How many lives are left: the first of the plan's.
  constexpr std::size_t run() {
    for (std::size_t i = 0; i < count_.instructions; ++i) {
      const instruction& now = p_.instructions[i];
      const std::int32_t kernel = now.kind == unit_kind::kernel ? now.index : now.epilogue;
      if (kernel >= 0)
        share(now, p_.kernels[static_cast<std::size_t>(kernel)]);
      else if (now.kind == unit_kind::contraction)
        share(now, p_.contractions[static_cast<std::size_t>(now.index)]);
    }
    return found_ ? number_anew() : count_.lives;
  }

 private:
  P& p_;
  plan_sizes count_;
  buffer<std::size_t> home_;  // by life: itself, or the one that it is part of now
  bool found_ = false;

  constexpr const access_record& access(const kernel_record& r, int a) const {
    return p_.accesses[static_cast<std::size_t>(r.first_access + a)];
  }
  constexpr std::size_t life_of(const access_record& a) const { return home_.items[a.base.at]; }

  constexpr void share(const instruction& now, const kernel_record& r) {
    for (int to = 0; to < r.accesses; ++to) {
      const access_record& written = access(r, to);
      if (!written.written || written.base.where != region::arena) continue;
      const std::size_t made = written.base.at;
      for (int from = 0; from < r.accesses && home_.items[made] == made; ++from) {
        if (from == to || access(r, from).written || access(r, from).base.where != region::arena) continue;
        const std::size_t read = life_of(access(r, from));
        if (follow_another(now, read, made) && !is_multiplied(now, read) && can_overwrite(r, from, to))
          put(made, read);
      }
    }
  }
  /// A product's result, where what its call adds lies: of the same shape, strides and dtype.
  constexpr void share(const instruction& now, const contraction_record& r) {
    const contraction_record::other& added = r.of(epilogue_operand::added);
    if (added.bytes == 0 || added.at.where != region::arena || r.c.where != region::arena) return;
    const std::size_t read = home_.items[added.at.at], made = r.c.at;
    for (const contraction_record::other& x : r.others)
      if (&x != &added && x.bytes > 0 && x.at.where == region::arena && home_.items[x.at.at] == read) return;
    if (follow_another(now, read, made) && !is_multiplied(now, read)) put(made, read);
  }
  /// Is what is read for the last time, and what is made now, as large?
  constexpr bool follow_another(const instruction& now, std::size_t read, std::size_t made) const {
    const passes::lifetime &x = p_.lives[read], &y = p_.lives[made];
    return x.last == now.time && y.first == now.time && x.bytes == y.bytes;
  }
  constexpr void put(std::size_t made, std::size_t read) {
    p_.lives[read].last = p_.lives[made].last;
    home_.items[made] = read;
    found_ = true;
  }
  /// Is an operand of the contraction that this is, or that runs with the kernel, block by block?
  constexpr bool is_multiplied(const instruction& now, std::size_t life) const {
    if (now.kind != unit_kind::contraction) return false;
    const contraction_record& r = p_.contractions[static_cast<std::size_t>(now.index)];
    for (const location* x : {&r.a, &r.b})
      if (x->where == region::arena && home_.items[x->at] == life) return true;
    return false;
  }
  /// Access `to` writes each element where `from` read one of the same dtype before; so does, or elsewhere
  /// goes, whatever else is read and written of the two memories.
  constexpr bool can_overwrite(const kernel_record& r, int from, int to) const {
    const std::size_t read = life_of(access(r, from)), made = life_of(access(r, to));
    if (!is_same_place(r, from, to)) return false;
    for (int x = 0; x < r.accesses; ++x) {
      if (access(r, x).base.where != region::arena) continue;
      const std::size_t life = life_of(access(r, x));
      if ((life == read && access(r, x).written) || (life == made && !access(r, x).written)) return false;
      if (life != read) continue;
      for (int y = 0; y < r.accesses; ++y) {
        if (access(r, y).base.where != region::arena || life_of(access(r, y)) != made) continue;
        if (is_same_place(r, x, y) ? !is_read_before(r, x, y) : !is_elsewhere(r, x, y)) return false;
      }
    }
    return true;
  }
  constexpr bool has_same_strides(const kernel_record& r, int a, int b) const {
    for (int d = 0; d < r.outer_rank + r.inner_rank; ++d)
      if (stride(r, a, d) != stride(r, b, d)) return false;
    return true;
  }
  constexpr std::ptrdiff_t stride(const kernel_record& r, int a, int d) const {
    return p_.strides[static_cast<std::size_t>(access(r, a).first_stride + d)];
  }
  constexpr bool is_same_place(const kernel_record& r, int a, int b) const {
    return access(r, a).offset == access(r, b).offset && has_same_strides(r, a, b);
  }
  /// No element of one is an element of the other: parts of a tensor side by side. Steps of both that are
  /// longer than what lies between them are multiples of one, and a piece ends before the other begins.
  constexpr bool is_elsewhere(const kernel_record& r, int a, int b) const {
    const std::size_t size = element_size(r, a);
    if (!has_same_strides(r, a, b) || size == 0 || size != element_size(r, b)) return false;
    const auto bytes = static_cast<std::ptrdiff_t>(size);
    const std::ptrdiff_t one = access(r, a).offset, other = access(r, b).offset,
                         apart = one < other ? other - one : one - other;
    std::ptrdiff_t piece = bytes, step = 0;
    for (int d = 0; d < r.outer_rank + r.inner_rank; ++d) {
      const std::ptrdiff_t s = bytes * stride(r, a, d), length = s < 0 ? -s : s;
      if (length <= apart)
        piece +=
            length * static_cast<std::ptrdiff_t>(p_.sizes[static_cast<std::size_t>(r.first_size + d)] - 1);
      else if (step == 0 || length < step)
        step = length;
    }
    for (int d = 0; d < r.outer_rank + r.inner_rank; ++d)
      if (const std::ptrdiff_t s = bytes * stride(r, a, d); (s > apart || -s > apart) && s % step != 0)
        return false;
    return piece <= apart && (step == 0 || piece <= step - apart);
  }
  /// 0: of several, or of none.
  constexpr std::size_t element_size(const kernel_record& r, int a) const {
    const program_record& program = p_.programs[static_cast<std::size_t>(r.program)];
    std::size_t found = 0;
    for (std::int32_t s = program.first_step; s < program.first_step + program.steps; ++s) {
      const passes::kernel_step& step = p_.steps[static_cast<std::size_t>(s)];
      if ((step.what != passes::action::load && step.what != passes::action::store) || step.a != a ||
          step.along == passes::pace::scratch)
        continue;
      if (found != 0 && found != size_of(step.type)) return 0;
      found = size_of(step.type);
    }
    return found;
  }
  /// Access `to` stores each element after `from` loaded it, of the same dtype: steps of a phase run in their
  /// order.
  constexpr bool is_read_before(const kernel_record& r, int from, int to) const {
    const program_record& program = p_.programs[static_cast<std::size_t>(r.program)];
    const passes::kernel_step *load = nullptr, *store = nullptr;
    for (std::int32_t s = program.first_step; s < program.first_step + program.steps; ++s) {
      const passes::kernel_step& step = p_.steps[static_cast<std::size_t>(s)];
      if (step.along == passes::pace::scratch || step.at != passes::place::element) continue;
      if (step.what == passes::action::load && step.a == from) {
        if (store != nullptr) return false;
        load = &step;
      }
      if (step.what == passes::action::store && step.a == to) store = &step;
    }
    return load != nullptr && store != nullptr && load->type == store->type;
  }

  constexpr std::size_t number_anew() {
    buffer<std::size_t> number;
    std::size_t left = 0;
    for (std::size_t l = 0; l < count_.lives; ++l) {
      number.push_back(left);
      if (home_.items[l] == l) p_.lives[left++] = p_.lives[l];
    }
    for_each_place_in(p_, count_, [&](location& l, const place_use&) {
      if (l.where == region::arena) l.at = number.items[home_.items[l.at]];
    });
    for (std::size_t w = 0; w < count_.workspaces; ++w) {
      std::int32_t& life = p_.workspaces[w].life;
      life = static_cast<std::int32_t>(number.items[life]);
    }
    return left;
  }
};

}  // namespace detail

/// Let kernels write into what they read last, where each element is read before the one in its place is
/// written. `count` says of what; lives are fewer then.
template <class P>
constexpr void share_memory(P& p, plan_sizes& count) {
  count.lives = detail::memory_sharer<P>(p, count).run();
}

}  // namespace napkin::planning
