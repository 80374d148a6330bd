// Products for cuda/small_product.hpp's kernel, beside doubles: each order of the operands, with all that an epilogue
// may ask, at the edges of tiles, and NaNs wherever nothing should be read or written.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "napkin/cuda/small_product.hpp"
#include "support/compare.hpp"

namespace napkin::testing::small_products {

using on_cuda::blas_matrix;
using on_cuda::blas_product;
using on_cuda::product;
using on_cuda::small_product;
using passes::activation;

struct sizes {
  std::uint64_t m, n, k, batch = 1;
};

/// A column-major matrix, or its transpose, whose columns lie `pad` apart.
constexpr blas_matrix matrix(dtype type, std::uint64_t rows, std::uint64_t columns, std::uint64_t pad,
                             std::uint64_t batch) {
  blas_matrix x{type, rows, columns, static_cast<std::int64_t>(rows + pad), 0};
  if (batch > 1) x.batch_stride = x.ld * static_cast<std::int64_t>(columns) + 16;
  return x;
}
constexpr product product_of(dtype type, dtype result, sizes s, bool transpose_a, bool transpose_b,
                             std::uint64_t pad = 0) {
  product p;
  p.type = type;
  blas_product& x = p.gemm;
  x.possible = true;
  x.m = s.m, x.n = s.n, x.k = s.k, x.batch = s.batch;
  x.transpose_a = transpose_a, x.transpose_b = transpose_b;
  x.a = transpose_a ? matrix(type, s.k, s.m, pad, s.batch) : matrix(type, s.m, s.k, pad, s.batch);
  x.b = transpose_b ? matrix(type, s.n, s.k, pad, s.batch) : matrix(type, s.k, s.n, pad, s.batch);
  x.c = matrix(result, s.m, s.n, pad, s.batch);
  p.follows.type = result;
  return p;
}

double wide(auto x) { return static_cast<double>(static_cast<float>(x)); }

/// Numbers at a multiple of 16 bytes and no more, NaNs before and behind: so that what is read there is seen.
template <class T>
class numbers {
 public:
  explicit numbers(std::size_t count) : size_(count + 32), all_(size_ + 32) {
    const auto at = reinterpret_cast<std::uintptr_t>(all_.data());
    base_ = (32 - at % 32) % 32 / sizeof(T);
    for (T& x : all_) x = T(std::numeric_limits<float>::quiet_NaN());
  }
  /// The same numbers at the same distance from a multiple of 32.
  numbers(const numbers& x) : numbers(x.size_ - 32) { std::copy_n(x.begin(), size_, begin()); }
  numbers& operator=(const numbers&) = delete;

  T* data() { return begin() + 16 / sizeof(T); }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(data()); }
  /// All of them, from a multiple of 32 bytes on.
  T* begin() { return all_.data() + base_; }
  const T* begin() const { return all_.data() + base_; }
  T* end() { return begin() + size_; }
  std::span<std::byte> memory() { return std::as_writable_bytes(std::span(begin(), size_)); }

 private:
  std::size_t size_, base_ = 0;
  std::vector<T> all_;
};

/// A matrix with its numbers; what lies between its columns is NaN.
template <class T>
struct filled {
  blas_matrix how;
  numbers<T> at;

  filled(const blas_matrix& x, std::uint64_t batch, std::mt19937* random)
      : how(x), at(static_cast<std::size_t>(x.ld) * x.columns * batch + 16 * batch) {
    if (random == nullptr) return;
    for_each(batch, [&](T& e, std::uint64_t, std::uint64_t, std::uint64_t) {
      e = T(static_cast<float>(static_cast<int>((*random)() % 17) - 8) / 4);
    });
  }
  T& of(std::uint64_t i, std::uint64_t j, std::uint64_t t) {
    return at.data()[static_cast<std::int64_t>(i) + static_cast<std::int64_t>(j) * how.ld +
                     static_cast<std::int64_t>(t) * how.batch_stride];
  }
  void for_each(std::uint64_t batch, auto f) {
    for (std::uint64_t t = 0; t < batch; ++t)
      for (std::uint64_t j = 0; j < how.columns; ++j)
        for (std::uint64_t i = 0; i < how.rows; ++i) f(of(i, j, t), i, j, t);
  }
};

struct follows {
  activation then = activation::none;
  bool vector = false, added = false, in_place = false;
  double scale = 1;
};

/// The largest error, relative to 1 or to what is larger; infinity where anything else was written.
/// run(product, all memory that it points into, each at a multiple of 32 bytes) computes it.
template <class T, class R, class Run>
double error_of(sizes s, bool transpose_a, bool transpose_b, std::uint64_t pad, follows by,
                std::mt19937& random, Run run) {
  product p = product_of(dtype_of<T>, dtype_of<R>, s, transpose_a, transpose_b, pad);
  p.follows.then = by.then;
  p.follows.scale = by.scale;
  p.follows.adds = by.added;
  p.follows.keeps = by.then == activation::gelu;
  p.follows.vector_size = by.vector ? s.m : 0;
  filled<T> a(p.gemm.a, s.batch, &random), b(p.gemm.b, s.batch, &random);
  filled<R> c(p.gemm.c, s.batch, by.in_place ? &random : nullptr), added(p.gemm.c, s.batch, &random),
      auxiliary(p.gemm.c, s.batch, by.then == activation::gelu_gradient ? &random : nullptr);
  numbers<R> vector(s.m);
  for (std::uint64_t i = 0; i < s.m; ++i) vector.data()[i] = R(static_cast<float>(i % 5) / 2);

  std::vector<double> left, right;  // rows of a, columns of b
  for (std::uint64_t t = 0; t < s.batch; ++t) {
    for (std::uint64_t i = 0; i < s.m; ++i)
      for (std::uint64_t k = 0; k < s.k; ++k)
        left.push_back(wide(transpose_a ? a.of(k, i, t) : a.of(i, k, t)));
    for (std::uint64_t j = 0; j < s.n; ++j)
      for (std::uint64_t k = 0; k < s.k; ++k)
        right.push_back(wide(transpose_b ? b.of(j, k, t) : b.of(k, j, t)));
  }
  filled<R> wanted = c, wanted_auxiliary = auxiliary;
  wanted.for_each(s.batch, [&](R& to, std::uint64_t i, std::uint64_t j, std::uint64_t t) {
    const double *const row = left.data() + (t * s.m + i) * s.k, *const column =
                                                                     right.data() + (t * s.n + j) * s.k;
    double sum = 0;
    for (std::uint64_t k = 0; k < s.k; ++k) sum += row[k] * column[k];
    sum *= by.scale;
    if (by.added) sum += wide(by.in_place ? c.of(i, j, t) : added.of(i, j, t));
    if (by.vector) sum += wide(vector.data()[i]);
    if (by.then == activation::gelu) {
      wanted_auxiliary.of(i, j, t) = R(static_cast<float>(sum));
      sum = passes::gelu_at(sum).value;
    } else if (by.then == activation::gelu_gradient) {
      sum *= passes::gelu_at(wide(auxiliary.of(i, j, t))).slope;
    }
    to = R(static_cast<float>(sum));
  });

  small_product made = small_product_of(p, 16);
  REQUIRE(made.m == s.m);
  made.a = a.at.bytes(), made.b = b.at.bytes();
  if (by.added) made.added = by.in_place ? c.at.bytes() : added.at.bytes();
  made.then.result = c.at.bytes(), made.then.auxiliary = auxiliary.at.bytes();
  made.then.vector = vector.bytes();
  const std::span<std::byte> memories[] = {a.at.memory(),     b.at.memory(),         c.at.memory(),
                                           added.at.memory(), auxiliary.at.memory(), vector.memory()};
  run(made, std::span(memories));

  double worst = 0;
  const auto compare = [&](filled<R>& given, filled<R>& should) {
    const R* expected = should.at.begin();
    for (const R& e : given.at) {
      const double x = wide(e), y = wide(*expected++);
      if (!(std::isnan(x) && std::isnan(y)))
        worst = worst_of(worst, std::fabs(x - y) / std::fmax(1, std::fabs(y)));
    }
  };
  compare(c, wanted), compare(auxiliary, wanted_auxiliary);
  return worst;
}

/// Sums of these numbers are exact in f32; GELU is not, and may round to the next number.
template <class R>
double near(activation then) {
  if (then == activation::none) return 0;
  return sizeof(R) == 4 ? 5e-6 : dtype_of<R> == dtype::bf16 ? 1.0 / 128 : 1.0 / 1024;
}

template <class T, class R, class Run>
void check_all(Run run) {
  std::mt19937 random(7);
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true}) {
      // n is any where terms are adjacent in B; k where they are in neither; the last are adjacent in nothing
      const std::uint64_t n = transpose_b ? 20 : 19, k = transpose_a || !transpose_b ? 72 : 77;
      const std::pair<sizes, bool> all[] = {
          {{64, 16, 32}, true},   {{72, n, k}, true},         {{8, transpose_b ? 4u : 1u, 8}, true},
          {{136, 36, 320}, true}, {{24, n, 8 * 33, 3}, true}, {{transpose_a ? 65u : 72u, 20, 80}, true},
          {{65, 21, 77}, false},  {{3, 33, 5, 2}, false},     {{130, 5, 129}, false},
          {{68, 21, 77}, false}};
      for (const auto& [s, is_adjacent] : all)
        for (const std::uint64_t pad : {0u, is_adjacent ? 8u : 3u}) {
          CAPTURE(name_of(dtype_of<T>), name_of(dtype_of<R>), transpose_a, transpose_b, s.m, s.n, s.k,
                  s.batch, pad);
          const product of = product_of(dtype_of<T>, dtype_of<R>, s, transpose_a, transpose_b, pad);
          CHECK(small_product_of(of, 16).fetches_at_once == is_adjacent);
          CHECK(small_product_of(of, 2).fetches_at_once == false);
          const auto check = [&](follows by) {
            CHECK(error_of<T, R>(s, transpose_a, transpose_b, pad, by, random, run) <= near<R>(by.then));
          };
          check({});
          check({.added = true, .scale = -0.5});
          check({.then = activation::gelu, .vector = true});
          if (s.m > 132) continue;
          check({.vector = true, .added = true});
          check({.added = true, .in_place = true});
          check({.then = activation::gelu, .vector = true, .added = true, .in_place = true});
          check({.then = activation::gelu_gradient});
        }
    }
}

}  // namespace napkin::testing::small_products
