// A contraction's GEMM, read as cuBLASLt reads its descriptors, against plain loops: random labels, sizes and
// strides. Nothing here needs CUDA.
#include "napkin/cuda/blas_plan.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "napkin/cuda/batch_addresses.hpp"
#include "napkin/cuda/blas_price.hpp"

namespace nk = napkin;
using nk::on_cuda::blas_product;
using nk::on_cuda::blas_refusal;
using nk::on_cuda::most_calls;
using nk::on_cuda::plan_blas;

namespace {

using labels = std::vector<std::int32_t>;
using source = std::mt19937;
std::size_t below(source& random, std::size_t n) { return random() % n; }

struct tensor {
  labels axes;
  nk::shape sizes;
  nk::stride_list strides;
  std::vector<double> elements;
  std::ptrdiff_t origin = 0;  // of index 0

  nk::on_cuda::contraction_operand operand() const { return {{axes.data(), axes.size()}, sizes, strides}; }
};

enum class memory { dense, permuted, wild };  // wild: gaps, repeats (stride 0) and backwards, too

tensor make_tensor(source& random, const labels& axes, const std::vector<std::size_t>& size_of_label,
                   memory kind, bool repeats) {
  tensor t;
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
    if (kind == memory::wild && below(random, 8) == 0) t.strides[axis] *= -1;
    if (kind == memory::wild && repeats && below(random, 8) == 0) t.strides[axis] = 0;
    (t.strides[axis] < 0 ? lowest : highest) += t.strides[axis] * std::max<std::ptrdiff_t>(size - 1, 0);
  }
  t.origin = -lowest;
  t.elements.resize(static_cast<std::size_t>(highest - lowest + 1));
  for (double& e : t.elements) e = static_cast<int>(below(random, 7)) - 3;
  return t;
}

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

std::ptrdiff_t offset(const tensor& t, const std::vector<std::size_t>& index) {
  std::ptrdiff_t o = t.origin;
  for (std::size_t i = 0; i < t.axes.size(); ++i)
    o += static_cast<std::ptrdiff_t>(index[static_cast<std::size_t>(t.axes[i])]) * t.strides[i];
  return o;
}

/// Whether the arrays of addresses have what the product's n-th call reads and writes, for each of its batch.
bool is_addressed(const blas_product& p, std::uint64_t n, std::ptrdiff_t to_a, std::ptrdiff_t to_b,
                  std::ptrdiff_t to_c) {
  const auto base = [](std::uintptr_t at) { return reinterpret_cast<std::byte*>(at << 32); };
  const nk::on_cuda::batch_addresses x{p, base(1), base(2), base(3), base(4), nullptr};
  if (x.size() * sizeof(void*) != p.address_bytes()) return false;
  const std::uint64_t sums = blas_product::size_of(p.outer_k), outer = n / sums, sum = n % sums;
  bool good = true;
  for (std::uint64_t t = 0; t < p.batch; ++t) {
    const auto is = [&](std::byte** array, std::byte* from, const nk::on_cuda::blas_matrix& m,
                        std::ptrdiff_t to) {
      const auto i = static_cast<std::uint64_t>(array - x.to) + outer * p.batch + t;
      to += static_cast<std::ptrdiff_t>(t) * m.batch_stride;
      good = good && x.address(i) == from + to * static_cast<std::ptrdiff_t>(nk::size_of(m.type));
    };
    is(x.of_a(sum), x.a, p.a, to_a);
    is(x.of_b(sum), x.b, p.b, to_b);
    is(x.of_result(), x.result, p.c, to_c);
    is(x.of_added(), x.added, p.c, to_c);
  }
  return good;
}

/// What cuBLASLt does with the product's descriptors; false where it would refuse them.
bool interpret(const blas_product& p, const tensor& first, const tensor& second, tensor& result) {
  const tensor& a = p.swapped ? second : first;
  const tensor& b = p.swapped ? first : second;
  const auto valid = [&](const nk::on_cuda::blas_matrix& x, std::uint64_t rows, std::uint64_t columns,
                         bool transposed) {
    return x.rows == (transposed ? columns : rows) && x.columns == (transposed ? rows : columns) &&
           x.rows > 0 && x.columns > 0 && x.ld >= static_cast<std::int64_t>(x.rows) && x.batch_stride >= 0;
  };
  if (p.batch == 0) return p.calls() == 0;
  if (!valid(p.a, p.m, p.k, p.transpose_a) || !valid(p.b, p.k, p.n, p.transpose_b) ||
      !valid(p.c, p.m, p.n, false))
    return false;
  const auto at = [](const nk::on_cuda::blas_matrix& x, std::int64_t i, std::int64_t j, std::int64_t t) {
    return static_cast<std::ptrdiff_t>(i + j * x.ld + t * x.batch_stride);
  };
  std::uint64_t calls = 0;
  bool addressed = true;
  p.for_each_call([&](std::ptrdiff_t to_a, std::ptrdiff_t to_b, std::ptrdiff_t to_c, bool begins) {
    if (p.has_address_arrays()) addressed = addressed && is_addressed(p, calls, to_a, to_b, to_c);
    ++calls;
    for (std::int64_t t = 0; t < static_cast<std::int64_t>(p.batch); ++t)
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(p.m); ++i)
        for (std::int64_t j = 0; j < static_cast<std::int64_t>(p.n); ++j) {
          double sum = 0;
          for (std::int64_t l = 0; l < static_cast<std::int64_t>(p.k); ++l) {
            const auto x = a.origin + to_a + (p.transpose_a ? at(p.a, l, i, t) : at(p.a, i, l, t));
            const auto y = b.origin + to_b + (p.transpose_b ? at(p.b, j, l, t) : at(p.b, l, j, t));
            sum += a.elements.at(static_cast<std::size_t>(x)) * b.elements.at(static_cast<std::size_t>(y));
          }
          double& c = result.elements.at(static_cast<std::size_t>(result.origin + to_c + at(p.c, i, j, t)));
          c = begins ? sum : c + sum;
        }
  });
  return addressed && calls == p.calls();
}

struct outcome {
  bool good = true, possible = false;
};

/// What the plan takes beyond one call that reads nothing twice, said without it.
bool is_priced(nk::dtype type, const blas_product& p, const nk::passes::contraction_groups& g) {
  const nk::passes::layout_price price = nk::on_cuda::price_of(type, g);
  if (!p.possible || p.batch == 0) return price.refused == !p.possible;
  std::uint64_t launches = p.calls();
  if (p.has_address_arrays()) launches = std::min(launches, 1 + blas_product::size_of(p.outer_k));
  const std::uint64_t of_launches = (launches - 1) * nk::passes::bytes_a_launch;
  // what is read again may be hidden behind arithmetic
  return price.refused == 0 && price.bytes >= of_launches && price.bytes <= of_launches + p.bytes_again;
}

outcome random_case(source& random, memory kind, nk::dtype type) {
  const std::size_t count = below(random, 7);
  labels a, b, c;
  std::vector<std::size_t> sizes;
  std::size_t points = 1;
  bool empty = false, no_sum = false;
  for (std::size_t l = 0; l < count; ++l) {
    std::size_t size = below(random, 10) == 0 ? 1 : 1 + below(random, below(random, 3) == 0 ? 30 : 6);
    if (below(random, 60) == 0) size = 0;
    while (points * size > 20000) size = 1 + below(random, 2);
    points *= std::max<std::size_t>(size, 1);
    sizes.push_back(size);
    const std::size_t where = below(random, 4);
    if (where != 0) a.push_back(static_cast<std::int32_t>(l));
    if (where != 1) b.push_back(static_cast<std::int32_t>(l));
    if (where != 2) c.push_back(static_cast<std::int32_t>(l));
    if (size == 0) (where != 2 ? empty : no_sum) = true;
  }
  for (labels* l : {&a, &b, &c}) std::shuffle(l->begin(), l->end(), random);
  const tensor ta = make_tensor(random, a, sizes, kind, true), tb = make_tensor(random, b, sizes, kind, true);
  tensor tc = make_tensor(random, c, sizes, kind, false);

  constexpr double untouched = 1e9;
  std::fill(tc.elements.begin(), tc.elements.end(), untouched);
  tensor want = tc;
  if (!empty) {
    std::vector<std::size_t> of_c(sizes);
    for (std::size_t l = 0; l < sizes.size(); ++l)
      if (std::find(c.begin(), c.end(), static_cast<std::int32_t>(l)) == c.end()) of_c[l] = 1;
    for_each_index(of_c, [&](const auto& i) {
      want.elements.at(static_cast<std::size_t>(offset(want, i))) = 0;
      // what a first call does not overwrite is seen
      tc.elements.at(static_cast<std::size_t>(offset(tc, i))) = std::numeric_limits<double>::quiet_NaN();
    });
    for_each_index(sizes, [&](const auto& i) {
      want.elements.at(static_cast<std::size_t>(offset(want, i))) +=
          ta.elements.at(static_cast<std::size_t>(offset(ta, i))) *
          tb.elements.at(static_cast<std::size_t>(offset(tb, i)));
    });
  }

  const blas_product p = plan_blas(type, ta.operand(), tb.operand(), tc.operand());
  outcome o;
  o.possible = p.possible;
  o.good = is_priced(type, p, nk::passes::group_labels(ta.operand(), tb.operand(), tc.operand()));
  if (!o.good) return o;
  if (!p.possible) {
    o.good = p.reason != blas_refusal::none && !empty && no_sum == (p.reason == blas_refusal::nothing_to_sum);
    return o;
  }
  o.good = p.reason == blas_refusal::none && !(no_sum && !empty) && interpret(p, ta, tb, tc) &&
           tc.elements == want.elements && p == plan_blas(type, ta.operand(), tb.operand(), tc.operand());
  if (!empty) {
    std::uint64_t all = 2;
    for (std::size_t s : sizes) all *= s;
    o.good = o.good && p.flops == all &&
             (p.calls() <= most_calls || (p.has_address_arrays() && !p.is_narrow())) &&
             !(nk::is_small_float(type) && !p.outer_k.empty()) && p.workspace % 256 == 0;
  }
  return o;
}

}  // namespace

TEST_CASE("the descriptors of random contractions say what plain loops compute", "[blas_plan]") {
  source random(11);
  for (const memory kind : {memory::dense, memory::permuted, memory::wild}) {
    int wrong = 0, possible = 0;
    constexpr int cases = 1500;
    for (int i = 0; i < cases; ++i) {
      const outcome o = random_case(random, kind, i % 3 == 0 ? nk::dtype::bf16 : nk::dtype::f32);
      wrong += !o.good;
      possible += o.possible;
    }
    CAPTURE(static_cast<int>(kind), possible);
    CHECK(wrong == 0);
    CHECK(possible > cases / 4);  // or nothing was tested
    CHECK(possible < cases);
  }
}

namespace {

struct operands {
  std::int32_t a[4], b[4], c[4];
};

/// From "bthd,bshd->bhts" and the sizes of its letters: row-major operands, where no strides are given.
constexpr blas_product plan_of(const char* pattern, const char* letters,
                               std::initializer_list<std::size_t> sizes, nk::dtype type = nk::dtype::bf16,
                               nk::dtype result = nk::dtype::bf16, nk::stride_list a_strides = {},
                               nk::stride_list c_strides = {}, std::ptrdiff_t a_offset = 0) {
  std::int32_t axes[3][8]{};
  std::size_t rank[3]{}, at = 0;
  nk::shape shapes[3];
  for (const char* p = pattern; *p != 0; ++p) {
    if (*p == ',' || *p == '>') ++at;
    if (*p < 'a' || *p > 'z') continue;
    std::size_t letter = 0;
    while (letters[letter] != *p) ++letter;
    axes[at][rank[at]++] = static_cast<std::int32_t>(letter);
    shapes[at].push_back(sizes.begin()[letter]);
  }
  nk::stride_list strides[3];
  for (int i = 0; i < 3; ++i) strides[i] = row_major_strides(shapes[i]);
  if (!a_strides.empty()) strides[0] = a_strides;
  if (!c_strides.empty()) strides[2] = c_strides;
  return plan_blas(type, result, {{axes[0], rank[0]}, shapes[0], strides[0], a_offset},
                   {{axes[1], rank[1]}, shapes[1], strides[1]}, {{axes[2], rank[2]}, shapes[2], strides[2]});
}

// x W: one GEMM whatever the leading axes; C's rows are BLAS's columns, so W comes first.
constexpr blas_product linear = plan_of("btc,cf->btf", "btcf", {8, 1024, 768, 3072});
static_assert(linear.possible && linear.calls() == 1 && linear.bytes_again == 0 && linear.batch == 1);
static_assert(linear.swapped && !linear.transpose_a && !linear.transpose_b);
static_assert(linear.m == 3072 && linear.n == 8 * 1024 && linear.k == 768);
static_assert(linear.a == nk::on_cuda::blas_matrix{nk::dtype::bf16, 3072, 768, 3072, 0});
static_assert(linear.b == nk::on_cuda::blas_matrix{nk::dtype::bf16, 768, 8192, 768, 0});
static_assert(linear.c == nk::on_cuda::blas_matrix{nk::dtype::bf16, 3072, 8192, 3072, 0});
static_assert(linear.flops == 2ull * 8 * 1024 * 768 * 3072);
static_assert(linear.bytes == 2ull * (8 * 1024 * (768 + 3072) + 768 * 3072));
static_assert(linear.workspace == 32u << 20 && linear.compute == nk::on_cuda::blas_compute::f32);

// x W^T: the same with the weight transposed.
constexpr blas_product tied = plan_of("btc,vc->btv", "btcv", {8, 1024, 768, 50304});
static_assert(tied.possible && tied.calls() == 1 && tied.bytes_again == 0 && tied.swapped);
static_assert(tied.transpose_a && !tied.transpose_b && tied.a.ld == 768 && tied.c.ld == 50304);

// Of 8-bit floats one call whose summed axis is adjacent in both, by sixteens; e5m2 not by itself.
constexpr nk::dtype e4m3 = nk::dtype::f8e4m3, e5m2 = nk::dtype::f8e5m2;
constexpr blas_product in_8_bits = plan_of("btc,vc->btv", "btcv", {8, 16, 64, 96}, e4m3);
static_assert(in_8_bits.possible && in_8_bits.calls() == 1 && in_8_bits.transpose_a &&
              !in_8_bits.transpose_b);
static_assert(in_8_bits.a.type == e4m3 && in_8_bits.b.type == e4m3 && in_8_bits.c.type == nk::dtype::bf16);
static_assert(in_8_bits.bytes == 8 * 16 * 64 + 96 * 64 + 2 * 8 * 16 * 96);
static_assert(plan_of("btc,cv->btv", "btcv", {8, 16, 64, 96}, e4m3).reason == blas_refusal::narrow_layout);
static_assert(plan_of("btc,vc->btv", "btcv", {8, 16, 40, 96}, e4m3).reason == blas_refusal::narrow_layout);
static_assert(plan_of("btc,vc->btv", "btcv", {8, 16, 64, 96}, e4m3, nk::dtype::bf16, {}, {}, 48).possible);
static_assert(plan_of("btc,vc->btv", "btcv", {8, 16, 64, 96}, e4m3, nk::dtype::bf16, {}, {}, 8).reason ==
              blas_refusal::narrow_layout);
static_assert(plan_of("btc,vc->btv", "btcv", {8, 16, 64, 96}, e5m2).reason == blas_refusal::element_type);
static_assert(plan_of("btc,vc->btv", "btcv", {8, 16, 64, 96}, e4m3, e4m3).reason ==
              blas_refusal::element_type);
static_assert(plan_of("btc,vc->btv", "btcv", {8, 16, 64, 96}, e4m3, nk::dtype::f32).possible);
// Added up as is asked for where both are e4m3, multiplied as TF32 where both are f32.
constexpr nk::on_cuda::product_options as_fast_as_can_be{.tf32 = true, .adds_fast = true};
constexpr nk::on_cuda::blas_compute computed(nk::dtype a, nk::dtype b, nk::dtype result) {
  return nk::on_cuda::detail::compute_of({a, b, result}, as_fast_as_can_be);
}
static_assert(computed(e4m3, e4m3, nk::dtype::bf16) == nk::on_cuda::blas_compute::fast_f32);
static_assert(computed(e5m2, e4m3, nk::dtype::bf16) == nk::on_cuda::blas_compute::f32);
static_assert(computed(e4m3, e5m2, nk::dtype::f32) == nk::on_cuda::blas_compute::f32);
static_assert(computed(nk::dtype::f32, nk::dtype::f32, nk::dtype::f32) == nk::on_cuda::blas_compute::tf32);
static_assert(computed(nk::dtype::bf16, nk::dtype::bf16, nk::dtype::f32) == nk::on_cuda::blas_compute::f32);
static_assert(computed(nk::dtype::f64, nk::dtype::f64, nk::dtype::f64) == nk::on_cuda::blas_compute::f64);
static_assert(in_8_bits.compute == nk::on_cuda::blas_compute::f32);  // unless asked for

// dx = dy W^T and dW = x^T dy; the latter's sum runs over batch and time at once.
static_assert(plan_of("btf,cf->btc", "btcf", {8, 1024, 768, 3072}).calls() == 1);
constexpr blas_product weight_gradient = plan_of("btc,btf->cf", "btcf", {8, 1024, 768, 3072});
static_assert(weight_gradient.possible && weight_gradient.calls() == 1 && weight_gradient.bytes_again == 0);
static_assert(weight_gradient.m == 3072 && weight_gradient.n == 768 && weight_gradient.k == 8 * 1024);
static_assert(!weight_gradient.transpose_a && weight_gradient.transpose_b);
// Split-K for a result of few tiles: room for the partial sums of as many as an H100 computes at once.
static_assert([] {
  constexpr std::uint64_t processors = 132, tile_rows = 128, tile_columns = 256, width = 768;
  constexpr std::uint64_t tiles = width / tile_rows * (width / tile_columns), parts = processors / tiles;
  return parts > 1 &&
         plan_of("btc,btf->cf", "btcf", {64, 1024, width, width}).workspace >= parts * width * width * 4;
}());
// accumulated in f32 where gradients are kept so
static_assert(plan_of("btc,btf->cf", "btcf", {8, 1024, 768, 3072}, nk::dtype::bf16, nk::dtype::f32).c.type ==
              nk::dtype::f32);

// QK^T and PV of attention with heads within time: no bytes move; the smaller of batch and heads is called.
constexpr blas_product scores = plan_of("bthd,bshd->bhts", "bthsd", {64, 1024, 12, 1024, 64});
static_assert(scores.possible && scores.bytes_again == 0 && scores.calls() == 12 && scores.batch == 64);
static_assert(scores.m == 1024 && scores.n == 1024 && scores.k == 64 && scores.outer.size() == 1);
static_assert(scores.transpose_a && !scores.transpose_b && scores.a.ld == 12 * 64);
constexpr blas_product mixed = plan_of("bhts,bshd->bthd", "bthsd", {64, 1024, 12, 1024, 64});
static_assert(mixed.possible && mixed.bytes_again == 0 && mixed.calls() == 12 && mixed.c.ld == 12 * 64);
// heads outside time: batch and heads are one axis
constexpr blas_product heads_first = plan_of("bhtd,bhsd->bhts", "bthsd", {64, 1024, 12, 1024, 64});
static_assert(heads_first.possible && heads_first.calls() == 1 && heads_first.batch == 64 * 12);
// one example: heads are the batch
static_assert(plan_of("bthd,bshd->bhts", "bthsd", {1, 1024, 12, 1024, 64}).calls() == 1);

// Projections to heads: with the heads outside time, x is read for each head.
static_assert(plan_of("btc,chd->bthd", "btchd", {8, 1024, 768, 12, 64}).bytes_again == 0);
constexpr blas_product to_heads = plan_of("btc,hcd->bhtd", "btchd", {8, 1024, 768, 12, 64});
static_assert(to_heads.possible && to_heads.calls() == 8 && to_heads.batch == 12 && to_heads.bytes_again > 0);

// Outer product, matrix times vector, vector times matrix, dot.
constexpr blas_product outer = plan_of("i,j->ij", "ij", {500, 300});
static_assert(outer.possible && outer.k == 1 && outer.m == 300 && outer.n == 500 && outer.calls() == 1);
constexpr blas_product times_vector = plan_of("ij,j->i", "ij", {500, 300});
static_assert(times_vector.possible && times_vector.m == 500 && times_vector.n == 1 &&
              times_vector.transpose_a);
static_assert(plan_of("i,ij->j", "ij", {500, 300}).m == 300);
constexpr blas_product dot = plan_of("i,i->", "i", {4096});
static_assert(dot.possible && dot.m == 1 && dot.n == 1 && dot.k == 4096 && dot.is_narrow() && !dot.swapped);
static_assert(!outer.is_narrow());

// A vector with a stride is a matrix of one row; every second column of a matrix is none.
static_assert(plan_of("i,i->", "i", {64}, nk::dtype::f32, nk::dtype::f32, {3}).possible);
constexpr blas_product gaps =
    plan_of("ik,kj->ij", "ijk", {512, 512, 512}, nk::dtype::f32, nk::dtype::f32, {1024, 2});
static_assert(!gaps.possible && gaps.reason == blas_refusal::first_strides);
static_assert(plan_of("ki,jk->ij", "ijk", {512, 512, 512}, nk::dtype::f32, nk::dtype::f32, {}, {1024, 2})
                  .reason == blas_refusal::result_strides);

// What cannot be: other element types, nothing to sum; 16-bit sums over several calls. Sizes of 0 and 1.
static_assert(plan_of("ik,kj->ij", "ijk", {8, 8, 8}, nk::dtype::i32, nk::dtype::i32).reason ==
              blas_refusal::element_type);
static_assert(plan_of("ik,kj->ij", "ijk", {8, 8, 0}).reason == blas_refusal::nothing_to_sum);
static_assert(plan_of("ik,kj->ij", "ijk", {8, 0, 8}).possible &&
              plan_of("ik,kj->ij", "ijk", {8, 0, 8}).calls() == 0);
static_assert(plan_of("ik,kj->ij", "ijk", {1, 1, 1}).calls() == 1);
constexpr auto two_sums = [](nk::dtype type) {
  return plan_of("ixy,yxj->ij", "ijxy", {256, 256, 4, 256}, type, type);
};
static_assert(two_sums(nk::dtype::bf16).reason == blas_refusal::rounding);
static_assert(two_sums(nk::dtype::f32).possible && two_sums(nk::dtype::f32).calls() == 4 &&
              two_sums(nk::dtype::f32).bytes_again == 4ull * 2 * 3 * 256 * 256);
// TF32 only where it is asked for
static_assert(two_sums(nk::dtype::f32).compute == nk::on_cuda::blas_compute::f32);

using nk::on_cuda::blas_epilogue;
static_assert(can_fuse(linear, blas_epilogue::gelu_saved_bias, 3072));
static_assert(!can_fuse(linear, blas_epilogue::gelu_saved_bias, 3068));
static_assert(!can_fuse(scores, blas_epilogue::bias) && can_fuse(scores, blas_epilogue::none));

}  // namespace

TEST_CASE("operands that are read again too often are refused", "[blas_plan]") {
  // One row at a time, with the whole second matrix for each.
  const blas_product p =
      plan_of("ik,kj->ij", "ijk", {4096, 4096, 64}, nk::dtype::f32, nk::dtype::f32, {0, 1});
  CHECK(!p.possible);
  CHECK(words_of(p.reason) != "none");
}
