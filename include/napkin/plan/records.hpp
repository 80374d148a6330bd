// What a lowered graph is: a table of instructions over one arena, which a backend's executor walks. Of
// numbers only, so that it can be a constant; a backend adds how it writes down a matrix product (Product).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "napkin/passes/attention_loops.hpp"
#include "napkin/passes/epilogue.hpp"
#include "napkin/passes/kernels.hpp"
#include "napkin/passes/plan_memory.hpp"

namespace napkin::planning {

using passes::unit_kind;

/// Where a buffer lies: a tensor handed in or out (by number), or the arena (by offset).
enum class region : std::uint8_t { input, output, arena };
struct location {
  region where = region::arena;
  std::size_t at = 0;  // slot, output number, or bytes into the arena
  constexpr bool operator==(const location&) const = default;
};

struct program_record {
  std::int32_t first_step = 0, steps = 0;
  bool across_rows = false;  // on a CPU: lanes hold rows side by side, not a row's elements
};

/// How a GPU's threads share a kernel: of cuda/geometry.hpp's dealing what other backends have no word for.
struct thread_layout {
  unsigned team = 1, vector = 1, groups = 1, threads = 1;
  bool kept = true, spread = false;
};

struct kernel_record {
  std::int32_t program = 0;
  std::int32_t first_size = 0, outer_rank = 0, inner_rank = 0;  // sizes: outer axes, then inner
  std::int32_t first_access = 0, accesses = 0;
  std::int32_t first_constant = 0, constants = 0;
  std::int32_t first_slot = 0, slots = 0;
  std::int32_t first_column = 0, columns = 0;
  std::int32_t joins = 0;  // on a GPU: launches that join columns, those of one kind and dtype together
  std::size_t row_length = 0, chunk = 0, chunks = 0, walks = 0, walks_per_block = 0, blocks = 0;
  std::size_t scratch = 0, scratch_per_block = 0;  // bytes into the arena; bytes
  std::size_t partials = 0, partials_per_block = 0;
  std::int32_t first_member = 0, members = 0;  // nodes computed; of `like`, if this is another kernel
  std::int32_t like = 0;  // the first kernel that does the same to other buffers: costs as much
  thread_layout layout;   // on a GPU
};

/// Strides over the kernel's outer, then inner axes, in elements.
struct access_record {
  location base;
  std::ptrdiff_t offset = 0;  // bytes
  std::int32_t first_stride = 0;
  bool written = false;
  bool part = false;  // of what lies there: others write the rest, which a report tells
};

/// Bytes of a column's partial sum: registers may be wider than the type that is stored.
constexpr std::size_t partial_bytes(dtype type) { return size_of(type) < 4 ? 4 : size_of(type); }

inline constexpr int joined_columns = 8;  // that one launch takes at most

struct column_record {
  op kind = op::sum;
  dtype type = dtype::f32;
  std::size_t begin = 0;  // bytes into a block's partials
  location to{};
  bool adds = false;  // what lies at `added` too
  location added{};

  constexpr bool is_like(const column_record& c) const { return kind == c.kind && type == c.type; }
};
/// Of a kernel's columns those before number c that are like it: c begins a launch if they fill some.
constexpr int alike_before(const column_record* columns, int c) {
  int before = 0;
  for (int i = 0; i < c; ++i) before += columns[i].is_like(columns[c]);
  return before;
}

using passes::epilogue_operand;
using passes::epilogue_operands;

struct contraction_record {
  struct other {
    location at;
    std::uint64_t bytes = 0;  // 0: there is none
    bool written = false;
  };
  std::int32_t product = 0;  // which Product
  location a, b, c;
  std::ptrdiff_t a_offset = 0, b_offset = 0;  // bytes
  std::size_t workspace = 0;                  // bytes into the arena
  other others[epilogue_operands];
  passes::epilogue_form follows;               // if members > 0
  std::int32_t first_member = 0, members = 0;  // nodes of its epilogue

  constexpr other& of(epilogue_operand x) { return others[static_cast<std::size_t>(x)]; }
  constexpr const other& of(epilogue_operand x) const { return others[static_cast<std::size_t>(x)]; }
};

/// gather, scatter_add, pad and concat. `to` is row-major.
struct movement_record {
  unit_kind kind = unit_kind::pad;
  dtype type = dtype::f32, index_type = dtype::i32;
  std::int32_t axis = 0;
  shape from_shape, index_shape, to_shape;
  stride_list from_stride, index_stride;
  location from, index, to;
  std::ptrdiff_t from_offset = 0, index_offset = 0;  // bytes
  shape start;                                       // pad, concat: where the operand lies in the result
  stride_list step;
  bool fills = true;                               // zeros first
  std::size_t workspace_bytes = 0, workspace = 0;  // how many; where in the arena
};

struct attention_operand {
  location at;
  std::ptrdiff_t offset = 0;  // bytes
  bool there = false, written = false;
  bool part = false;  // as access_record's
};

/// An attention, forward or backward: an output with or without its sums and what is subtracted, the adjoint
/// of queries, those of keys and values or of either, or all that are wanted.
struct attention_record {
  passes::attention_extent extent;
  dtype type = dtype::f32;
  bool backward = false;
  /// Columns of a result that share scores: a wider one takes them again, as do the adjoints of keys and of
  /// values each. 0: scores are taken once.
  std::size_t columns = 0;
  attention_operand operands[passes::attention_tensors];

  constexpr const attention_operand& of(passes::attention_tensor x) const {
    return operands[static_cast<std::size_t>(x)];
  }
  constexpr attention_operand& of(passes::attention_tensor x) {
    return operands[static_cast<std::size_t>(x)];
  }
  /// Sums are kept wider than what they are of.
  constexpr dtype type_of(passes::attention_tensor x) const {
    using enum passes::attention_tensor;
    if (x == mask) return extent.mask_type;
    const bool sums = x == log_sum || x == delta || x == largest;
    return sums ? accumulator_of(type) : type;
  }
  /// The same, whatever it is done to.
  constexpr bool same_work(const attention_record& r) const {
    if (!(extent == r.extent) || type != r.type || backward != r.backward) return false;
    for (std::size_t x = 0; x < passes::attention_tensors; ++x)
      if (operands[x].there != r.operands[x].there || operands[x].offset != r.operands[x].offset)
        return false;
    return true;
  }
};

struct instruction {
  unit_kind kind = unit_kind::kernel;
  std::int32_t index = 0;     // into the table of its kind
  std::int32_t node = -1;     // the unit's last node, for reports
  std::int32_t origin = -1;   // that node's: the parameter whose layer this belongs to
  bool first_output = false;  // the graph's first output, a loss, needs it
  // A contraction whose only reader is a kernel hands each block of its result to it, still in cache.
  std::int32_t epilogue = -1;  // that kernel
  std::int32_t product = -1;   // the contraction's own node; `node` is the kernel's last
  std::int32_t time = 0;       // when it runs, as lifetimes count
};

/// Workspace of an instruction: where it goes is known once memory is planned.
struct workspace_record {
  std::int32_t life = -1, kernel = -1, contraction = -1;
  bool scratch = false;  // of a kernel: scratch, else partial columns
  std::int32_t movement = -1;
};

struct plan_sizes {
  std::size_t programs, steps, kernels, accesses, columns, products, contractions, movements, instructions,
      sizes, strides, slots, constants, members, lives, workspaces, attentions;
};

template <class Product>
struct plan {
  buffer<program_record> programs;
  buffer<passes::kernel_step> steps;
  buffer<kernel_record> kernels;
  buffer<access_record> accesses;
  buffer<column_record> columns;
  buffer<Product> products;  // distinct ones
  buffer<contraction_record> contractions;
  buffer<movement_record> movements;
  buffer<instruction> instructions;
  buffer<std::size_t> sizes;
  buffer<std::ptrdiff_t> strides;
  buffer<std::size_t> slots;
  buffer<double> constants;
  buffer<std::int32_t> members;
  // Before memory is planned, a location in the arena holds the number of a life; `settle` puts the offset.
  buffer<passes::lifetime> lives;
  buffer<workspace_record> workspaces;
  buffer<attention_record> attentions;
  std::size_t peak = 0, lower_bound = 0;  // bytes of the arena

  constexpr plan_sizes counts() const {
    return {programs.size(),   steps.size(),        kernels.size(),   accesses.size(),     columns.size(),
            products.size(),   contractions.size(), movements.size(), instructions.size(), sizes.size(),
            strides.size(),    slots.size(),        constants.size(), members.size(),      lives.size(),
            workspaces.size(), attentions.size()};
  }
  /// Without what was added since counts() said so.
  constexpr void cut_to(const plan_sizes& to) {
    programs.resize(to.programs), steps.resize(to.steps), kernels.resize(to.kernels);
    accesses.resize(to.accesses), columns.resize(to.columns), products.resize(to.products);
    contractions.resize(to.contractions), movements.resize(to.movements);
    instructions.resize(to.instructions), sizes.resize(to.sizes), strides.resize(to.strides);
    slots.resize(to.slots), constants.resize(to.constants), members.resize(to.members);
    lives.resize(to.lives), workspaces.resize(to.workspaces), attentions.resize(to.attentions);
  }
};

/// What an executor reads: a plan of any storage.
template <class Product>
struct plan_view {
  const program_record* programs;
  const passes::kernel_step* steps;
  const kernel_record* kernels;
  const access_record* accesses;
  const column_record* columns;
  const Product* products;
  const contraction_record* contractions;
  const movement_record* movements;
  const instruction* instructions;
  const std::size_t* sizes;
  const std::ptrdiff_t* strides;
  const std::size_t* slots;
  const double* constants;
  const std::int32_t* members;
  const passes::lifetime* lives;
  const workspace_record* workspaces;
  const attention_record* attentions;
  plan_sizes count;
  std::size_t peak, lower_bound;
};

template <class Product>
constexpr plan_view<Product> view_of(const plan<Product>& p, const plan_sizes& counts) {
  return {p.programs.data(),
          p.steps.data(),
          p.kernels.data(),
          p.accesses.data(),
          p.columns.data(),
          p.products.data(),
          p.contractions.data(),
          p.movements.data(),
          p.instructions.data(),
          p.sizes.data(),
          p.strides.data(),
          p.slots.data(),
          p.constants.data(),
          p.members.data(),
          p.lives.data(),
          p.workspaces.data(),
          p.attentions.data(),
          counts,
          p.peak,
          p.lower_bound};
}
/// Of a plan its kernels alone.
template <class Product>
constexpr plan_view<Product> view_of_kernels(const plan<Product>& p) {
  plan_view<Product> v{};
  v.programs = p.programs.data();
  v.steps = p.steps.data();
  v.kernels = p.kernels.data();
  v.accesses = p.accesses.data();
  v.sizes = p.sizes.data();
  v.strides = p.strides.data();
  return v;
}
template <class Product>
constexpr plan_view<Product> view_of(const plan<Product>& p) {
  return view_of(p, p.counts());
}

}  // namespace napkin::planning
