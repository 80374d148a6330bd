// Tiles by AVX-512, by AVX2 with FMA, and for every other processor or type. Intrinsics, because neither g++
// nor clang keeps an array of accumulators in registers reliably (measured: 2 to 100 GFLOP/s from the same
// loop, by compiler and -O level).
#include "gemm_tile.hpp"

#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace napkin::on_cpu::detail {
namespace {

template <class T, std::size_t Rows, std::size_t Columns>
void tile_portable(std::size_t k, const T* a, const T* b, T* tile, std::size_t stride) {
  T sum[Rows][Columns];
  for (std::size_t i = 0; i < Rows; ++i)
    for (std::size_t j = 0; j < Columns; ++j) sum[i][j] = tile[i * stride + j];
  for (std::size_t p = 0; p < k; ++p, a += Rows, b += Columns)
    for (std::size_t i = 0; i < Rows; ++i)
      for (std::size_t j = 0; j < Columns; ++j) sum[i][j] += a[i] * b[j];
  for (std::size_t i = 0; i < Rows; ++i)
    for (std::size_t j = 0; j < Columns; ++j) tile[i * stride + j] = sum[i][j];
}

#if defined(__x86_64__)
#define NAPKIN_AVX512 [[gnu::target("avx512f")]]
#define NAPKIN_AVX2 [[gnu::target("avx2,fma")]]

NAPKIN_AVX512 inline __m512 load512(const float* p) { return _mm512_load_ps(p); }
NAPKIN_AVX512 inline __m512d load512(const double* p) { return _mm512_load_pd(p); }
NAPKIN_AVX512 inline void store512(float* p, __m512 v) { _mm512_store_ps(p, v); }
NAPKIN_AVX512 inline void store512(double* p, __m512d v) { _mm512_store_pd(p, v); }
NAPKIN_AVX512 inline __m512 fma512(float a, __m512 b, __m512 c) {
  return _mm512_fmadd_ps(_mm512_set1_ps(a), b, c);
}
NAPKIN_AVX512 inline __m512d fma512(double a, __m512d b, __m512d c) {
  return _mm512_fmadd_pd(_mm512_set1_pd(a), b, c);
}

template <class T>
NAPKIN_AVX512 void tile_avx512(std::size_t k, const T* a, const T* b, T* tile, std::size_t stride) {
  constexpr std::size_t rows = 12, width = 64 / sizeof(T);
  decltype(load512(b)) low[rows], high[rows];
#pragma GCC unroll 12
  for (std::size_t i = 0; i < rows; ++i) {
    low[i] = load512(tile + i * stride);
    high[i] = load512(tile + i * stride + width);
  }
  for (std::size_t p = 0; p < k; ++p, a += rows, b += 2 * width) {
    const auto b_low = load512(b), b_high = load512(b + width);
#pragma GCC unroll 12
    for (std::size_t i = 0; i < rows; ++i) {
      low[i] = fma512(a[i], b_low, low[i]);
      high[i] = fma512(a[i], b_high, high[i]);
    }
  }
#pragma GCC unroll 12
  for (std::size_t i = 0; i < rows; ++i) {
    store512(tile + i * stride, low[i]);
    store512(tile + i * stride + width, high[i]);
  }
}

NAPKIN_AVX2 inline __m256 load256(const float* p) { return _mm256_load_ps(p); }
NAPKIN_AVX2 inline __m256d load256(const double* p) { return _mm256_load_pd(p); }
NAPKIN_AVX2 inline void store256(float* p, __m256 v) { _mm256_store_ps(p, v); }
NAPKIN_AVX2 inline void store256(double* p, __m256d v) { _mm256_store_pd(p, v); }
NAPKIN_AVX2 inline __m256 fma256(float a, __m256 b, __m256 c) {
  return _mm256_fmadd_ps(_mm256_set1_ps(a), b, c);
}
NAPKIN_AVX2 inline __m256d fma256(double a, __m256d b, __m256d c) {
  return _mm256_fmadd_pd(_mm256_set1_pd(a), b, c);
}

template <class T>
NAPKIN_AVX2 void tile_avx2(std::size_t k, const T* a, const T* b, T* tile, std::size_t stride) {
  constexpr std::size_t rows = 6, width = 32 / sizeof(T);
  decltype(load256(b)) low[rows], high[rows];
#pragma GCC unroll 6
  for (std::size_t i = 0; i < rows; ++i) {
    low[i] = load256(tile + i * stride);
    high[i] = load256(tile + i * stride + width);
  }
  for (std::size_t p = 0; p < k; ++p, a += rows, b += 2 * width) {
    const auto b_low = load256(b), b_high = load256(b + width);
#pragma GCC unroll 6
    for (std::size_t i = 0; i < rows; ++i) {
      low[i] = fma256(a[i], b_low, low[i]);
      high[i] = fma256(a[i], b_high, high[i]);
    }
  }
#pragma GCC unroll 6
  for (std::size_t i = 0; i < rows; ++i) {
    store256(tile + i * stride, low[i]);
    store256(tile + i * stride + width, high[i]);
  }
}
#endif

template <class T>
tile_kernel<T> choose() {
#if defined(__x86_64__)
  if constexpr (static_cast<T>(0.5) != 0) {
    if (__builtin_cpu_supports("avx512f")) return {12, 128 / sizeof(T), tile_avx512<T>};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
      return {6, 64 / sizeof(T), tile_avx2<T>};
  }
#endif
  return {4, 8, tile_portable<T, 4, 8>};
}

}  // namespace

template <class T>
const tile_kernel<T>& best_tile_kernel() {
  static const tile_kernel<T> chosen = choose<T>();
  return chosen;
}

template const tile_kernel<float>& best_tile_kernel();
template const tile_kernel<double>& best_tile_kernel();
template const tile_kernel<std::uint64_t>& best_tile_kernel();

}  // namespace napkin::on_cpu::detail
