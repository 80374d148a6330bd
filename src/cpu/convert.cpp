// Loops that the compiler makes vectors of, once for AVX2 and once for every other processor; and the instructions
// for f16, and for rounding to bf16, where there are any.
#include "convert.hpp"

#include <type_traits>

#include "napkin/core/dtype.hpp"
#include "napkin/plan/scalar.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace napkin::on_cpu::detail {
namespace {

template <class T>
[[gnu::always_inline]] inline void widen(const T* from, std::size_t n, float* to) {
  for (std::size_t i = 0; i < n; ++i) to[i] = planning::loaded<dtype_of<T>>(from[i]);
}
template <class T>
[[gnu::always_inline]] inline void narrow(const float* from, std::size_t n, T* to) {
  for (std::size_t i = 0; i < n; ++i)
    to[i] = planning::stored<dtype_of<T>>(planning::rounded<dtype_of<T>>(from[i]));
}
/// Eight at a time, whose loop the compiler knows the length of; the last of them some once more.
template <class T>
[[gnu::always_inline]] inline void widen_lines(const T* from, std::size_t extent, std::size_t k,
                                               std::ptrdiff_t k_stride, std::size_t width, float* to) {
  constexpr std::size_t few = 4, some = 8;
  for (std::size_t p = 0; p < k; ++p, from += k_stride, to += width) {
    std::size_t i = 0;
    for (; i + some <= extent; i += some) widen(from + i, some, to + i);
    if (i == extent) continue;
    if (extent >= some)
      widen(from + extent - some, some, to + extent - some);
    else if (extent >= few)
      widen(from, few, to), widen(from + extent - few, few, to + extent - few);
    else
      for (; i < extent; ++i) widen(from + i, 1, to + i);
  }
}

template <class T>
void widen_portable(const T* from, std::size_t n, float* to) {
  widen(from, n, to);
}
template <class T>
void narrow_portable(const float* from, std::size_t n, T* to) {
  narrow(from, n, to);
}
template <class T>
void widen_lines_portable(const T* from, std::size_t extent, std::size_t k, std::ptrdiff_t k_stride,
                          std::size_t width, float* to) {
  widen_lines(from, extent, k, k_stride, width, to);
}
#if defined(__x86_64__)
#define NAPKIN_AVX2 [[gnu::target("avx2")]]
template <class T>
NAPKIN_AVX2 void widen_avx2(const T* from, std::size_t n, float* to) {
  widen(from, n, to);
}
template <class T>
NAPKIN_AVX2 void narrow_avx2(const float* from, std::size_t n, T* to) {
  narrow(from, n, to);
}
template <class T>
NAPKIN_AVX2 void widen_lines_avx2(const T* from, std::size_t extent, std::size_t k, std::ptrdiff_t k_stride,
                                  std::size_t width, float* to) {
  widen_lines(from, extent, k, k_stride, width, to);
}
#define NAPKIN_F16C [[gnu::target("avx2,f16c")]]
NAPKIN_F16C inline void widen_eight(const f16* from, float* to) {
  _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i_u*>(from))));
}
NAPKIN_F16C void widen_f16c(const f16* from, std::size_t n, float* to) {
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) widen_eight(from + i, to + i);
  widen(from + i, n - i, to + i);
}
NAPKIN_F16C void narrow_f16c(const float* from, std::size_t n, f16* to) {
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i_u*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  narrow(from + i, n - i, to + i);
}
NAPKIN_F16C void widen_lines_f16c(const f16* from, std::size_t extent, std::size_t k, std::ptrdiff_t k_stride,
                                  std::size_t width, float* to) {
  for (std::size_t p = 0; p < k; ++p, from += k_stride, to += width) {
    if (extent < 8) {
      widen(from, extent, to);
      continue;
    }
    for (std::size_t i = 0; i + 8 <= extent; i += 8) widen_eight(from + i, to + i);
    widen_eight(from + extent - 8, to + extent - 8);
  }
}
/// clang 14 knows no such name.
bool has_f16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
/// The instruction takes subnormal numbers for zeros.
[[gnu::target("avx512f,avx512dq,avx512bf16")]] void narrow_avx512(const float* from, std::size_t n,
                                                                  bf16* to) {
  constexpr std::size_t some = 16;
  constexpr int subnormal = 0x20;
  std::size_t i = 0;
  for (; i + some <= n; i += some) {
    const __m512 x = _mm512_loadu_ps(from + i);
    if (_mm512_fpclass_ps_mask(x, subnormal) != 0)
      narrow(from + i, some, to + i);
    else
      _mm256_storeu_si256(reinterpret_cast<__m256i_u*>(to + i),
                          reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)));
  }
  narrow(from + i, n - i, to + i);
}
#endif

template <class T>
conversions<T> choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) {
    conversions<T> chosen{&widen_avx2<T>, &narrow_avx2<T>, &widen_lines_avx2<T>};
    if constexpr (std::is_same_v<T, f16>)
      if (has_f16c()) return {&widen_f16c, &narrow_f16c, &widen_lines_f16c};
    if constexpr (std::is_same_v<T, bf16>)
      if (__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bf16"))
        chosen.narrow = &narrow_avx512;
    return chosen;
  }
#endif
  return {&widen_portable<T>, &narrow_portable<T>, &widen_lines_portable<T>};
}

}  // namespace

template <SmallFloat T>
const conversions<T>& best_conversions() {
  static const conversions<T> chosen = choose<T>();
  return chosen;
}

template const conversions<f16>& best_conversions();
template const conversions<bf16>& best_conversions();
template const conversions<f8e4m3>& best_conversions();
template const conversions<f8e5m2>& best_conversions();

}  // namespace napkin::on_cpu::detail
