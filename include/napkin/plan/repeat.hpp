// A plan made for a few of many equal layers (passes/repeats.hpp), with the others put back: the stretch of
// instructions that recurs from layer to layer is repeated, over buffers, parameters and gradients of its
// own. What comes out is the plan of the whole graph, instruction for instruction (tests/law/repeat.cpp).
#pragma once

#include "napkin/passes/repeats.hpp"
#include "napkin/plan/uses.hpp"

namespace napkin::planning {

using passes::layered;
using passes::left_out;

/// Instructions begin + t * length on, t < count, do the same for one layer after another, and so do `rest`
/// more, of a layer that ends otherwise.
struct instruction_run {
  std::int32_t begin = 0, length = 0, count = 0, rest = 0;
  constexpr std::int32_t end() const { return begin + length * count; }
  constexpr bool holds(std::int32_t i) const { return i >= begin && i < end(); }
};
/// Forward through the layers; and backward, from the last one, if gradients are among the outputs.
struct plan_runs {
  instruction_run forward, backward;
  bool found = false;
};

namespace detail {

/// Every place that an instruction reads or writes, workspace included, in an order that is the same for
/// instructions that do the same; and for each buffer in the arena the first instruction that names it.
template <class Product>
class places {
 public:
  plan_view<Product> p;

  constexpr explicit places(const plan_view<Product>& plan) : p(plan) {
    scratch_.resize(p.count.kernels, -1);
    partials_.resize(p.count.kernels, -1);
    workspace_.resize(p.count.contractions, -1);
    of_movement_.resize(p.count.movements, -1);
    for (std::size_t w = 0; w < p.count.workspaces; ++w) {
      const workspace_record& r = p.workspaces[w];
      if (r.movement >= 0)
        of_movement_[static_cast<std::size_t>(r.movement)] = r.life;
      else if (r.contraction >= 0)
        workspace_[static_cast<std::size_t>(r.contraction)] = r.life;
      else
        (r.scratch ? scratch_ : partials_)[static_cast<std::size_t>(r.kernel)] = r.life;
    }
    at_.reserve(p.count.accesses + p.count.columns + 5 * p.count.instructions + 10 * p.count.attentions);
    births_.resize(p.count.lives, {-1, -1});
    for (std::size_t i = 0; i < p.count.instructions; ++i) {
      first_.push_back(static_cast<std::int32_t>(at_.size()));
      list(p.instructions[i]);
      for (std::size_t r = static_cast<std::size_t>(first_[i]); r < at_.size(); ++r) {
        if (at_[r].where != region::arena) continue;
        birth& b = births_[at_[r].at];
        if (b.instruction < 0) b = {static_cast<std::int32_t>(i), static_cast<std::int32_t>(r) - first_[i]};
      }
    }
    first_.push_back(static_cast<std::int32_t>(at_.size()));
  }

  struct birth {
    std::int32_t instruction, as;  // as: which of its places
    constexpr bool operator==(const birth&) const = default;
  };
  constexpr const birth& born(std::size_t life) const { return births_[life]; }
  constexpr std::int32_t count(std::int32_t i) const { return first_.items[i + 1] - first_.items[i]; }
  constexpr const location* of(std::int32_t i) const { return at_.data() + first_.items[i]; }

  /// The same work, whatever it is done to.
  constexpr bool same_work(std::int32_t i, std::int32_t j) const {
    const instruction &a = p.instructions[i], &b = p.instructions[j];
    if (a.kind != b.kind || a.first_output != b.first_output || (a.epilogue < 0) != (b.epilogue < 0))
      return false;
    if (a.kind == unit_kind::kernel) return same_kernel(a.index, b.index);
    if (a.kind == unit_kind::contraction) {
      const contraction_record &x = p.contractions[a.index], &y = p.contractions[b.index];
      for (std::size_t k = 0; k < epilogue_operands; ++k)
        if (x.others[k].bytes != y.others[k].bytes) return false;
      return x.product == y.product && x.a_offset == y.a_offset && x.b_offset == y.b_offset &&
             (a.epilogue < 0 || same_kernel(a.epilogue, b.epilogue));
    }
    if (a.kind == unit_kind::attention) return p.attentions[a.index].same_work(p.attentions[b.index]);
    const movement_record &x = p.movements[a.index], &y = p.movements[b.index];
    return x.type == y.type && x.index_type == y.index_type && x.axis == y.axis &&
           x.from_shape == y.from_shape && x.index_shape == y.index_shape && x.to_shape == y.to_shape &&
           x.from_stride == y.from_stride && x.index_stride == y.index_stride &&
           x.from_offset == y.from_offset && x.index_offset == y.index_offset && x.start == y.start &&
           x.step == y.step && x.fills == y.fills;
  }

 private:
  buffer<location> at_;
  buffer<std::int32_t> first_;
  buffer<birth> births_;
  buffer<std::int32_t> scratch_, partials_, workspace_, of_movement_;  // lives, by kernel, contraction, ...

  constexpr void add_life(std::int32_t life) {
    if (life >= 0) at_.push_back({region::arena, static_cast<std::size_t>(life)});
  }
  constexpr void list_kernel(std::int32_t k) {
    for_each_place_of_kernel(p, p.kernels[k],
                             [this](const location& l, const place_use&) { at_.push_back(l); });
    add_life(scratch_.items[k]);
    add_life(partials_.items[k]);
  }
  constexpr void list_record(const auto& record) {
    for_each_place(record, [this](const location& l, const place_use&) { at_.push_back(l); });
  }
  constexpr void list(const instruction& i) {
    if (i.kind == unit_kind::kernel) {
      list_kernel(i.index);
    } else if (i.kind == unit_kind::contraction) {
      list_record(p.contractions[i.index]);
      add_life(workspace_.items[i.index]);
      if (i.epilogue >= 0) list_kernel(i.epilogue);
    } else if (i.kind == unit_kind::attention) {
      list_record(p.attentions[i.index]);
    } else {
      list_record(p.movements[i.index]);
      add_life(of_movement_.items[i.index]);
    }
  }
  constexpr bool same_kernel(std::int32_t k, std::int32_t l) const {
    const kernel_record &a = p.kernels[k], &b = p.kernels[l];
    return a.like == b.like && a.chunk == b.chunk && a.chunks == b.chunks && a.walks == b.walks &&
           a.walks_per_block == b.walks_per_block && a.blocks == b.blocks;
  }
};

template <class Product>
class run_finder {
 public:
  constexpr run_finder(const places<Product>& places_of, const left_out& cut) : at_(places_of), cut_(cut) {}

  constexpr plan_runs find() {
    plan_runs runs;
    for (const layered& x : cut_.inputs)  // of parameters some runs read copies alone
      if (runs.forward.count < 2) runs.forward = find_run(1, region::input, x);
    if (runs.forward.count < 2) return runs;
    if (!cut_.outputs.empty()) {
      forward_ = runs.forward;
      runs.backward = find_run(-1, region::output, cut_.outputs[0]);
      if (runs.backward.count < 2 || runs.backward.begin < runs.forward.end()) return runs;
    }
    runs.found = true;
    return runs;
  }

 private:
  const places<Product>& at_;
  left_out cut_;
  instruction_run forward_;

  constexpr bool is_of(const layered& x, std::size_t at) const {
    const auto number = static_cast<std::int64_t>(at);
    return number >= x.first && number < cut_.end_of(x);
  }
  /// What an input or output is that belongs to a layer; null where it belongs to none.
  constexpr const layered* layered_of(const location& l) const {
    if (l.where == region::input) {
      for (const layered& x : cut_.inputs)
        if (is_of(x, l.at)) return &x;
    } else {
      for (const layered& x : cut_.outputs)
        if (is_of(x, l.at)) return &x;
    }
    return nullptr;
  }
  /// The first of these that instruction i names; -1 for none.
  constexpr std::int64_t named_by(std::int32_t i, region where, const layered& of) const {
    const location* l = at_.of(i);
    for (std::int32_t r = 0; r < at_.count(i); ++r)
      if (l[r].where == where && is_of(of, l[r].at)) return static_cast<std::int64_t>(l[r].at);
    return -1;
  }

  /// Instruction i + length does for the next layer (towards the loss: way is 1; from it: -1) what i does.
  /// What the run's first layer is given from before `begin`, the next is given by the first; while `begin`
  /// is not known (-1), by anything later.
  constexpr bool alike(std::int32_t i, std::int32_t length, std::int32_t way, std::int32_t begin) const {
    const std::int32_t j = i + length;
    if (j >= static_cast<std::int32_t>(at_.p.count.instructions) || !at_.same_work(i, j) ||
        at_.count(i) != at_.count(j))
      return false;
    const location *x = at_.of(i), *y = at_.of(j);
    for (const location* end = x + at_.count(i); x != end; ++x, ++y) {
      if (x->where != y->where) return false;
      if (x->where == region::arena) {
        const typename places<Product>::birth &a = at_.born(x->at), &b = at_.born(y->at);
        const bool follows = a.as == b.as && b.instruction - a.instruction == length;
        const bool goes_back = a.as == b.as && way < 0 && a.instruction < forward_.end() + forward_.rest &&
                               forward_.holds(b.instruction) &&
                               a.instruction - b.instruction == forward_.length;
        const bool enters =
            begin < 0 ? a.instruction < b.instruction
                      : a.instruction < begin && b.instruction >= begin && b.instruction < begin + length;
        if (x->at != y->at && !follows && !goes_back && !enters) return false;
        continue;
      }
      const layered* const layers = layered_of(*x);
      if (layers == nullptr
              ? x->at != y->at
              : layered_of(*y) != layers ||
                    static_cast<std::int64_t>(y->at) - static_cast<std::int64_t>(x->at) != way * layers->each)
        return false;
    }
    return true;
  }

  constexpr instruction_run find_run(std::int32_t way, region where, const layered& of) const {
    const auto n = static_cast<std::int32_t>(at_.p.count.instructions);
    for (std::int32_t i = 0; i < n; ++i) {
      const std::int64_t named = named_by(i, where, of), next = named + way * of.each;
      if (named < 0 || next < of.first || next >= cut_.end_of(of)) continue;
      std::int32_t j = i + 1;
      while (j < n && named_by(j, where, of) != next) ++j;
      if (j == n || !alike(i, j - i, way, -1)) continue;
      const std::int32_t length = j - i;
      std::int32_t begin = i, last = i;
      while (begin > 0 && alike(begin - 1, length, way, -1)) --begin;
      for (std::int32_t k = begin; k <= i; ++k)  // by now it is known where the run begins, or later
        if (!alike(k, length, way, begin)) begin = k + 1;
      if (begin > i) continue;
      while (alike(last + 1, length, way, begin)) ++last;
      const std::int32_t alike_more = last + 1 - begin;
      const instruction_run run{begin, length, alike_more / length + 1, alike_more % length};
      if (run.count > 1 && shares_nothing_of_its_own(run)) return run;
    }
    return {};
  }
  /// What all layers of a run read alike was made before it.
  constexpr bool shares_nothing_of_its_own(const instruction_run& run) const {
    for (std::int32_t i = run.begin; i < run.end() - run.length; ++i) {
      const location *x = at_.of(i), *y = at_.of(i + run.length);
      for (const location* end = x + at_.count(i); x != end; ++x, ++y) {
        if (x->where != region::arena || x->at != y->at) continue;
        const std::int32_t made = at_.born(x->at).instruction;
        if (run.holds(made) || forward_.holds(made)) return false;
      }
    }
    return true;
  }
};

/// Writes the instructions of the whole plan one after the other, each from one of the plan at hand.
template <class Product>
class plan_writer {
 public:
  plan<Product> made;
  bool possible = true;

  constexpr plan_writer(const places<Product>& places_of, const left_out& cut, const plan_runs& runs)
      : at_(places_of), p_(places_of.p), cut_(cut), runs_(runs) {}

  constexpr void write(const plan_sizes& room) {
    copy_tables();
    made.instructions.reserve(room.instructions);
    made.kernels.reserve(room.kernels);
    made.accesses.reserve(room.accesses);
    made.columns.reserve(room.columns);
    made.contractions.reserve(room.contractions);
    made.movements.reserve(room.movements);
    made.attentions.reserve(room.attentions);
    made.lives.reserve(room.lives);
    made.workspaces.reserve(room.workspaces);
    like_now_.resize(p_.count.kernels, -1);
    blocks_ = cut_.copies + runs_.forward.count + runs_.backward.count;
    find_homes();
    life_now_.resize(p_.count.lives * static_cast<std::size_t>(blocks_ + 1), -1);
    reads_ = room_to_count(cut_.inputs);
    writes_ = room_to_count(cut_.outputs);

    const instruction_run &f = runs_.forward, &b = runs_.backward;
    const auto n = static_cast<std::int32_t>(p_.count.instructions);
    const std::int32_t d = cut_.copies;
    // Layers are counted as in the whole: those below the copies keep their numbers, those above move up.
    write_all(0, f.begin + f.length, {0, 0, 0});
    for (std::int32_t c = 1; c <= d; ++c)
      write_all(f.begin + f.length, f.begin + 2 * f.length, {c - 1, c - 1, 0});
    write_all(f.begin + f.length, f.end(), {d, d, 0});
    lowest_forward_ = 1;  // what lies above the copies reads nothing of the first layer's
    write_all(f.end(), b.count > 0 ? b.begin + b.length : n, {d, d, 0});
    lowest_forward_ = 0;
    if (b.count == 0) return;
    for (std::int32_t c = 1; c <= d; ++c)
      write_all(b.begin + b.length, b.begin + 2 * b.length, {d + 1 - c, d + 1 - c, c - 1});
    write_all(b.begin + b.length, b.end(), {0, 0, d});
    lowest_backward_ = 1;
    write_all(b.end(), n, {0, 0, d});
  }

  /// Nothing is missing: each layer's parameters are read, and their gradients written, as often as
  /// another's; so is all else that is a layer's. Of a parameter and its copy one may never be read.
  constexpr bool is_complete() const {
    return possible && follows(cut_.inputs, reads_, 0) && follows(cut_.outputs, writes_, 1);
  }

 private:
  const places<Product>& at_;
  plan_view<Product> p_;
  left_out cut_;
  plan_runs runs_;
  std::int32_t blocks_ = 0;
  std::int32_t lowest_forward_ = 0, lowest_backward_ = 0;  // layers whose buffers may be read
  buffer<std::int32_t> reads_, writes_;                    // by input, and by output, of the whole
  struct home {                                            // of a life
    std::int32_t first = 0;   // the same buffer of its run's first layer, else itself
    std::int32_t layer = -1;  // counted in its run's way; -1: of no layer
    bool forward = false;
  };
  buffer<home> homes_;
  buffer<std::int32_t> life_now_;  // by life and by how many layers it is moved
  buffer<std::int32_t> like_now_;

  /// How far an instruction's places are moved up, in layers: inputs and outputs, buffers of the forward run,
  /// and those of the backward run (from the loss).
  struct shift {
    std::int32_t layers, forward, backward;
  };

  constexpr void copy_tables() {
    made.programs.append(p_.programs, p_.count.programs);
    made.steps.append(p_.steps, p_.count.steps);
    made.products.append(p_.products, p_.count.products);
    made.sizes.append(p_.sizes, p_.count.sizes);
    made.strides.append(p_.strides, p_.count.strides);
    made.slots.append(p_.slots, p_.count.slots);
    made.constants.append(p_.constants, p_.count.constants);
    made.members.append(p_.members, p_.count.members);
  }

  /// A number in the whole plan, where it has room for the copies of what lies before.
  constexpr std::int64_t number_now(const auto& list, std::int64_t number, std::int32_t layers) const {
    std::int64_t now = number;
    for (const layered& x : list) {
      if (number < x.first) break;
      now += (number < cut_.end_of(x) ? layers : cut_.copies) * x.each;
    }
    return now;
  }
  constexpr location now(const location& l, const shift& by) {
    if (l.where == region::arena) return {region::arena, life_of(l.at, by)};
    const bool in = l.where == region::input;
    const auto number = static_cast<std::int64_t>(l.at);
    const auto to = static_cast<std::size_t>(in ? number_now(cut_.inputs, number, by.layers)
                                                : number_now(cut_.outputs, number, by.layers));
    buffer<std::int32_t>& counts = in ? reads_ : writes_;
    if (to < counts.size()) ++counts.items[to];
    return {l.where, to};
  }
  /// As far as there are layers'.
  constexpr buffer<std::int32_t> room_to_count(const auto& list) const {
    const std::int32_t end = list.empty() ? 0 : cut_.end_of(list.back());
    return buffer<std::int32_t>(static_cast<std::size_t>(number_now(list, end, 0)));
  }
  /// A buffer of the whole plan: one of this plan's, moved by layers if it is a run's.
  constexpr std::size_t life_of(std::size_t life, const shift& by) {
    const home& h = homes_.items[life];
    std::int32_t moved = 0;
    if (h.layer >= 0) {
      moved = h.layer + (h.forward ? by.forward : by.backward);
      if (h.layer < (h.forward ? lowest_forward_ : lowest_backward_) || moved >= blocks_) {
        possible = false;
        return 0;
      }
    }
    std::int32_t& now = life_now_.items[h.first * (blocks_ + 1) + moved];
    const auto t = static_cast<std::int32_t>(made.instructions.size());
    if (now < 0) {
      now = static_cast<std::int32_t>(made.lives.size());
      made.lives.push_back({p_.lives[life].bytes, t, t});
    }
    made.lives.items[now].last = t;
    return static_cast<std::size_t>(now);
  }
  constexpr void find_homes() {
    homes_.reserve(p_.count.lives);
    for (std::size_t life = 0; life < p_.count.lives; ++life) {
      const typename places<Product>::birth& b = at_.born(life);
      home h{static_cast<std::int32_t>(life), -1, runs_.forward.holds(b.instruction)};
      if (h.forward || runs_.backward.holds(b.instruction)) {
        const instruction_run& run = h.forward ? runs_.forward : runs_.backward;
        h.layer = (b.instruction - run.begin) / run.length;
        const location& there = at_.of(b.instruction - h.layer * run.length)[b.as];
        if (there.where != region::arena) possible = false;
        h.first = static_cast<std::int32_t>(there.at);
      }
      homes_.push_back(h);
    }
    if (!possible) homes_ = buffer<home>(p_.count.lives);
  }

  /// A record of another layer: its places are those that `next` names for this one, moved.
  constexpr void move_places(auto& record, const location*& next, const shift& by) {
    for_each_place(record, [&](location& l, const place_use&) { l = now(*next++, by); });
  }
  constexpr std::int32_t next_life(const location*& next, const shift& by) {
    return static_cast<std::int32_t>(now(*next++, by).at);
  }

  constexpr void write_all(std::int32_t begin, std::int32_t end, const shift& by) {
    for (std::int32_t i = begin; i < end; ++i) {
      const location* next = at_.of(i);
      instruction now_made = p_.instructions[i];
      if (now_made.origin >= 0)
        now_made.origin = static_cast<std::int32_t>(number_now(cut_.origins, now_made.origin, by.layers));
      if (now_made.kind == unit_kind::kernel) {
        now_made.index = write_kernel(now_made.index, next, by);
      } else if (now_made.kind == unit_kind::contraction) {
        contraction_record r = p_.contractions[now_made.index];
        now_made.index = static_cast<std::int32_t>(made.contractions.size());
        move_places(r, next, by);
        made.contractions.push_back(r);
        if (p_.products[r.product].workspace > 0)
          made.workspaces.push_back({next_life(next, by), -1, now_made.index, false});
        if (now_made.epilogue >= 0) now_made.epilogue = write_kernel(now_made.epilogue, next, by);
      } else if (now_made.kind == unit_kind::attention) {
        attention_record r = p_.attentions[now_made.index];
        now_made.index = static_cast<std::int32_t>(made.attentions.size());
        move_places(r, next, by);
        made.attentions.push_back(r);
      } else {
        movement_record r = p_.movements[now_made.index];
        now_made.index = static_cast<std::int32_t>(made.movements.size());
        move_places(r, next, by);
        if (r.workspace_bytes > 0)
          made.workspaces.push_back({next_life(next, by), -1, -1, false, now_made.index});
        made.movements.push_back(r);
      }
      now_made.time = static_cast<std::int32_t>(made.instructions.size());
      made.instructions.push_back(now_made);
    }
  }
  constexpr std::int32_t write_kernel(std::int32_t k, const location*& next, const shift& by) {
    kernel_record r = p_.kernels[k];
    const auto index = static_cast<std::int32_t>(made.kernels.size());
    std::int32_t& like = like_now_[static_cast<std::size_t>(r.like)];
    if (like < 0) like = index;
    r.like = like;
    const access_record* accesses = p_.accesses + r.first_access;
    const column_record* columns = p_.columns + r.first_column;
    r.first_access = static_cast<std::int32_t>(made.accesses.size());
    r.first_column = static_cast<std::int32_t>(made.columns.size());
    for (std::int32_t a = 0; a < r.accesses; ++a) {
      access_record access = accesses[a];
      move_places(access, next, by);
      made.accesses.push_back(access);
    }
    for (std::int32_t c = 0; c < r.columns; ++c) {
      column_record column = columns[c];
      move_places(column, next, by);
      made.columns.push_back(column);
    }
    if (r.scratch_per_block > 0) made.workspaces.push_back({next_life(next, by), index, -1, true});
    if (r.columns > 0) made.workspaces.push_back({next_life(next, by), index, -1, false});
    made.kernels.push_back(r);
    return index;
  }

  /// The counts of a layer put back are those of the next, `least` or more.
  constexpr bool follows(const auto& list, const buffer<std::int32_t>& counts, std::int32_t least) const {
    for (const layered& x : list) {
      const std::int32_t* c = counts.data() + number_now(list, x.first, 1);
      for (const std::int32_t* end = c + cut_.copies * x.each; c != end; ++c)
        if (*c < least || *c != c[x.each]) return false;
    }
    return true;
  }
};

}  // namespace detail

/// Where a plan's layers recur. Not found: the plan has to be made of the whole graph.
template <class Product>
constexpr plan_runs find_runs(const plan_view<Product>& unsettled, const left_out& cut) {
  const detail::places at(unsettled);
  return detail::run_finder(at, cut).find();
}

/// Sizes of the plan that `repeat_runs` makes.
template <class Product>
constexpr plan_sizes sizes_repeated(const plan_view<Product>& p, const left_out& cut, const plan_runs& runs) {
  plan_sizes s = p.count;
  const auto times = static_cast<std::size_t>(cut.copies);
  const detail::places at(p);
  for (const instruction_run* run : {&runs.forward, &runs.backward}) {
    if (run->count == 0) continue;
    const std::int32_t begin = run->begin + run->length, end = begin + run->length;
    for (std::int32_t i = begin; i < end; ++i) {
      const instruction& now = p.instructions[i];
      s.instructions += times;
      const std::int32_t kernel = now.kind == unit_kind::kernel ? now.index : now.epilogue;
      if (kernel >= 0) {
        const kernel_record& r = p.kernels[kernel];
        s.kernels += times;
        s.accesses += times * static_cast<std::size_t>(r.accesses);
        s.columns += times * static_cast<std::size_t>(r.columns);
        s.workspaces += times * static_cast<std::size_t>((r.scratch_per_block > 0) + (r.columns > 0));
      }
      if (now.kind == unit_kind::contraction) {
        s.contractions += times;
        s.workspaces += times * (p.products[p.contractions[now.index].product].workspace > 0);
      } else if (now.kind == unit_kind::attention) {
        s.attentions += times;
      } else if (now.kind != unit_kind::kernel) {
        s.movements += times;
        s.workspaces += times * (p.movements[now.index].workspace_bytes > 0);
      }
    }
    for (std::size_t life = 0; life < p.count.lives; ++life) {
      const std::int32_t born = at.born(life).instruction;
      if (born >= begin && born < end) s.lives += times;
    }
  }
  return s;
}

/// The plan of the whole graph, not settled, of the sizes that `sizes_repeated` gives. Empty where the layers
/// turn out not to be all alike.
template <class Product>
constexpr plan<Product> repeat_runs(const plan_view<Product>& unsettled, const left_out& cut,
                                    const plan_runs& runs, const plan_sizes& sizes) {
  const detail::places at(unsettled);
  detail::plan_writer writer(at, cut, runs);
  writer.write(sizes);
  if (!writer.is_complete()) return {};
  return static_cast<plan<Product>&&>(writer.made);
}

}  // namespace napkin::planning
