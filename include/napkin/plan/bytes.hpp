// Bytes that an instruction of a plan moves. They are those of tensors and, where a backend says that its workspace
// is memory as any other (Product::workspace_is_memory), of what instructions keep there: a CPU's scratch rows and
// partial sums stay in the nearest caches, a GPU's go through the device's memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "napkin/cost/cost.hpp"
#include "napkin/plan/frozen.hpp"
#include "napkin/plan/uses.hpp"

namespace napkin::planning {

namespace detail {

using napkin::detail::counted_numel;
using napkin::detail::counted_product;
using napkin::detail::counted_sum;

/// Elements of one buffer that an instruction touches: as bytes of a run from begin to end, some of which it
/// may leave out.
struct touch {
  location base;
  std::ptrdiff_t begin = 0, end = 0;  // bytes
  std::uint64_t bytes = 0;
  constexpr bool is_dense() const { return bytes == static_cast<std::uint64_t>(end - begin); }
};

/// Built axis by axis. Elements that several places of an access share, as the windows of a convolution do,
/// count once: axes are taken by stride, and one that continues what the axes below it cover makes that
/// longer.
class access_extent {
 public:
  constexpr void add(std::size_t size, std::ptrdiff_t stride) {
    if (size == 0) empty_ = true;
    if (stride == 0 || size <= 1) return;
    const std::ptrdiff_t reach = stride * static_cast<std::ptrdiff_t>(size - 1);
    (reach < 0 ? first_ : last_) += reach;
    const step now{static_cast<std::uint64_t>(stride < 0 ? -stride : stride), size};
    std::size_t at = axes_.size();
    axes_.push_back(now);
    for (; at > 0 && axes_[at - 1].stride > now.stride; --at) axes_[at] = axes_[at - 1];
    axes_[at] = now;
  }
  constexpr void add(const shape& sizes, const stride_list& strides) {
    for (std::size_t i = 0; i < sizes.size(); ++i) add(sizes[i], strides[i]);
  }
  /// Distinct ones; where more than two axes overlap by strides that are no multiples of one another, at most
  /// the run they lie in.
  constexpr std::uint64_t elements() const {
    if (empty_) return 0;
    std::uint64_t below = 1, reach = 0;  // what axes below the current run cover, and how far
    step run{1, 1};
    for (const step& axis : axes_) {
      const std::uint64_t whole = reach + run.stride * (run.size - 1);
      const bool continues = axis.stride % run.stride == 0 && axis.stride <= run.stride * run.size;
      if (continues && run.stride > reach) {
        run.size += axis.stride / run.stride * (axis.size - 1);
        continue;
      }
      if (axis.stride > whole) {
        below = counted_product(below, run.size);
        reach = whole;
        run = axis;
        continue;
      }
      const std::uint64_t shared = common_divisor(run.stride, axis.stride);
      if (shared <= reach) return static_cast<std::uint64_t>(last_ - first_) + 1;
      below = counted_product(below, distinct_sums(run, axis, shared));
      reach = whole + axis.stride * (axis.size - 1);
      run = {reach + 1, 1};
    }
    return counted_product(below, run.size);
  }
  constexpr touch at(location base, std::ptrdiff_t offset, dtype type) const {
    const auto size = static_cast<std::ptrdiff_t>(size_of(type));
    return {base, offset + first_ * size, offset + (last_ + 1) * size,
            counted_product(elements(), size_of(type))};
  }

 private:
  struct step {
    std::uint64_t stride = 1, size = 1;
  };
  static constexpr std::uint64_t common_divisor(std::uint64_t a, std::uint64_t b) {
    while (b != 0) {
      const std::uint64_t rest = a % b;
      a = b;
      b = rest;
    }
    return a;
  }
  /// Of x.stride * i + y.stride * j: strides divided by what they share, p and q, the sums of (i + q, j) and
  /// (i, j + p) are equal, and no others. So all count but those that have an equal one before them.
  static constexpr std::uint64_t distinct_sums(const step& x, const step& y, std::uint64_t shared) {
    const std::uint64_t p = x.stride / shared, q = y.stride / shared;
    const std::uint64_t again = x.size > q && y.size > p ? counted_product(x.size - q, y.size - p) : 0;
    return counted_product(x.size, y.size) - again;
  }
  inplace_vector<step, 2 * max_rank> axes_;  // by stride
  std::ptrdiff_t first_ = 0, last_ = 0;      // elements, from the access's offset
  bool empty_ = false;
};

constexpr bool comes_before(const touch& a, const touch& b) {
  if (a.base.where != b.base.where) return a.base.where < b.base.where;
  if (a.base.at != b.base.at) return a.base.at < b.base.at;
  return a.begin < b.begin;
}

/// Bytes of their union: exact for runs without gaps and for whatever lies within one; strided accesses that
/// interleave or overlap otherwise count each, and together never more than the run that they lie in.
constexpr std::uint64_t distinct_bytes(buffer<touch> touches) {
  for (std::size_t i = 1; i < touches.size(); ++i)
    for (std::size_t j = i; j > 0 && comes_before(touches[j], touches[j - 1]); --j) {
      const touch t = touches[j];
      touches[j] = touches[j - 1];
      touches[j - 1] = t;
    }
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < touches.size();) {
    if (touches[i].bytes == 0) {
      ++i;
      continue;
    }
    const touch& first = touches[i];
    std::ptrdiff_t end = first.end, dense_end = first.begin;
    std::uint64_t here = 0;
    std::size_t next = i;
    for (; next < touches.size(); ++next) {  // runs that overlap, densest parts first
      const touch& t = touches[next];
      if (t.bytes == 0) continue;
      if (t.base.where != first.base.where || t.base.at != first.base.at || t.begin >= end) break;
      if (t.end > end) end = t.end;
      if (!t.is_dense() || t.end <= dense_end) continue;
      here += static_cast<std::uint64_t>(t.end - (t.begin > dense_end ? t.begin : dense_end));
      dense_end = t.end;
    }
    for (std::size_t j = i; j < next; ++j) {
      bool covered = touches[j].bytes == 0 || touches[j].is_dense();
      for (std::size_t k = i; k < next && !covered; ++k)
        covered = touches[k].bytes != 0 && touches[k].is_dense() && touches[k].begin <= touches[j].begin &&
                  touches[j].end <= touches[k].end;
      if (!covered) here = counted_sum(here, touches[j].bytes);
    }
    const auto run = static_cast<std::uint64_t>(end - first.begin);
    sum = counted_sum(sum, here < run ? here : run);
    i = next;
  }
  return sum;
}

/// `contraction`: the one whose epilogue the kernel is, -1 for none. What that leaves in cache moves nothing.
/// (Not by pointer: with sanitizers on, g++ 12 finds none of an array's elements to be non-null.)
template <class Product>
constexpr byte_counts bytes_of_kernel(const plan_view<Product>& p, const kernel_record& k,
                                      std::int32_t contraction) {
  byte_counts bytes;
  buffer<touch> read;
  // an access's dtype stands in the steps that go there
  const program_record& program = p.programs[k.program];
  const std::size_t accesses = static_cast<std::uint32_t>(k.accesses);  // never negative, as g++ fears
  buffer<dtype> types(accesses, dtype::f32);
  buffer<bool> moves(accesses, false);
  for (std::int32_t s = program.first_step; s < program.first_step + program.steps; ++s) {
    const passes::kernel_step& step = p.steps[s];
    const bool is_memory = step.what == passes::action::load || step.what == passes::action::store;
    if (!is_memory || step.along == passes::pace::scratch) continue;
    types[static_cast<std::size_t>(step.a)] = step.type;
    moves[static_cast<std::size_t>(step.a)] = true;
  }
  for (std::int32_t a = 0; a < k.accesses; ++a) {
    if (!moves[static_cast<std::size_t>(a)]) continue;
    const access_record& access = p.accesses[k.first_access + a];
    if (contraction >= 0 && !access.written) {
      const location& in_cache = p.contractions[contraction].c;
      if (access.base.where == in_cache.where && access.base.at == in_cache.at) continue;
    }
    access_extent extent;
    for (std::int32_t i = 0; i < k.outer_rank + k.inner_rank; ++i)
      extent.add(p.sizes[k.first_size + i], p.strides[access.first_stride + i]);
    const touch t = extent.at(access.base, access.offset, types[static_cast<std::size_t>(a)]);
    if (access.written)
      bytes.written = counted_sum(bytes.written, t.bytes);
    else
      read.push_back(t);
  }
  std::uint64_t added = 0;
  for (std::int32_t c = 0; c < k.columns; ++c) {
    const column_record& column = p.columns[k.first_column + c];
    const std::uint64_t all = counted_product(k.row_length, size_of(column.type));
    bytes.written = counted_sum(bytes.written, all);
    if (column.adds) added = counted_sum(added, all);
  }
  bytes.read = counted_sum(distinct_bytes(static_cast<buffer<touch>&&>(read)), added);
  return bytes;
}

/// What a kernel writes to scratch rows and partial sums and reads there again, each as often as it does so;
/// and what reads the partial sums to join them.
template <class Product>
constexpr byte_counts workspace_bytes_of_kernel(const plan_view<Product>& p, const kernel_record& k) {
  byte_counts bytes;
  const auto rows = [&k](std::size_t count, std::size_t size) {
    return counted_product(counted_product(count, k.row_length), size);
  };
  const program_record& program = p.programs[k.program];
  if (k.scratch_per_block > 0)
    for (std::int32_t s = program.first_step; s < program.first_step + program.steps; ++s) {
      const passes::kernel_step& step = p.steps[s];
      const bool reads = step.what == passes::action::load, writes = step.what == passes::action::store;
      if ((!reads && !writes) || step.along != passes::pace::scratch) continue;
      const std::uint64_t moved = rows(k.walks, size_of(step.type));
      bytes += reads ? byte_counts{moved, 0} : byte_counts{0, moved};
    }
  for (std::int32_t c = 0; c < k.columns; ++c) {
    const std::size_t size = partial_bytes(p.columns[k.first_column + c].type);
    // a team's sums, from registers; or zeros first, and then each row adds to what lies there
    std::uint64_t each_way = rows(k.blocks, size);
    if (!k.layout.kept) each_way = counted_sum(each_way, rows(k.walks, size));
    bytes += {each_way, each_way};
  }
  return bytes;
}

/// A buffer of its own, every element of it once.
constexpr bool is_whole(const graph_view& g, int id) {
  const node& n = g.nodes[id];
  return !passes::is_view(n.kind) && (n.kind != op::input || n.attribute_count <= 1);
}

/// The elements of both operands and of the result: where there is no result, nothing is read.
constexpr byte_counts bytes_of_product(const graph_view& g, int einsum, const contraction_record& r) {
  const std::uint64_t result = counted_numel(g.shape_of(einsum));
  const int a = g.operand(einsum, 0), b = g.operand(einsum, 1);
  const std::uint64_t written = counted_product(result, size_of(g.nodes[einsum].type));
  if (result > 0 && is_whole(g, a) && is_whole(g, b) && (r.a.where != r.b.where || r.a.at != r.b.at)) {
    // of one size: dtypes differ only where both are 8-bit floats
    const std::uint64_t both = counted_sum(counted_numel(g.shape_of(a)), counted_numel(g.shape_of(b)));
    return {counted_product(both, size_of(g.nodes[a].type)), written};
  }
  buffer<touch> read;
  const auto reads = [&](int x, location base, std::ptrdiff_t offset) {
    access_extent extent;
    extent.add(g.shape_of(x), passes::access_of(g, x).stride);
    read.push_back(extent.at(base, offset, g.nodes[x].type));
  };
  if (result > 0) {
    reads(a, r.a, r.a_offset);
    reads(b, r.b, r.b_offset);
  }
  return {distinct_bytes(static_cast<buffer<touch>&&>(read)), written};
}

/// With what its epilogue reads and writes, but for what the product has read: a residual may be its operand.
/// The result may be of another dtype than the product.
constexpr byte_counts bytes_of_contraction(const graph_view& g, int einsum, const contraction_record& r,
                                           dtype result) {
  byte_counts bytes = bytes_of_product(g, einsum, r);
  bytes.written = bytes.written / size_of(g.nodes[einsum].type) * size_of(result);
  const auto is_read = [&](const location& at) {
    return (at == r.a && is_whole(g, g.operand(einsum, 0))) ||
           (at == r.b && is_whole(g, g.operand(einsum, 1)));
  };
  for (const contraction_record::other& x : r.others)
    if (x.bytes > 0 && (x.written || !is_read(x.at)))
      (x.written ? bytes.written : bytes.read) = counted_sum(x.written ? bytes.written : bytes.read, x.bytes);
  return bytes;
}

/// A gather reads as many elements as it gives, or the whole table where that is less: which ones are
/// distinct is data.
constexpr byte_counts bytes_of_movement(const movement_record& r) {
  access_extent from, index;
  from.add(r.from_shape, r.from_stride);
  index.add(r.index_shape, r.index_stride);
  const std::uint64_t result = counted_numel(r.to_shape);
  const bool is_gather = r.kind == unit_kind::gather, indexed = looks_up(r.kind);
  const std::uint64_t elements = is_gather && result < from.elements() ? result : from.elements();
  byte_counts bytes;
  bytes.read = counted_product(elements, size_of(r.type));
  if (indexed) bytes.read = counted_sum(bytes.read, counted_product(index.elements(), size_of(r.index_type)));
  // a concatenation is one instruction for each operand, which writes its part
  bytes.written =
      counted_product(r.kind == unit_kind::concat ? counted_numel(r.from_shape) : result, size_of(r.type));
  return bytes;
}

/// f(size, stride) for each axis that an attention walks of one of its tensors.
constexpr void for_each_axis(const passes::attention_extent& e, passes::attention_tensor of, auto&& f) {
  using tensor = passes::attention_tensor;
  const bool of_keys =
      of == tensor::key || of == tensor::value || of == tensor::d_key || of == tensor::d_value;
  const bool sums = of == tensor::log_sum || of == tensor::delta || of == tensor::largest;
  const bool hidden =
      of == tensor::query || of == tensor::key || of == tensor::d_query || of == tensor::d_key;
  const passes::attention_walk& w = e.walk(of);
  f(of_keys ? e.keys : e.queries, w.position);
  if (of == tensor::mask)
    f(e.keys, w.width);
  else if (!sums)
    f(hidden ? e.hidden : e.value, w.width);
  for (std::size_t o = 0; o < (of_keys ? e.shared : e.outer.size()); ++o) f(e.outer[o], w.outer[o]);
}

/// What q, k, v, the mask and the others hold, each once.
constexpr byte_counts bytes_of_attention(const attention_record& r) {
  byte_counts bytes;
  buffer<touch> read;
  for (std::size_t x = 0; x < passes::attention_tensors; ++x) {
    if (!r.operands[x].there) continue;
    const auto of = static_cast<passes::attention_tensor>(x);
    access_extent extent;
    for_each_axis(r.extent, of, [&](std::size_t size, std::ptrdiff_t stride) { extent.add(size, stride); });
    const touch t = extent.at(r.operands[x].at, r.operands[x].offset, r.type_of(of));
    if (r.operands[x].written)
      bytes.written = counted_sum(bytes.written, t.bytes);
    else
      read.push_back(t);
  }
  bytes.read = distinct_bytes(static_cast<buffer<touch>&&>(read));
  return bytes;
}

}  // namespace detail

}  // namespace napkin::planning
