// Tiles by AVX-512, by AVX2 with FMA, and for every other processor or type. Intrinsics, because neither g++
// nor clang keeps an array of accumulators in registers reliably (measured: 2 to 100 GFLOP/s from the same
// loop, by compiler and -O level).
#include "gemm_tile.hpp"

#include <cstdint>
#include <type_traits>
#include <utility>

#include "gemm_pack.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace napkin::on_cpu::detail {
namespace {

/// The element of A in row i of the tile: three rows to a pointer, so that all of them are addresses of one
/// instruction each and fit the general registers.
template <class T, std::size_t Rows, bool ByRow>
struct rows_of_a {
  static constexpr std::size_t pointers = ByRow ? (Rows + 2) / 3 : 1;
  const T* at[pointers];
  std::ptrdiff_t row, k;

  [[gnu::always_inline]] explicit rows_of_a(const tile_call<T>& x) : row(x.a_row), k(x.a_k) {
    for (std::size_t i = 0; i < pointers; ++i) at[i] = x.a + static_cast<std::ptrdiff_t>(3 * i) * row;
  }
  [[gnu::always_inline]] const T* operator[](std::size_t i) const {
    return ByRow ? at[i / 3] + static_cast<std::ptrdiff_t>(i % 3) * row : at[0] + i;
  }
  [[gnu::always_inline]] void next() {
    for (std::size_t i = 0; i < pointers; ++i) at[i] += ByRow ? 1 : k;
  }
};

template <class T, std::size_t Rows, std::size_t Vectors, bool ByRow>
void tile_portable(const tile_call<T>& x) {
  constexpr std::size_t width = 4;
  T sum[Rows][Vectors * width] = {};
  rows_of_a<T, Rows, ByRow> a(x);
  const T* b = x.b;
  for (std::size_t p = 0; p < x.k; ++p, a.next(), b += x.b_row) {
    if (x.columns == Vectors * width) {
      for (std::size_t i = 0; i < Rows; ++i)
        for (std::size_t j = 0; j < Vectors * width; ++j) sum[i][j] += *a[i] * b[j];
    } else {
      for (std::size_t i = 0; i < Rows; ++i)
        for (std::size_t j = 0; j < x.columns; ++j) sum[i][j] += *a[i] * b[j];
    }
  }
  for (std::size_t i = 0; i < Rows; ++i) {
    T* c = x.c + static_cast<std::ptrdiff_t>(i) * x.c_row;
    for (std::size_t j = 0; j < x.columns; ++j) c[j] = x.add ? c[j] + sum[i][j] : sum[i][j];
  }
}

template <class T>
void pack_adjacent_portable(const T* from, std::size_t extent, std::size_t k, std::ptrdiff_t k_stride,
                            std::size_t width, T* to) {
  pack_adjacent(from, extent, k, k_stride, width, to);
}
template <class T>
void pack_lines_portable(const T* from, std::size_t extent, std::ptrdiff_t stride, std::size_t k,
                         std::size_t width, T* to) {
  pack_lines(from, extent, stride, k, width, to);
}

#if defined(__x86_64__)
#define NAPKIN_AVX512 [[gnu::target("avx512f")]]
#define NAPKIN_AVX512_INLINE __attribute__((always_inline, target("avx512f")))  // of a lambda
#define NAPKIN_AVX2 [[gnu::target("avx2,fma")]]
#define NAPKIN_AVX2_INLINE __attribute__((always_inline, target("avx2,fma")))

NAPKIN_AVX512 inline __m512 zero512(const float*) { return _mm512_setzero_ps(); }
NAPKIN_AVX512 inline __m512d zero512(const double*) { return _mm512_setzero_pd(); }
NAPKIN_AVX512 inline __m512 load512(__mmask16 m, const float* p) { return _mm512_maskz_loadu_ps(m, p); }
NAPKIN_AVX512 inline __m512d load512(__mmask16 m, const double* p) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>(m), p);
}
NAPKIN_AVX512 inline void store512(float* p, __mmask16 m, __m512 v) { _mm512_mask_storeu_ps(p, m, v); }
NAPKIN_AVX512 inline void store512(double* p, __mmask16 m, __m512d v) {
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>(m), v);
}
NAPKIN_AVX512 inline __m512 add512(__m512 x, __m512 y) { return _mm512_add_ps(x, y); }
NAPKIN_AVX512 inline __m512d add512(__m512d x, __m512d y) { return _mm512_add_pd(x, y); }
NAPKIN_AVX512 inline __m512 fma512(float a, __m512 b, __m512 c) {
  return _mm512_fmadd_ps(_mm512_set1_ps(a), b, c);
}
NAPKIN_AVX512 inline __m512d fma512(double a, __m512d b, __m512d c) {
  return _mm512_fmadd_pd(_mm512_set1_pd(a), b, c);
}

template <class T, std::size_t Rows, std::size_t Vectors, bool ByRow>
NAPKIN_AVX512 void tile_avx512(const tile_call<T>& x) {
  constexpr std::size_t width = 64 / sizeof(T);
  const auto all = static_cast<__mmask16>(0xffff);
  const auto last = static_cast<__mmask16>(0xffffu >> (16 - (x.columns - (Vectors - 1) * width)));
  decltype(zero512(x.a)) sum[Rows][Vectors];
#pragma GCC unroll 12
  for (std::size_t i = 0; i < Rows; ++i)
#pragma GCC unroll 2
    for (std::size_t v = 0; v < Vectors; ++v) sum[i][v] = zero512(x.a);
  const auto sum_up = [&]<bool Whole>(std::bool_constant<Whole>) NAPKIN_AVX512_INLINE {
    rows_of_a<T, Rows, ByRow> a(x);
    const T* b = x.b;
    const std::ptrdiff_t b_row = x.b_row;
#pragma GCC unroll 4
    for (std::size_t p = x.k; p != 0; --p, a.next(), b += b_row) {
      decltype(zero512(x.a)) row[Vectors];
#pragma GCC unroll 2
      for (std::size_t v = 0; v < Vectors; ++v) {
        if constexpr (!ByRow) __builtin_prefetch(b + 16 * b_row + v * width);  // slows the other down
        row[v] = load512(Whole || v + 1 < Vectors ? all : last, b + v * width);
      }
#pragma GCC unroll 12
      for (std::size_t i = 0; i < Rows; ++i)
#pragma GCC unroll 2
        for (std::size_t v = 0; v < Vectors; ++v) sum[i][v] = fma512(*a[i], row[v], sum[i][v]);
    }
  };
  // Apart, since g++ moves a mask into its register for every row, on a port that multiplies.
  if (last == all)
    sum_up(std::true_type{});
  else
    sum_up(std::false_type{});
  T* c = x.c;
  const std::ptrdiff_t c_row = x.c_row;
  const bool add = x.add;
#pragma GCC unroll 12
  for (std::size_t i = 0; i < Rows; ++i, c += c_row)
#pragma GCC unroll 2
    for (std::size_t v = 0; v < Vectors; ++v) {
      const __mmask16 mask = v + 1 < Vectors ? all : last;
      store512(c + v * width, mask, add ? add512(load512(mask, c + v * width), sum[i][v]) : sum[i][v]);
    }
}

NAPKIN_AVX2 inline __m256 zero256(const float*) { return _mm256_setzero_ps(); }
NAPKIN_AVX2 inline __m256d zero256(const double*) { return _mm256_setzero_pd(); }
NAPKIN_AVX2 inline __m256i mask256(const float*, std::size_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)),
                            _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
NAPKIN_AVX2 inline __m256i mask256(const double*, std::size_t n) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(static_cast<long long>(n)), _mm256_setr_epi64x(0, 1, 2, 3));
}
NAPKIN_AVX2 inline __m256 load256(const float* p) { return _mm256_loadu_ps(p); }
NAPKIN_AVX2 inline __m256d load256(const double* p) { return _mm256_loadu_pd(p); }
NAPKIN_AVX2 inline __m256 load256(__m256i m, const float* p) { return _mm256_maskload_ps(p, m); }
NAPKIN_AVX2 inline __m256d load256(__m256i m, const double* p) { return _mm256_maskload_pd(p, m); }
NAPKIN_AVX2 inline void store256(float* p, __m256 v) { _mm256_storeu_ps(p, v); }
NAPKIN_AVX2 inline void store256(double* p, __m256d v) { _mm256_storeu_pd(p, v); }
NAPKIN_AVX2 inline void store256(float* p, __m256i m, __m256 v) { _mm256_maskstore_ps(p, m, v); }
NAPKIN_AVX2 inline void store256(double* p, __m256i m, __m256d v) { _mm256_maskstore_pd(p, m, v); }
NAPKIN_AVX2 inline __m256 add256(__m256 x, __m256 y) { return _mm256_add_ps(x, y); }
NAPKIN_AVX2 inline __m256d add256(__m256d x, __m256d y) { return _mm256_add_pd(x, y); }
NAPKIN_AVX2 inline __m256 fma256(float a, __m256 b, __m256 c) {
  return _mm256_fmadd_ps(_mm256_set1_ps(a), b, c);
}
NAPKIN_AVX2 inline __m256d fma256(double a, __m256d b, __m256d c) {
  return _mm256_fmadd_pd(_mm256_set1_pd(a), b, c);
}

template <class T, std::size_t Rows, std::size_t Vectors, bool ByRow>
NAPKIN_AVX2 void tile_avx2(const tile_call<T>& x) {
  constexpr std::size_t width = 32 / sizeof(T);
  // Apart where all columns are there: some processors take as long to store by a mask as for dozens of other
  // instructions.
  const auto multiply = [&]<bool Whole>(std::bool_constant<Whole>) NAPKIN_AVX2_INLINE {
    const __m256i last = mask256(x.a, x.columns - (Vectors - 1) * width);
    decltype(zero256(x.a)) sum[Rows][Vectors];
#pragma GCC unroll 6
    for (std::size_t i = 0; i < Rows; ++i)
#pragma GCC unroll 2
      for (std::size_t v = 0; v < Vectors; ++v) sum[i][v] = zero256(x.a);
    rows_of_a<T, Rows, ByRow> a(x);
    const T* b = x.b;
    const std::ptrdiff_t b_row = x.b_row;
#pragma GCC unroll 4
    for (std::size_t p = x.k; p != 0; --p, a.next(), b += b_row) {
      decltype(zero256(x.a)) row[Vectors];
#pragma GCC unroll 2
      for (std::size_t v = 0; v < Vectors; ++v)
        row[v] = Whole || v + 1 < Vectors ? load256(b + v * width) : load256(last, b + v * width);
#pragma GCC unroll 6
      for (std::size_t i = 0; i < Rows; ++i)
#pragma GCC unroll 2
        for (std::size_t v = 0; v < Vectors; ++v) sum[i][v] = fma256(*a[i], row[v], sum[i][v]);
    }
    T* c = x.c;
    const std::ptrdiff_t c_row = x.c_row;
    const bool add = x.add;
#pragma GCC unroll 6
    for (std::size_t i = 0; i < Rows; ++i, c += c_row)
#pragma GCC unroll 2
      for (std::size_t v = 0; v < Vectors; ++v) {
        T* const to = c + v * width;
        if (Whole || v + 1 < Vectors)
          store256(to, add ? add256(load256(to), sum[i][v]) : sum[i][v]);
        else
          store256(to, last, add ? add256(load256(last, to), sum[i][v]) : sum[i][v]);
      }
  };
  if (x.columns == Vectors * width)
    multiply(std::true_type{});
  else
    multiply(std::false_type{});
}
template <class T>
NAPKIN_AVX2 void pack_adjacent_avx512(const T* from, std::size_t extent, std::size_t k,
                                      std::ptrdiff_t k_stride, std::size_t width, T* to) {
  pack_adjacent(from, extent, k, k_stride, width, to);
}
template <class T>
NAPKIN_AVX2 void pack_lines_avx512(const T* from, std::size_t extent, std::ptrdiff_t stride, std::size_t k,
                                   std::size_t width, T* to) {
  pack_lines(from, extent, stride, k, width, to);
}
template <class T>
NAPKIN_AVX2 void pack_adjacent_avx2(const T* from, std::size_t extent, std::size_t k, std::ptrdiff_t k_stride,
                                    std::size_t width, T* to) {
  pack_adjacent(from, extent, k, k_stride, width, to);
}
template <class T>
NAPKIN_AVX2 void pack_lines_avx2(const T* from, std::size_t extent, std::ptrdiff_t stride, std::size_t k,
                                 std::size_t width, T* to) {
  pack_lines(from, extent, stride, k, width, to);
}
#endif

// Rows beyond the largest tile have no kernel.
#define NAPKIN_KERNELS(kind, rows, bytes)                                                                   \
  []<std::size_t... I>(std::index_sequence<I...>) {                                                         \
    return tile_kernels<T>{rows,                                                                            \
                           bytes / sizeof(T),                                                               \
                           &pack_adjacent_##kind<T>,                                                        \
                           &pack_lines_##kind<T>,                                                           \
                           {{{&tile_##kind<T, I + 1, 1, false>...}, {&tile_##kind<T, I + 1, 2, false>...}}, \
                            {{&tile_##kind<T, I + 1, 1, true>...}, {&tile_##kind<T, I + 1, 2, true>...}}}}; \
  }                                                                                                         \
  (std::make_index_sequence<rows>{})

template <class T>
tile_kernels<T> choose() {
#if defined(__x86_64__)
  if constexpr (static_cast<T>(0.5) != 0) {
    if (__builtin_cpu_supports("avx512f")) return NAPKIN_KERNELS(avx512, 12, 64);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return NAPKIN_KERNELS(avx2, 6, 32);
  }
#endif
  return NAPKIN_KERNELS(portable, 4, 4 * sizeof(T));
}

}  // namespace

template <class T>
const tile_kernels<T>& best_tile_kernels() {
  static const tile_kernels<T> chosen = choose<T>();
  return chosen;
}

template const tile_kernels<float>& best_tile_kernels();
template const tile_kernels<double>& best_tile_kernels();
template const tile_kernels<std::uint64_t>& best_tile_kernels();

}  // namespace napkin::on_cpu::detail
