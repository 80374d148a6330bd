// As gemm_tile.cpp, by intrinsics: an array of accumulators stays in registers by no other way. One kind of processor
// has them; elsewhere bf16 is widened to f32 (convert.hpp) and multiplied as that.
#include "gemm_pairs.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "gemm_pack.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace napkin::on_cpu::detail {

#if defined(__x86_64__)
#define NAPKIN_PAIRS [[gnu::target("avx512f,avx512bw,avx512bf16")]]

namespace {

NAPKIN_PAIRS inline __m512 add_pairs(__m512 sum, __m512i a, __m512i b) {
  return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
}
template <class Word>
[[gnu::always_inline]] inline std::int32_t word_at(const bf16* from) {
  Word word;
  std::memcpy(&word, static_cast<const void*>(from), sizeof word);
  return static_cast<std::int32_t>(word);
}

template <std::size_t Rows, std::size_t Vectors, bool EndsAlone>
NAPKIN_PAIRS void tile_of_pairs(const pair_call& x) {
  constexpr std::size_t width = 16, b_pair = 2 * pair_kernels::most_columns;
  __m512 sum[Rows][Vectors];
#pragma GCC unroll 12
  for (std::size_t i = 0; i < Rows; ++i)
#pragma GCC unroll 2
    for (std::size_t v = 0; v < Vectors; ++v) sum[i][v] = _mm512_setzero_ps();
  // Three rows to a pointer, so that all of them are addresses of one instruction each.
  const bf16* a[(Rows + 2) / 3];
  for (std::size_t i = 0; i < Rows; i += 3) a[i / 3] = x.a + static_cast<std::ptrdiff_t>(i) * x.a_row;
  const bf16* b = x.b;
  const std::ptrdiff_t a_row = x.a_row, a_pair = x.a_pair;
#pragma GCC unroll 2
  for (std::size_t q = x.pairs - EndsAlone; q != 0; --q, b += b_pair) {
    __m512i row[Vectors];
#pragma GCC unroll 2
    for (std::size_t v = 0; v < Vectors; ++v) row[v] = _mm512_loadu_si512(b + 2 * width * v);
#pragma GCC unroll 12
    for (std::size_t i = 0; i < Rows; ++i) {
      const __m512i pair =
          _mm512_set1_epi32(word_at<std::uint32_t>(a[i / 3] + static_cast<std::ptrdiff_t>(i % 3) * a_row));
#pragma GCC unroll 2
      for (std::size_t v = 0; v < Vectors; ++v) sum[i][v] = add_pairs(sum[i][v], pair, row[v]);
    }
#pragma GCC unroll 4
    for (const bf16*& row_of_a : a) row_of_a += a_pair;
  }
  if constexpr (EndsAlone)
#pragma GCC unroll 12
    for (std::size_t i = 0; i < Rows; ++i) {
      const __m512i pair =
          _mm512_set1_epi32(word_at<std::uint16_t>(a[i / 3] + static_cast<std::ptrdiff_t>(i % 3) * a_row));
#pragma GCC unroll 2
      for (std::size_t v = 0; v < Vectors; ++v)
        sum[i][v] = add_pairs(sum[i][v], pair, _mm512_loadu_si512(b + 2 * width * v));
    }
  const auto last = static_cast<__mmask16>(0xffffu >> (16 - (x.columns - (Vectors - 1) * width)));
  float* c = x.c;
#pragma GCC unroll 12
  for (std::size_t i = 0; i < Rows; ++i, c += x.c_row)
#pragma GCC unroll 2
    for (std::size_t v = 0; v < Vectors; ++v) {
      const __mmask16 mask = v + 1 < Vectors ? static_cast<__mmask16>(0xffff) : last;
      float* const to = c + v * width;
      _mm512_mask_storeu_ps(to, mask,
                            x.add ? _mm512_add_ps(_mm512_maskz_loadu_ps(mask, to), sum[i][v]) : sum[i][v]);
    }
}

NAPKIN_PAIRS void pack_lines_of_pairs(const bf16* from, std::size_t extent, std::size_t k,
                                      std::ptrdiff_t k_stride, std::size_t width, bf16* to) {
  alignas(64) static constexpr auto order = [] {  // of the elements of two rows, one behind the other
    std::array<std::uint16_t, 64> at{};
    for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<std::uint16_t>(i / 2 + i % 2 * 32);
    return at;
  }();
  const __m512i low = _mm512_load_si512(order.data()), high = _mm512_load_si512(order.data() + 32);
  const auto mask = static_cast<__mmask32>(~std::uint32_t{0} >> (32 - extent));
  for (std::size_t p = 0; p < k; p += 2, from += 2 * k_stride, to += 2 * width) {
    const __m512i first = _mm512_maskz_loadu_epi16(mask, from);
    const __m512i second =
        p + 1 < k ? _mm512_maskz_loadu_epi16(mask, from + k_stride) : _mm512_setzero_si512();
    _mm512_storeu_si512(to, _mm512_permutex2var_epi16(first, low, second));
    if (width > 16) _mm512_storeu_si512(to + 32, _mm512_permutex2var_epi16(first, high, second));
  }
}

NAPKIN_PAIRS void pack_rows_of_pairs(const bf16* from, std::size_t extent, std::ptrdiff_t stride,
                                     std::size_t k, std::size_t width, bf16* to) {
  const auto bytes = stride * static_cast<std::ptrdiff_t>(sizeof(bf16));
  pack_bytes<std::uint32_t>(reinterpret_cast<const std::byte*>(from), extent, bytes, k / 2, width,
                            reinterpret_cast<std::byte*>(to));
  if (k % 2 == 0) return;
  for (std::size_t i = 0; i < extent; ++i) {
    bf16* const last = to + (k - 1) * width + 2 * i;
    last[0] = from[static_cast<std::ptrdiff_t>(i) * stride + static_cast<std::ptrdiff_t>(k - 1)];
    last[1] = {};
  }
}

pair_kernels list_pair_kernels() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return pair_kernels{{{{&tile_of_pairs<I + 1, 1, false>...}, {&tile_of_pairs<I + 1, 2, false>...}},
                         {{&tile_of_pairs<I + 1, 1, true>...}, {&tile_of_pairs<I + 1, 2, true>...}}},
                        &pack_lines_of_pairs,
                        &pack_rows_of_pairs};
  }
  (std::make_index_sequence<pair_kernels::most_rows>{});
}

}  // namespace

const pair_kernels* find_pair_kernels() {
  static const pair_kernels kernels = list_pair_kernels();
  static const bool has = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512bf16");
  return has ? &kernels : nullptr;
}

#else

const pair_kernels* find_pair_kernels() { return nullptr; }

#endif

}  // namespace napkin::on_cpu::detail
