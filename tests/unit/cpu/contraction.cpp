// A planned contraction against plain loops: random labels, sizes and strides, every dtype with sums, and the
// same bits with any number of threads.
#include "napkin/cpu/contraction.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "../../../src/cpu/gemm_amx.hpp"
#include "napkin/core/dtype.hpp"
#include "napkin/cpu/gemm.hpp"
#include "napkin/cpu/threads.hpp"
#include "support/compare.hpp"
#include "support/skip.hpp"

namespace nk = napkin;
using nk::on_cpu::contraction_plan;
using nk::on_cpu::plan_contraction;

namespace {

using labels = std::vector<std::int32_t>;
using source = std::mt19937;

std::size_t below(source& random, std::size_t n) { return random() % n; }

/// A tensor of small integers (sums are exact in every dtype tested) or of fractions.
template <class T>
struct tensor {
  labels axes;
  nk::shape sizes;
  nk::stride_list strides;
  std::vector<T> elements;
  std::ptrdiff_t origin = 0;  // of index 0

  nk::on_cpu::contraction_operand operand() const { return {{axes.data(), axes.size()}, sizes, strides}; }
  T* data() { return elements.data() + origin; }
  const T* data() const { return elements.data() + origin; }
};

enum class memory { dense, permuted, wild };  // wild: gaps, repeats (stride 0) and backwards, too

template <class T>
tensor<T> make_tensor(source& random, const labels& axes, const std::vector<std::size_t>& size_of_label,
                      memory kind, bool repeats) {
  tensor<T> t;
  t.axes = axes;
  std::vector<std::size_t> order(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    order[i] = i;
    t.sizes.push_back(size_of_label[static_cast<std::size_t>(axes[i])]);
    t.strides.push_back(0);
  }
  if (kind != memory::dense) std::shuffle(order.begin(), order.end(), random);
  std::ptrdiff_t stride = 1, lowest = 0, highest = 0;
  for (std::size_t i = order.size(); i-- > 0;) {
    const std::size_t axis = order[i];
    const auto size = static_cast<std::ptrdiff_t>(t.sizes[axis]);
    if (kind == memory::wild && below(random, 4) == 0)
      stride += static_cast<std::ptrdiff_t>(below(random, 3));
    t.strides[axis] = stride;
    stride *= std::max<std::ptrdiff_t>(size, 1);
    if (kind == memory::wild && below(random, 6) == 0) t.strides[axis] *= -1;
    if (kind == memory::wild && repeats && below(random, 6) == 0) t.strides[axis] = 0;
    (t.strides[axis] < 0 ? lowest : highest) += t.strides[axis] * std::max<std::ptrdiff_t>(size - 1, 0);
  }
  t.origin = -lowest;
  t.elements.resize(static_cast<std::size_t>(highest - lowest + 1));
  for (T& e : t.elements) e = static_cast<T>(static_cast<int>(below(random, 7)) - 3);
  return t;
}

/// Calls f with every index of the labels, in row-major order.
void for_each_index(const std::vector<std::size_t>& sizes,
                    const std::function<void(const std::vector<std::size_t>&)>& f) {
  std::vector<std::size_t> index(sizes.size(), 0);
  for (std::size_t s : sizes)
    if (s == 0) return;
  for (;;) {
    f(index);
    std::size_t i = sizes.size();
    while (i > 0 && ++index[i - 1] == sizes[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

template <class T>
std::ptrdiff_t offset(const tensor<T>& t, const std::vector<std::size_t>& index) {
  std::ptrdiff_t o = 0;
  for (std::size_t i = 0; i < t.axes.size(); ++i)
    o += static_cast<std::ptrdiff_t>(index[static_cast<std::size_t>(t.axes[i])]) * t.strides[i];
  return o;
}

/// What c's elements should be, by its memory's order; `magnitude` sums the products' absolute values.
template <class T>
struct expected {
  std::vector<double> value, magnitude;
  expected(const tensor<T>& a, const tensor<T>& b, const tensor<T>& c, const std::vector<std::size_t>& sizes)
      : value(c.elements.size(), 0), magnitude(c.elements.size(), 0) {
    for_each_index(sizes, [&](const std::vector<std::size_t>& index) {
      const double product =
          static_cast<double>(a.data()[offset(a, index)]) * static_cast<double>(b.data()[offset(b, index)]);
      const auto to = static_cast<std::size_t>(c.origin + offset(c, index));
      value[to] += product;
      magnitude[to] += std::abs(product);
    });
  }
};

struct restore_threads {
  std::size_t before = nk::on_cpu::threads();
  ~restore_threads() { nk::on_cpu::set_threads(before); }
};

/// The contraction with 1 to 4 threads, against loops. Returns false at a difference.
template <class T>
bool agrees(const tensor<T>& a, const tensor<T>& b, tensor<T> c, const std::vector<std::size_t>& sizes,
            double tolerance = 0) {
  const contraction_plan plan = plan_contraction(nk::dtype_of<T>, a.operand(), b.operand(), c.operand());
  const expected<T> want(a, b, c, sizes);
  std::vector<std::vector<T>> results;
  std::vector<bool> touched(c.elements.size(), false);
  bool any_element = true;
  for (std::size_t s : c.sizes) any_element = any_element && s != 0;
  std::vector<std::size_t> all(sizes);
  if (any_element)
    for (std::size_t label = 0; label < all.size(); ++label)
      if (std::find(c.axes.begin(), c.axes.end(), static_cast<std::int32_t>(label)) == c.axes.end())
        all[label] = 1;
  for_each_index(all, [&](const std::vector<std::size_t>& index) {
    touched[static_cast<std::size_t>(c.origin + offset(c, index))] = true;
  });

  const auto untouched = static_cast<T>(77);
  std::vector<double> workspace(plan.workspace / sizeof(double) + 8);
  const auto aligned = [&] {
    auto p = reinterpret_cast<std::uintptr_t>(workspace.data());
    return reinterpret_cast<void*>((p + 63) / 64 * 64);
  };
  bool good = true;
  std::vector<T> first;
  for (std::size_t threads : {1u, 2u, 3u, 4u}) {
    nk::on_cpu::set_threads(threads);
    std::fill(c.elements.begin(), c.elements.end(), untouched);
    std::vector<std::atomic<int>> covered(plan.blocks_are_contiguous() ? c.elements.size() : 0);
    const auto epilogue = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++covered[i];
    };
    if (covered.empty())
      nk::on_cpu::contract(plan, a.data(), b.data(), c.data(), aligned());
    else
      nk::on_cpu::contract(plan, a.data(), b.data(), c.data(), aligned(), epilogue);
    for (std::size_t i = 0; i < covered.size(); ++i) good = good && covered[i] == touched[i];
    if (threads == 1) first = c.elements;
    good = good && nk::testing::same_bits(first, c.elements);
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto found = static_cast<double>(first[i]);
    const auto wanted = static_cast<double>(static_cast<T>(touched[i] ? want.value[i] : 77));
    const double allowed = touched[i] ? tolerance * want.magnitude[i] : 0;
    good = good && (found == wanted || std::abs(found - wanted) <= allowed);  // an infinity is one
  }
  return good;
}

/// Random labels: each stands in two or three of a, b, c.
template <class T>
bool random_case(source& random, memory kind) {
  const std::size_t count = below(random, 6);
  labels a, b, c;
  std::vector<std::size_t> sizes;
  std::size_t points = 1;
  for (std::size_t l = 0; l < count; ++l) {
    std::size_t size = below(random, 12) == 0 ? 1 : 1 + below(random, below(random, 3) == 0 ? 40 : 6);
    if (below(random, 60) == 0) size = 0;
    while (points * size > 30000) size = 1 + below(random, 2);
    points *= std::max<std::size_t>(size, 1);
    sizes.push_back(size);
    const std::size_t where = below(random, 4);
    if (where != 0) a.push_back(static_cast<std::int32_t>(l));
    if (where != 1) b.push_back(static_cast<std::int32_t>(l));
    if (where != 2) c.push_back(static_cast<std::int32_t>(l));
  }
  for (labels* l : {&a, &b, &c}) std::shuffle(l->begin(), l->end(), random);
  const auto ta = make_tensor<T>(random, a, sizes, kind, true);
  const auto tb = make_tensor<T>(random, b, sizes, kind, true);
  return agrees(ta, tb, make_tensor<T>(random, c, sizes, kind, false), sizes);
}

/// Of matrices that are large enough for a matrix unit: some whole tiles and some parts of one.
template <class T>
bool random_product(source& random, memory kind) {
  labels a{0, 1}, b{1, 2}, c{0, 2};
  std::vector<std::size_t> sizes{8 + below(random, 90), 16 + below(random, 90), 8 + below(random, 90), 1, 1};
  if (below(random, 3) == 0) {  // a batch
    for (labels* l : {&a, &b, &c}) l->push_back(3);
    sizes[3] = 2 + below(random, 2);
  }
  if (below(random, 3) == 0) {  // summed, and not one with k
    for (labels* l : {&a, &b}) l->push_back(4);
    sizes[4] = 2;
  }
  for (labels* l : {&a, &b, &c}) std::shuffle(l->begin(), l->end(), random);
  const auto ta = make_tensor<T>(random, a, sizes, kind, true);
  const auto tb = make_tensor<T>(random, b, sizes, kind, true);
  return agrees(ta, tb, make_tensor<T>(random, c, sizes, kind, false), sizes);
}

template <class T>
void random_cases(int count, unsigned seed) {
  restore_threads restore;
  source random(seed);
  int wrong = 0;
  for (int i = 0; i < count; ++i)
    for (memory kind : {memory::dense, memory::permuted, memory::wild})
      wrong += !random_case<T>(random, kind);
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("contractions of random structure equal plain loops, f32", "[contraction]") {
  random_cases<nk::f32>(300, 1);
}
TEST_CASE("contractions of random structure equal plain loops, f64", "[contraction]") {
  random_cases<nk::f64>(150, 2);
}
TEMPLATE_TEST_CASE("contractions of random structure equal plain loops, 16 and 8 bits", "[contraction]",
                   nk::bf16, nk::f16, nk::f8e5m2) {
  random_cases<TestType>(100, 11);
}
TEMPLATE_TEST_CASE("products of matrices of random sizes and strides equal plain loops", "[contraction]",
                   nk::f32, nk::bf16) {
  restore_threads restore;
  source random(12);
  int wrong = 0;
  for (int i = 0; i < 40; ++i)
    for (memory kind : {memory::dense, memory::permuted, memory::wild})
      wrong += !random_product<TestType>(random, kind);
  CHECK(wrong == 0);
}
TEST_CASE("contractions of random structure equal plain loops, i32 and i64", "[contraction]") {
  random_cases<nk::i32>(60, 3);
  random_cases<nk::i64>(30, 4);
}

// Small integers times small integers are exact in f32 but need not be in 16 bits once summed: the sums
// that come back are the f32 ones rounded once.
TEMPLATE_TEST_CASE("16-bit contractions accumulate in f32 and round once", "[contraction]", nk::bf16,
                   nk::f16) {
  restore_threads restore;
  source random(5);
  for (std::size_t k : {1u, 40u, 700u}) {
    const std::vector<std::size_t> sizes{33, k, 2, 17};
    const auto a = make_tensor<TestType>(random, {0, 1, 2}, sizes, memory::permuted, false);
    const auto b = make_tensor<TestType>(random, {2, 3, 1}, sizes, memory::permuted, false);
    auto c = make_tensor<TestType>(random, {0, 3}, sizes, memory::dense, false);
    const contraction_plan plan =
        plan_contraction(nk::dtype_of<TestType>, a.operand(), b.operand(), c.operand());
    const expected<TestType> want(a, b, c, sizes);
    nk::on_cpu::contract(plan, a.data(), b.data(), c.data(), nullptr);
    int wrong = 0;
    for (std::size_t i = 0; i < c.elements.size(); ++i)
      wrong += c.elements[i].bits != static_cast<TestType>(static_cast<float>(want.value[i])).bits;
    CHECK(wrong == 0);
  }
}

TEMPLATE_TEST_CASE("large contractions: blocks, blocks of k, the same bits with any number of threads",
                   "[contraction]", float, nk::bf16) {
  restore_threads restore;
  source random(6);
  struct shape_case {
    labels a, b, c;
    std::vector<std::size_t> sizes;
    memory kind;
  };
  const shape_case cases[] = {
      {{0, 1}, {1, 2}, {0, 2}, {300, 70, 190}, memory::dense},              // rows split
      {{1, 0}, {1, 2}, {0, 2}, {96, 500, 200}, memory::dense},              // a transposed, both split
      {{0, 1}, {2, 1}, {2, 0}, {130, 64, 260}, memory::dense},              // c transposed
      {{0, 1}, {2, 1}, {0, 2}, {410, 300, 70}, memory::dense},              // b packed from lines
      {{1, 0}, {1, 2}, {0, 2}, {410, 270, 330}, memory::dense},             // a and b packed as they lie
      {{0, 1}, {1, 2}, {0, 2}, {64, 4100, 100}, memory::dense},             // blocks of k and of rows
      {{3, 0, 1}, {3, 1, 2}, {3, 0, 2}, {34, 3300, 9, 16}, memory::dense},  // k not split, and long
      {{3, 1, 0}, {3, 1, 2}, {3, 0, 2}, {34, 1700, 9, 16}, memory::dense},  // the same, a transposed
      {{0, 1}, {1, 2}, {0, 2}, {8, 30000, 8}, memory::dense},               // k split, workspace
      {{0, 1}, {1, 2}, {0, 2}, {17, 9000, 5}, memory::wild},                // the same by other strides
      {{0}, {0}, {}, {1200000}, memory::dense},                             // one dot product
      {{3, 0, 1}, {3, 1, 2}, {3, 0, 2}, {40, 24, 48, 32}, memory::dense},   // batches in groups
      {{0, 1}, {1}, {0}, {1500, 700}, memory::dense},                       // matrix times vector
      {{0}, {0, 1}, {1}, {700, 1500}, memory::dense},
      {{0, 2, 1, 3}, {0, 4, 1, 3}, {0, 1, 2, 4}, {3, 4, 64, 32, 64}, memory::dense},  // attention's scores
  };
  for (const shape_case& s : cases) {
    auto a = make_tensor<TestType>(random, s.a, s.sizes, s.kind, false);
    auto b = make_tensor<TestType>(random, s.b, s.sizes, s.kind, false);
    const auto c = make_tensor<TestType>(random, s.c, s.sizes, memory::dense, false);
    std::uniform_real_distribution<float> fraction(-1, 1);
    for (TestType& e : a.elements) e = static_cast<TestType>(fraction(random));
    for (TestType& e : b.elements) e = static_cast<TestType>(fraction(random));
    // error of a sum of n products in any order: n * epsilon / 2 times the sum of magnitudes, and n here
    // is far less than the bound's, as roundings go both ways; of bf16, that of rounding the sum
    CHECK(agrees(a, b, c, s.sizes, std::is_same_v<TestType, float> ? 1e-5 : 4e-3));
  }
  const contraction_plan split = plan_contraction(
      nk::dtype::f32, make_tensor<float>(random, {0, 1}, {8, 30000, 8}, memory::dense, false).operand(),
      make_tensor<float>(random, {1, 2}, {8, 30000, 8}, memory::dense, false).operand(),
      make_tensor<float>(random, {0, 2}, {8, 30000, 8}, memory::dense, false).operand());
  CHECK(split.k_blocks() > 1);
  CHECK(split.workspace == split.k_blocks() * 64 * sizeof(float));
}

TEST_CASE("NaN and infinity reach the elements that they should and no other", "[contraction]") {
  source random(7);
  const std::vector<std::size_t> sizes{50, 40, 30};
  auto a = make_tensor<float>(random, {0, 1}, sizes, memory::dense, false);
  const auto b = make_tensor<float>(random, {1, 2}, sizes, memory::dense, false);
  auto c = make_tensor<float>(random, {0, 2}, sizes, memory::dense, false);
  a.elements[7 * 40 + 3] = std::numeric_limits<float>::quiet_NaN();
  const contraction_plan plan = plan_contraction(nk::dtype::f32, a.operand(), b.operand(), c.operand());
  // what was in c before does not matter
  std::fill(c.elements.begin(), c.elements.end(), std::numeric_limits<float>::quiet_NaN());
  nk::on_cpu::contract(plan, a.data(), b.data(), c.data(), nullptr);
  int wrong = 0;
  for (std::size_t i = 0; i < c.elements.size(); ++i) wrong += std::isnan(c.elements[i]) != (i / 30 == 7);
  CHECK(wrong == 0);
}

#if defined(__x86_64__)
namespace {

enum class order { in_turn, in_pairs, in_chunks };

/// The sum of k products; add(sum, p) adds the p-th.
template <class Sum, class Add>
Sum sum_in_order(order how, std::size_t k, const Add& add) {
  Sum whole = 0;
  const std::size_t depth = how == order::in_chunks ? 32 : 1536 / sizeof(Sum);
  for (std::size_t begin = 0; begin < k; begin += depth) {
    const std::size_t end = std::min(k, begin + depth);
    Sum sum = 0;
    if (how == order::in_chunks) {  // even ones apart from odd ones
      Sum odd = 0;
      for (std::size_t p = begin; p < end; ++p) (p % 2 == 0 ? sum : odd) = add(p % 2 == 0 ? sum : odd, p);
      sum += odd;
    } else {
      for (std::size_t next = begin; next < end; ++next) {
        const std::size_t other = next % 2 == 0 ? next + 1 : next - 1;
        sum = add(sum, how == order::in_pairs && other < end ? other : next);
      }
    }
    whole = begin == 0 ? sum : whole + sum;
  }
  return whole;
}

}  // namespace

// However C is cut into blocks and tiles, and whatever is copied on the way. Where the processor multiplies pairs of
// bf16, the second of a pair comes first; of what its matrix unit takes, chunks are summed.
TEMPLATE_TEST_CASE("an element is sums of 1.5 KiB along k, each by fused multiply-adds in order",
                   "[contraction]", float, double, nk::bf16, nk::f16) {
#if defined(NAPKIN_ONEDNN)
  if (std::is_same_v<TestType, float>) SKIP("NAPKIN_ONEDNN is ON, and oneDNN sums as it likes");
#endif
  using sum_type = std::conditional_t<std::is_same_v<TestType, double>, double, float>;
  const bool fused = __builtin_cpu_supports("fma");
  const bool in_pairs = std::is_same_v<TestType, nk::bf16> && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512bf16");
  const bool in_chunks =
      std::is_same_v<TestType, nk::bf16> && nk::on_cpu::detail::find_amx_kernels() != nullptr;
  source random(9);
  std::uniform_real_distribution<sum_type> fraction(-1, 1);
  const labels rows_of[] = {{0, 1}, {1, 0}}, columns_of[] = {{1, 2}, {2, 1}};
  for (const std::vector<std::size_t>& sizes : {std::vector<std::size_t>{7, 600, 45},
                                                {203, 401, 37},
                                                {90, 5, 150},
                                                {331, 9, 70},
                                                {50, 9, 1100},
                                                {33, 790, 40},
                                                {9, 3200, 10},
                                                {5, 1, 3}})
    for (const labels& in_a : rows_of)
      for (const labels& in_b : columns_of) {
        auto a = make_tensor<TestType>(random, in_a, sizes, memory::dense, false);
        auto b = make_tensor<TestType>(random, in_b, sizes, memory::dense, false);
        auto c = make_tensor<TestType>(random, {0, 2}, sizes, memory::dense, false);
        for (TestType& e : a.elements) e = static_cast<TestType>(fraction(random));
        for (TestType& e : b.elements) e = static_cast<TestType>(fraction(random));
        const contraction_plan plan =
            plan_contraction(nk::dtype_of<TestType>, a.operand(), b.operand(), c.operand());
        REQUIRE(plan.k_blocks() == 1);
        nk::on_cpu::contract(plan, a.data(), b.data(), c.data(), nullptr);
        const bool by_unit = in_chunks && sizes[0] >= 8 && sizes[1] >= 16 && sizes[2] >= 8;
        const order how = by_unit ? order::in_chunks : in_pairs ? order::in_pairs : order::in_turn;
        int wrong = 0;
        for (std::size_t i = 0; i < sizes[0]; ++i)
          for (std::size_t j = 0; j < sizes[2]; ++j) {
            const auto whole = sum_in_order<sum_type>(how, sizes[1], [&](sum_type sum, std::size_t p) {
              const auto x =
                  static_cast<sum_type>(a.elements[static_cast<std::size_t>(offset(a, {i, p, j}))]);
              const auto y =
                  static_cast<sum_type>(b.elements[static_cast<std::size_t>(offset(b, {i, p, j}))]);
              return fused ? std::fma(x, y, sum) : sum + x * y;
            });
            const auto found =
                static_cast<double>(c.elements[static_cast<std::size_t>(offset(c, {i, 0, j}))]);
            wrong += found != static_cast<double>(static_cast<TestType>(whole));
          }
        CHECK(wrong == 0);
      }
}
#endif

TEST_CASE("an epilogue on blocks that are not contiguous is refused", "[contraction]") {
  source random(8);
  const std::vector<std::size_t> sizes{8, 8, 8};
  const auto a = make_tensor<float>(random, {0, 1}, sizes, memory::dense, false);
  auto c = a;
  c.axes = {0, 2};
  c.strides = {20, 2};
  c.elements.resize(200);
  auto b = a;
  b.axes = {1, 2};
  const contraction_plan plan = plan_contraction(nk::dtype::f32, a.operand(), b.operand(), c.operand());
  REQUIRE(!plan.blocks_are_contiguous());
  CHECK_THROWS_AS(
      nk::on_cpu::contract(plan, a.data(), b.data(), c.data(), nullptr, [](std::size_t, std::size_t) {}),
      nk::error);
}
