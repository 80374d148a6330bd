// Movements of random shapes, strides and indices; by the CPU, and as the GPU's threads do them, run on the host in a
// random order. CUB's sort is std::stable_sort on the bits that CUB is given.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "napkin/cpu/movement.hpp"
#include "napkin/cuda/movement.hpp"
#include "support/host_movements.hpp"
#include "support/run_plan.hpp"

namespace movement_test {

namespace nk = napkin;
namespace cu = napkin::on_cuda;
using nk::dtype;
using nk::planning::movement_record;
using nk::planning::unit_kind;
using nk::testing::dice;
using nk::testing::host_launcher;
using nk::testing::raw_bytes;

/// Memory between two strips that must stay as they are; `shift`: bytes off a multiple of 64.
class guarded {
 public:
  guarded(std::size_t bytes, std::size_t shift, std::byte fill) : memory_(bytes + 256, guard), bytes_(bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    begin_ = (64 - address % 64) % 64 + 64 + shift;
    std::fill_n(data(), bytes, fill);
  }
  std::byte* data() { return memory_.data() + begin_; }
  std::size_t size() const { return bytes_; }
  raw_bytes contents() { return raw_bytes(data(), data() + bytes_); }
  bool is_intact() const {
    const auto is_guard = [](std::byte b) { return b == guard; };
    const auto end = memory_.begin() + static_cast<std::ptrdiff_t>(begin_ + bytes_);
    return std::all_of(memory_.begin(), memory_.begin() + static_cast<std::ptrdiff_t>(begin_), is_guard) &&
           std::all_of(end, memory_.end(), is_guard);
  }

 private:
  static constexpr std::byte guard{0xa5};
  raw_bytes memory_;
  std::size_t bytes_, begin_;
};

/// An operand of some shape with its strides: axes in any order, backwards, repeated or with gaps.
struct operand {
  nk::shape size;
  nk::stride_list stride;
  std::ptrdiff_t first = 0;  // elements from the lowest to that of index 0
  std::size_t elements = 0;
};
inline operand laid_out(dice& d, const nk::shape& s, bool dense) {
  operand x{s, nk::row_major_strides(s)};
  if (!dense) {
    std::vector<std::size_t> order(s.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (d.below(2) == 0) std::shuffle(order.begin(), order.end(), d.engine);
    std::ptrdiff_t stride = d.below(4) == 0 ? 3 : 1;
    for (std::size_t i = order.size(); i-- > 0;) {
      const std::size_t axis = order[i];
      const std::size_t kind = d.below(8);
      x.stride[axis] = kind == 0 ? 0 : kind == 1 ? -stride : stride;
      if (kind != 0) stride *= static_cast<std::ptrdiff_t>(s[axis] == 0 ? 1 : s[axis]);
      if (d.below(6) == 0) stride += d.one_of({1, 4, 8});
    }
  }
  std::ptrdiff_t lowest = 0, highest = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const std::ptrdiff_t reach = s[i] == 0 ? 0 : static_cast<std::ptrdiff_t>(s[i] - 1) * x.stride[i];
    (reach < 0 ? lowest : highest) += reach;
  }
  x.first = -lowest;
  x.elements = static_cast<std::size_t>(highest - lowest) + 1;
  return x;
}

inline raw_bytes random_elements(dice& d, std::size_t n, dtype type) {
  std::vector<double> values(n);
  for (double& v : values)
    v = is_floating(type) ? (static_cast<double>(d.below(2000)) - 1000) / 64.0
                          : static_cast<double>(d.below(100));
  raw_bytes bytes = nk::testing::to_bytes(values, type);
  if (is_complex(type))
    for (std::byte& b : bytes) b = static_cast<std::byte>(d.below(256));
  return bytes;
}

struct example {
  movement_record record;
  raw_bytes from, index;
  std::ptrdiff_t from_first = 0, index_first = 0;  // elements
  bool outside = false;                            // some index is
  bool dense = false;
};

inline nk::shape random_shape(dice& d, std::size_t rank) {
  nk::shape s;
  for (std::size_t i = 0; i < rank; ++i) s.push_back(d.one_of<std::size_t>({1, 2, 2, 3, 4, 5, 7}));
  if (rank > 0 && d.below(3) != 0) s.back() = d.one_of<std::size_t>({8, 16, 24, 32, 33});
  if (rank > 0 && d.below(12) == 0) s[d.below(rank)] = 0;
  return s;
}

inline void set_from(dice& d, example& e, const nk::shape& s) {
  const operand x = laid_out(d, s, e.dense);
  e.record.from_shape = x.size;
  e.record.from_stride = x.stride;
  e.from = random_elements(d, x.elements, e.record.type);
  e.from_first = x.first;
}
inline void set_index(dice& d, example& e, const nk::shape& s, std::size_t size) {
  const operand x = laid_out(d, s, d.below(2) == 0);
  e.record.index_shape = x.size;
  e.record.index_stride = x.stride;
  e.record.index_type =
      d.one_of({dtype::i64, dtype::i32, dtype::i16, dtype::i8, dtype::u32, dtype::u16, dtype::u8});
  std::vector<double> values(x.elements);
  const std::size_t few = d.below(2) == 0 && size > 2 ? 2 : size;  // of which some come often
  for (double& v : values) v = few == 0 ? 0 : static_cast<double>(d.below(few));
  if (d.below(10) == 0) values[d.below(values.size())] = d.one_of({static_cast<double>(size), 100.0});
  if (d.below(20) == 0 && e.record.index_type < dtype::u32) values[d.below(values.size())] = -1;
  e.index = nk::testing::to_bytes(values, e.record.index_type);
  e.index_first = x.first;
  // gaps are no indices
  const std::vector<double> read = nk::testing::to_doubles(e.index, e.record.index_type);
  const std::size_t n = nk::numel(s);
  for (std::size_t i = 0; i < n; ++i) {
    std::ptrdiff_t at = x.first;
    std::size_t rest = i;
    for (std::size_t a = s.size(); a-- > 0; rest /= s[a])
      at += static_cast<std::ptrdiff_t>(rest % s[a]) * x.stride[a];
    const double v = read[static_cast<std::size_t>(at)];
    e.outside = e.outside || v < 0 || v >= static_cast<double>(size);
  }
}

inline example random_example(dice& d, unit_kind kind, dtype type) {
  example e;
  movement_record& r = e.record;
  r.kind = kind;
  r.type = type;
  e.dense = d.below(3) == 0;
  const std::size_t rank = 1 + d.below(4);
  const nk::shape s = random_shape(d, rank);
  r.step = nk::stride_list(rank, 1);
  r.fills = kind == unit_kind::pad || kind == unit_kind::scatter_add;
  if (kind == unit_kind::concat) {
    set_from(d, e, s);
    r.to_shape = s;
    r.start = nk::shape(rank, 0);
    const std::size_t axis = d.below(rank), unit = d.one_of<std::size_t>({1, 8});
    r.axis = static_cast<std::int32_t>(axis);
    r.start[axis] = unit * d.below(3);
    r.to_shape[axis] += r.start[axis] + unit * d.below(3);
  } else if (kind == unit_kind::pad) {
    set_from(d, e, s);
    for (std::size_t i = 0; i < rank; ++i) {
      const std::size_t step = d.below(3) == 0 ? 1 + d.below(3) : 1, count = s[i];
      const std::size_t unit = d.one_of<std::size_t>({0, 1, 8}), before = unit * d.below(3),
                        span = count == 0 ? d.below(3) : (count - 1) * step + 1;
      const bool backwards = d.below(5) == 0;
      r.to_shape.push_back(before + span + unit * d.below(3));
      r.step[i] = backwards ? -static_cast<std::ptrdiff_t>(step) : static_cast<std::ptrdiff_t>(step);
      r.start.push_back(backwards && count > 0 ? before + span - 1 : before);
    }
  } else {
    const std::size_t axis = d.below(rank);
    r.axis = static_cast<std::int32_t>(axis);
    nk::shape picks;
    for (std::size_t n = d.below(3); n > 0; --n) picks.push_back(d.one_of<std::size_t>({1, 2, 5, 11, 13}));
    if (d.below(15) == 0) picks.push_back(0);
    nk::shape picked;
    for (std::size_t i = 0; i < axis; ++i) picked.push_back(s[i]);
    for (const std::size_t n : picks) picked.push_back(n);
    for (std::size_t i = axis + 1; i < rank; ++i) picked.push_back(s[i]);
    set_from(d, e, kind == unit_kind::gather ? s : picked);
    r.to_shape = kind == unit_kind::gather ? picked : s;
    set_index(d, e, picks, s[axis]);
  }
  return e;
}

struct answer {
  raw_bytes to;
  std::string error;
  std::string unit;                    // of the kernel chosen: bytes, or "v" and elements
  bool narrow = true, looked = false;  // looked: through all indices, not sorted
};

inline answer by_cpu(const example& e) {
  const auto width = static_cast<std::ptrdiff_t>(size_of(e.record.type)),
             index_width = static_cast<std::ptrdiff_t>(size_of(e.record.index_type));
  answer a{raw_bytes(nk::numel(e.record.to_shape) * size_of(e.record.type) + 1, std::byte{0x7f}), {}, {}};
  a.to.pop_back();  // an empty one has an address, too
  try {
    nk::on_cpu::movement(e.record, e.from.data() + e.from_first * width,
                         e.index.data() + e.index_first * index_width, a.to.data())
        .run();
  } catch (const nk::input_error& error) {
    a.error = error.what();
  }
  return a;
}

inline answer by_threads(dice& d, const example& e, bool may_be_narrow, std::size_t shift,
                         bool may_look = true) {
  const std::size_t width = size_of(e.record.type), index_width = size_of(e.record.index_type);
  guarded from(e.from.size(), shift, {}), index(e.index.size(), 0, {});
  std::copy(e.from.begin(), e.from.end(), from.data());
  std::copy(e.index.begin(), e.index.end(), index.data());
  guarded to(nk::numel(e.record.to_shape) * width, shift, std::byte{0x7f});
  const bool sorts = e.record.kind == unit_kind::scatter_add && !may_look;
  guarded workspace(sorts ? cu::detail::layout_of_scatter(e.record).bytes : cu::workspace_of(e.record), 0,
                    std::byte{0xff});
  cu::index_fault fault;
  const auto launch =
      cu::detail::launch_of(e.record,
                            {from.data() + e.from_first * static_cast<std::ptrdiff_t>(width),
                             index.data() + e.index_first * static_cast<std::ptrdiff_t>(index_width),
                             to.data(), workspace.data(), &fault},
                            may_be_narrow, may_look);
  std::visit(host_launcher{d, launch.unit}, launch.how);
  CHECK(to.is_intact());
  CHECK(workspace.is_intact());
  answer a{to.contents(), {}, std::to_string(launch.unit)};
  std::visit(
      [&a]<class X>(const X& x) {
        a.looked = std::is_same_v<X, cu::detail::look_arguments>;
        if constexpr (requires { x.sums; }) {
          a.unit = "v" + std::to_string(x.vector);
          a.narrow = sizeof x.sums.run_length == 4;
        } else if constexpr (requires { x.count; }) {
          a.narrow = sizeof x.count == 4;
        }
      },
      launch.how);
  try {
    cu::throw_if_noted(fault);
  } catch (const nk::input_error& error) {
    a.error = error.what();
  }
  return a;
}

/// Where an axis before the one that is picked from is empty, nobody looks at the indices.
inline bool picks_any(const movement_record& r) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(r.axis); ++i)
    if (r.from_shape[i] == 0) return false;
  return true;
}

inline std::string describe(const movement_record& r) {
  std::string text = "kind " + std::to_string(static_cast<int>(r.kind)) + " " + std::string(name_of(r.type)) +
                     " by " + std::string(name_of(r.index_type)) + " axis " + std::to_string(r.axis);
  const auto add = [&text](const char* name, const auto& list) {
    text += std::string(" ") + name;
    for (const auto x : list) text += " " + std::to_string(x);
  };
  add("from", r.from_shape), add("strides", r.from_stride), add("index", r.index_shape),
      add("strides", r.index_stride), add("to", r.to_shape), add("start", r.start), add("step", r.step);
  return text;
}

/// An embedding's gradient: `often` says how many of the tokens are the same one.
inline example embedding(dice& d, dtype type, std::size_t tokens, std::size_t words, std::size_t width,
                         double often) {
  example e;
  movement_record& r = e.record;
  r.kind = unit_kind::scatter_add;
  r.type = type;
  r.from_shape = {tokens, width};
  r.from_stride = nk::row_major_strides(r.from_shape);
  r.index_shape = {tokens};
  r.index_stride = {1};
  r.to_shape = {words, width};
  std::vector<double> index(tokens);
  for (double& x : index)
    x = static_cast<double>(static_cast<double>(d.below(1000)) < often * 1000 ? words / 2 : d.below(words));
  e.index = nk::testing::to_bytes(index, r.index_type);
  e.from = random_elements(d, tokens * width, type);
  return e;
}

}  // namespace movement_test
