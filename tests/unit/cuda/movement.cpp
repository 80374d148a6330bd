// Movements as the GPU's threads do them, run on the host in a random order and compared with the CPU's:
// bit for bit but for the sums of a scatter_add. CUB's sort is std::stable_sort on the bits that CUB is
// given.
#include "napkin/cuda/movement.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "napkin/cpu/movement.hpp"
#include "support/host_movements.hpp"
#include "support/run_plan.hpp"

namespace nk = napkin;
namespace cu = napkin::on_cuda;
using nk::dtype;
using nk::planning::movement_record;
using nk::planning::unit_kind;
using nk::testing::raw_bytes;

namespace {

using nk::testing::dice;
using nk::testing::host_launcher;

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
operand laid_out(dice& d, const nk::shape& s, bool dense) {
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

raw_bytes random_elements(dice& d, std::size_t n, dtype type) {
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

nk::shape random_shape(dice& d, std::size_t rank) {
  nk::shape s;
  for (std::size_t i = 0; i < rank; ++i) s.push_back(d.one_of<std::size_t>({1, 2, 2, 3, 4, 5, 7}));
  if (rank > 0 && d.below(3) != 0) s.back() = d.one_of<std::size_t>({8, 16, 24, 32, 33});
  if (rank > 0 && d.below(12) == 0) s[d.below(rank)] = 0;
  return s;
}

void set_from(dice& d, example& e, const nk::shape& s) {
  const operand x = laid_out(d, s, e.dense);
  e.record.from_shape = x.size;
  e.record.from_stride = x.stride;
  e.from = random_elements(d, x.elements, e.record.type);
  e.from_first = x.first;
}
void set_index(dice& d, example& e, const nk::shape& s, std::size_t size) {
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

example random_example(dice& d, unit_kind kind, dtype type) {
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

answer by_cpu(const example& e) {
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

answer by_threads(dice& d, const example& e, bool may_be_narrow, std::size_t shift, bool may_look = true) {
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
bool picks_any(const movement_record& r) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(r.axis); ++i)
    if (r.from_shape[i] == 0) return false;
  return true;
}

std::string describe(const movement_record& r) {
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

}  // namespace

TEST_CASE("gather, pad and concat by the GPU's threads are the CPU's, bit for bit") {
  dice d(20261123);
  std::map<std::string, int> units;
  int faults = 0, wide = 0, compared = 0;
  for (int i = 0; i < 6000; ++i) {
    const unit_kind kind = d.one_of({unit_kind::gather, unit_kind::pad, unit_kind::concat});
    const dtype type = nk::all_dtypes[d.below(nk::all_dtypes.size())];
    const example e = random_example(d, kind, type);
    const std::size_t shift = d.below(3) == 0 ? size_of(type) * d.below(3) : 0;
    const answer expected = by_cpu(e), given = by_threads(d, e, d.below(3) != 0, shift);
    INFO(describe(e.record) << ", shift " << shift << ", unit " << given.unit);
    CHECK(expected.error.empty() == !(e.outside && picks_any(e.record)));
    CHECK(given.error.empty() == expected.error.empty());
    ++compared;
    if (!expected.error.empty()) {
      ++faults;
      continue;
    }
    ++units[given.unit];
    wide += !given.narrow;
    REQUIRE(given.to == expected.to);
  }
  CHECK(compared > 5000);
  CHECK(faults > 50);
  CHECK(wide > 500);
  for (const char* unit : {"1", "2", "4", "8", "16"}) {
    INFO("unit " << unit);
    CHECK(units[unit] > 100);
  }
}

TEST_CASE("scatter_add by the GPU's threads gives the CPU's sums") {
  dice d(4711);
  std::map<std::string, int> vectors;
  int faults = 0, wide = 0, looked = 0;
  for (int i = 0; i < 3000; ++i) {
    const dtype type = d.one_of({dtype::f64, dtype::f64, dtype::f32, dtype::i64, dtype::i32});
    const example e = random_example(d, unit_kind::scatter_add, type);
    const std::size_t shift = d.below(4) == 0 ? size_of(type) * d.below(3) : 0;
    const answer expected = by_cpu(e), given = by_threads(d, e, d.below(3) != 0, shift, d.below(3) == 0);
    INFO(describe(e.record) << ", shift " << shift << ", " << given.unit);
    CHECK(given.error.empty() == expected.error.empty());
    if (!expected.error.empty()) {
      ++faults;
      continue;
    }
    ++vectors[given.unit];
    wide += !given.narrow;
    const std::vector<double> x = nk::testing::to_doubles(expected.to, type),
                              y = nk::testing::to_doubles(given.to, type);
    double worst = 0;
    for (std::size_t k = 0; k < x.size(); ++k) worst = std::fmax(worst, std::fabs(x[k] - y[k]));
    REQUIRE(std::none_of(y.begin(), y.end(), [](double v) { return std::isnan(v); }));
    if (is_integer(type))
      REQUIRE(given.to == expected.to);
    else
      REQUIRE(worst <= (type == dtype::f64 ? 1e-12 : 1e-3));
    looked += given.looked;
    if (given.looked || cu::detail::layout_of_scatter(e.record).pieces <= 1) REQUIRE(given.to == expected.to);
  }
  CHECK(faults > 50);
  CHECK(wide > 300);
  CHECK(looked > 300);
  for (const char* vector : {"v1", "v2", "v4"}) {
    INFO(vector);
    CHECK(vectors[vector] > 50);
  }
}

namespace {

/// An embedding's gradient: `often` says how many of the tokens are the same one.
example embedding(dice& d, dtype type, std::size_t tokens, std::size_t words, std::size_t width,
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

}  // namespace

TEST_CASE("scatter_add: segments over many pieces, the same bits whichever thread comes first") {
  dice d(3);
  for (const dtype type : {dtype::f64, dtype::f32, dtype::f16, dtype::bf16, dtype::f8e4m3, dtype::f8e5m2,
                           dtype::i64, dtype::i32, dtype::i16, dtype::i8, dtype::u32, dtype::u16, dtype::u8})
    for (const double often : {0.0, 0.3, 1.0})
      for (const std::size_t width : {std::size_t{3}, std::size_t{32}}) {
        const example e = embedding(d, type, 2000, 40, width, often);
        const answer given = by_threads(d, e, true, 0, false);
        INFO(name_of(type) << ", " << often << " of one token, " << given.unit);
        REQUIRE(given.to == by_threads(d, e, true, 0, false).to);
        CHECK(given.unit ==
              (width == 3 || is_integer(type) ? "v1" : "v" + std::to_string(16 / size_of(type))));
        CHECK(cu::detail::layout_of_scatter(e.record).pieces > 60);

        // sums in f64, rounded at last to the dtype
        const std::vector<double> x = nk::testing::to_doubles(e.from, type),
                                  index = nk::testing::to_doubles(e.index, dtype::i32),
                                  y = nk::testing::to_doubles(given.to, type);
        std::vector<double> sums(40 * width);
        for (std::size_t i = 0; i < x.size(); ++i)
          sums[static_cast<std::size_t>(index[i / width]) * width + i % width] += x[i];
        if (is_integer(type)) {
          raw_bytes wrapped(sums.size() * size_of(type));
          for (std::size_t i = 0; i < sums.size(); ++i) {
            const auto whole = static_cast<std::int64_t>(sums[i]);
            std::memcpy(wrapped.data() + i * size_of(type), &whole,
                        size_of(type));  // the low bytes come first
          }
          CHECK(given.to == wrapped);
          continue;
        }
        const std::vector<double> rounded = nk::testing::to_doubles(nk::testing::to_bytes(sums, type), type);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < sums.size(); ++i) {
          const double scale = std::fmax(std::fabs(rounded[i]), 1);
          const double tolerance = type == dtype::f64 ? 1e-12 : type == dtype::f32 ? 1e-5 : 0;
          const bool same = std::isfinite(rounded[i]) ? std::fabs(y[i] - rounded[i]) <= tolerance * scale
                                                      : !std::isfinite(y[i]);
          wrong += !same;
        }
        CHECK(wrong == 0);
      }
}

namespace {

/// An embedding's gradient of tokens that come so often each, in any order. `rounds`: sums in f32 do.
example embedding_of(dice& d, dtype type, const std::vector<std::size_t>& often, std::size_t width,
                     bool rounds = false) {
  std::vector<double> index;
  for (std::size_t word = 0; word < often.size(); ++word)
    index.insert(index.end(), often[word], static_cast<double>(word));
  std::shuffle(index.begin(), index.end(), d.engine);
  example e = embedding(d, type, index.size(), often.size(), width, 0);
  e.index = nk::testing::to_bytes(index, e.record.index_type);
  if (!rounds) return e;
  std::vector<double> values(index.size() * width);
  for (double& x : values) x = std::exp(static_cast<double>(d.below(10000)) / 1000) - 150;
  e.from = nk::testing::to_bytes(values, type);
  return e;
}
std::vector<std::size_t> zipf(std::size_t words, std::size_t tokens) {
  std::vector<std::size_t> often;
  double all = 0, before = 0;
  for (std::size_t w = 0; w < words; ++w) all += 1.0 / static_cast<double>(w + 1);
  std::size_t given = 0;
  for (std::size_t w = 0; w < words; ++w) {
    before += 1.0 / static_cast<double>(w + 1);
    const auto until = static_cast<std::size_t>(before / all * static_cast<double>(tokens));
    often.push_back(until - given);
    given = until;
  }
  return often;
}

}  // namespace

TEST_CASE(
    "scatter_add: tokens that come often and seldom, and segments as long as a piece or a block's round") {
  dice d(13);
  const std::vector<std::vector<std::size_t>> texts = {
      zipf(65, 768),  // letters: the first comes every fifth time
      zipf(65, 4000),
      {768},  // one word only
      {0, 0, 2048, 0},
      {5000},  // 157 pieces
      {3, 4000, 0, 1, 2},
      {31, 32, 33, 63, 64, 65, 96, 1, 1, 95, 97},  // pieces of 32
      {32, 32, 32, 1, 31, 32 * 8, 32 * 8 + 1, 32 * 32 - 1, 32 * 32, 32 * 32 + 1, 2},
      {1, 1, 1, 1, 1, 1, 1, 1, 1},
      {8, 8, 1},
      {7, 0, 9, 1},
      {255, 2},
      {256, 1},
      {257},
  };
  for (const auto& often : texts)
    for (const dtype type : {dtype::f32, dtype::bf16})
      for (const bool may_look : {true, false}) {
        const std::size_t width = often.size() == 65 ? 128 : 24;
        const example e = embedding_of(d, type, often, width);
        const answer given = by_threads(d, e, d.below(2) != 0, 0, may_look);
        INFO(name_of(type) << ", " << often.size() << " words, " << e.record.index_shape[0] << " tokens"
                           << (given.looked ? ", looked" : ""));
        const std::vector<double> x = nk::testing::to_doubles(e.from, type),
                                  index = nk::testing::to_doubles(e.index, dtype::i32);
        std::vector<double> sums(often.size() * width);
        for (std::size_t i = 0; i < x.size(); ++i)
          sums[static_cast<std::size_t>(index[i / width]) * width + i % width] += x[i];
        CHECK(given.to == nk::testing::to_bytes(sums, type));  // exact in f32, whatever the order
        CHECK(given.looked == (may_look && e.record.index_shape[0] <= 2048));
      }
}

// Which threads there are, and how much each takes at once, follows from addresses too.
TEST_CASE(
    "scatter_add: the bits are those of shapes and indices, wherever the values lie and whoever comes "
    "first") {
  dice d(14);
  for (const dtype type : {dtype::f32, dtype::bf16})
    for (const bool may_look : {true, false})
      for (const auto& often : {zipf(65, 768), std::vector<std::size_t>{2000}, zipf(300, 1900)}) {
        const example e = embedding_of(d, type, often, 32, true);
        const answer wide = by_threads(d, e, true, 0, may_look),
                     single = by_threads(d, e, may_look, size_of(type), may_look);
        INFO(name_of(type) << ", " << often.size() << " words");
        CHECK(wide.unit != single.unit);
        CHECK(wide.looked == may_look);
        CHECK(wide.to == single.to);
        // in f32 another order gives other bits, and the sums are still right
        const std::vector<double> x = nk::testing::to_doubles(e.from, type),
                                  index = nk::testing::to_doubles(e.index, dtype::i32),
                                  y = nk::testing::to_doubles(wide.to, type);
        std::vector<double> sums(y.size()), sizes(y.size());
        for (std::size_t i = 0; i < x.size(); ++i) {
          const std::size_t to = static_cast<std::size_t>(index[i / 32]) * 32 + i % 32;
          sums[to] += x[i];
          sizes[to] += std::fabs(x[i]);
        }
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < y.size(); ++i)
          wrong += !(std::fabs(y[i] - sums[i]) <=
                     (type == dtype::f32 ? 4e-6 * sizes[i] : std::fabs(sums[i]) / 200 + 4e-6 * sizes[i]));
        CHECK(wrong == 0);
      }
}

TEST_CASE("16 bytes at a time where rows lie so") {
  dice d(5);
  const auto unit_of = [&](example e, std::size_t shift = 0) { return by_threads(d, e, true, shift).unit; };
  example e = embedding(d, dtype::bf16, 64, 100, 24, 0);
  CHECK(unit_of(e) == "v8");
  CHECK(unit_of(e, 2) == "v1");
  e.record.kind = unit_kind::gather;
  std::swap(e.record.from_shape, e.record.to_shape);
  e.from = random_elements(d, 100 * 24, dtype::bf16);
  CHECK(unit_of(e) == "16");
  CHECK(unit_of(e, 8) == "8");
  CHECK(unit_of(e, 2) == "2");
  example pad;
  pad.record.type = dtype::bf16;
  pad.record.from_shape = {4, 24};
  pad.record.from_stride = {24, 1};
  pad.record.to_shape = {4, 72};
  pad.record.start = {0, 24};
  pad.record.step = {1, 1};
  pad.from = random_elements(d, 96, dtype::bf16);
  CHECK(unit_of(pad) == "16");
  pad.record.start = {0, 4};
  CHECK(unit_of(pad) == "8");
  pad.record.step = {1, 2};
  CHECK(unit_of(pad) == "2");
}

TEST_CASE("an index outside its axis touches nothing else") {
  dice d(8);
  example e = embedding(d, dtype::f64, 4, 3, 2, 0);
  e.index = nk::testing::to_bytes({2, 9, 0, 2}, dtype::i32);
  e.from = nk::testing::to_bytes({1, 2, 4, 8, 16, 32, 64, 128}, dtype::f64);
  answer sums;
  for (const bool may_look : {false, true}) {
    sums = by_threads(d, e, true, 0, may_look);
    CHECK(sums.looked == may_look);
    CHECK(sums.error == "gather: index 9 is outside an axis of size 3");
    CHECK(nk::testing::to_doubles(sums.to, dtype::f64) == std::vector<double>{16, 32, 0, 0, 65, 130});
  }
  e.record.kind = unit_kind::gather;
  std::swap(e.record.from_shape, e.record.to_shape);
  const answer rows = by_threads(d, e, true, 0);
  CHECK(rows.error == sums.error);
  CHECK(nk::testing::to_doubles(rows.to, dtype::f64) == std::vector<double>{16, 32, 0, 0, 1, 2, 16, 32});
}

TEST_CASE("division by multiplication") {
  dice d(6);
  constexpr std::uint32_t most = (1u << 31) - 1;
  std::size_t wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto value = static_cast<std::uint32_t>(1 + d.below(std::size_t{1} << (1 + d.below(31))));
    const cu::detail::divisor<std::int32_t> by(value > most ? most : value);
    const auto multiple = static_cast<std::uint32_t>(by.value * (most / by.value));
    for (const std::uint32_t x : {0u, 1u, by.value - 1, by.value, multiple, multiple - 1, most,
                                  static_cast<std::uint32_t>(d.below(most))})
      wrong += by.quotient(x) != x / by.value;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a movement that cannot be says why") {
  dice d(7);
  example e = embedding(d, dtype::f32, 8, 4, 4, 0);
  cu::index_fault fault;
  std::byte memory[64];
  CHECK_THROWS_WITH(cu::detail::launch_of(e.record, {memory, memory, memory, nullptr, &fault}, true, false),
                    "scatter_add: the workspace is missing (workspace_of(record) bytes)");
  CHECK_THROWS_WITH(cu::detail::launch_of(e.record, {memory, memory, memory, memory, nullptr}),
                    "gather, scatter_add: the index or the place for its faults is missing");
  e.record.type = dtype::c64;
  CHECK_THROWS_WITH(cu::detail::launch_of(e.record, {memory, memory, memory, memory, &fault}),
                    "scatter_add has no kernel for c64 on a GPU");
  e.record.index_type = dtype::f32;
  CHECK_THROWS_WITH(cu::detail::launch_of(e.record, {memory, memory, memory, memory, &fault}),
                    "an index must be an integer, not f32");

  // the text of an index outside its axis is the CPU's
  example outside = embedding(d, dtype::f32, 1, 4, 4, 0);
  outside.index = nk::testing::to_bytes({-3}, dtype::i32);
  CHECK(by_threads(d, outside, true, 0).error == "gather: index -3 is outside an axis of size 4");
  CHECK(by_cpu(outside).error == "gather: index -3 is outside an axis of size 4");
}

namespace {

// GPT-2 124M's, for a batch of 64 x 1024 tokens: known where the plan is made.
constexpr movement_record wte_gradient = [] {
  movement_record r;
  r.kind = unit_kind::scatter_add;
  r.type = dtype::bf16;
  r.from_shape = {65536, 768};
  r.index_shape = {65536};
  r.to_shape = {50304, 768};
  return r;
}();
static_assert(cu::detail::layout_of_scatter(wte_gradient).length == 64);
static_assert(!cu::detail::looks_through_indices(wte_gradient) && cu::launches_of(wte_gradient) == 5);
static_assert(cu::workspace_of(wte_gradient) < 8'000'000);
static_assert(cu::workspace_of(movement_record{}) == 0);

// Of a model of 65 letters: few enough to look through.
constexpr movement_record letters_gradient = [] {
  movement_record r = wte_gradient;
  r.type = dtype::f32;
  r.from_shape = {768, 128};
  r.index_shape = {768};
  r.to_shape = {65, 128};
  return r;
}();
static_assert(cu::launches_of(letters_gradient) == 1 && cu::workspace_of(letters_gradient) == 0);
static_assert(cu::detail::rows_that_look(768) == 32 && cu::detail::rows_that_look(8) == 1);

}  // namespace
