// A square of 32 by 32 sums in four of the eight tiles, two of A's and two of B's in the others.
// Source  Intel 64 and IA-32 Architectures Software Developer's Manual, "TDPBF16PS".
#include "gemm_amx.hpp"

#include <cstdint>

#if defined(__x86_64__) && defined(__linux__)
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"  // g++ 12: of what its own intrinsics leave undefined
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace napkin::on_cpu::detail {

#if defined(__x86_64__) && defined(__linux__)
// Of lambdas it stands behind the parameters, where [[gnu::target]] would be the type's.
#define NAPKIN_AMX __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl,avx512bf16")))

namespace {

constexpr std::size_t lines = amx_kernels::lines, chunk = amx_kernels::chunk, tile = amx_kernels::tile;

/// All eight tiles whole. A constant: g++ 12 takes the instruction to read eight bytes of it, and would leave
/// out what is written to the others.
struct alignas(64) tile_shapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14]{};
  std::uint16_t bytes_of_row[16]{64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16]{lines, lines, lines, lines, lines, lines, lines, lines};
};
constexpr tile_shapes shapes;

NAPKIN_AMX void configure() { _tile_loadconfig(&shapes); }
NAPKIN_AMX void release() { _tile_release(); }

template <int RowTiles, int ColumnTiles>
NAPKIN_AMX void multiply(const amx_call& x) {
  const std::ptrdiff_t c_bytes = x.c_row * static_cast<std::ptrdiff_t>(sizeof(float));
  float* const second = x.c + static_cast<std::ptrdiff_t>(lines) * x.c_row;
  if (x.add) {
    _tile_loadd(0, x.c, c_bytes);
    if constexpr (ColumnTiles == 2) _tile_loadd(1, x.c + lines, c_bytes);
    if constexpr (RowTiles == 2) _tile_loadd(2, second, c_bytes);
    if constexpr (RowTiles == 2 && ColumnTiles == 2) _tile_loadd(3, second + lines, c_bytes);
  } else {
    _tile_zero(0);
    if constexpr (ColumnTiles == 2) _tile_zero(1);
    if constexpr (RowTiles == 2) _tile_zero(2);
    if constexpr (RowTiles == 2 && ColumnTiles == 2) _tile_zero(3);
  }
  const bf16* b = x.b;
  const auto add_chunk = [&](const bf16* a, std::ptrdiff_t a_tile, std::ptrdiff_t a_bytes) NAPKIN_AMX {
    _tile_loadd(4, a, a_bytes);
    _tile_loadd(6, b, 64);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (ColumnTiles == 2) {
      _tile_loadd(7, b + x.b_tile, 64);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (RowTiles == 2) {
      _tile_loadd(5, a + a_tile, a_bytes);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (ColumnTiles == 2) _tile_dpbf16ps(3, 5, 7);
    }
    b += tile;
  };
  const bf16* a = x.a;
  const std::ptrdiff_t a_bytes = x.a_row * static_cast<std::ptrdiff_t>(sizeof(bf16));
  for (std::size_t q = 0; q < x.chunks; ++q, a += x.a_chunk) add_chunk(a, x.a_tile, a_bytes);
  if (x.a_last != nullptr) add_chunk(x.a_last, tile, 64);
  _tile_stored(0, x.c, c_bytes);
  if constexpr (ColumnTiles == 2) _tile_stored(1, x.c + lines, c_bytes);
  if constexpr (RowTiles == 2) _tile_stored(2, second, c_bytes);
  if constexpr (RowTiles == 2 && ColumnTiles == 2) _tile_stored(3, second + lines, c_bytes);
}

/// 16 by 16 words of 32 bits.
NAPKIN_AMX inline void transpose(__m512i (&x)[16]) {
  __m512i y[16];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    y[2 * i] = _mm512_unpacklo_epi32(x[2 * i], x[2 * i + 1]);
    y[2 * i + 1] = _mm512_unpackhi_epi32(x[2 * i], x[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    x[4 * i] = _mm512_unpacklo_epi64(y[4 * i], y[4 * i + 2]);
    x[4 * i + 1] = _mm512_unpackhi_epi64(y[4 * i], y[4 * i + 2]);
    x[4 * i + 2] = _mm512_unpacklo_epi64(y[4 * i + 1], y[4 * i + 3]);
    x[4 * i + 3] = _mm512_unpackhi_epi64(y[4 * i + 1], y[4 * i + 3]);
  }
  // x[4i + j] has, in quarter l, words 4i to 4i + 3 of column 4l + j.
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512i even_low = _mm512_shuffle_i32x4(x[j], x[4 + j], 0x88);
    const __m512i odd_low = _mm512_shuffle_i32x4(x[j], x[4 + j], 0xdd);
    const __m512i even_high = _mm512_shuffle_i32x4(x[8 + j], x[12 + j], 0x88);
    const __m512i odd_high = _mm512_shuffle_i32x4(x[8 + j], x[12 + j], 0xdd);
    y[j] = _mm512_shuffle_i32x4(even_low, even_high, 0x88);
    y[4 + j] = _mm512_shuffle_i32x4(odd_low, odd_high, 0x88);
    y[8 + j] = _mm512_shuffle_i32x4(even_low, even_high, 0xdd);
    y[12 + j] = _mm512_shuffle_i32x4(odd_low, odd_high, 0xdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) x[i] = y[i];
}

/// One tile, its lines in vectors of 16 pairs along k.
NAPKIN_AMX inline void load_lines(const bf16* from, std::size_t extent, std::ptrdiff_t stride, std::size_t k,
                                  __m512i (&x)[16]) {
  const auto mask = static_cast<__mmask32>(~std::uint32_t{0} >> (chunk - k));
  for (std::size_t i = 0; i < lines; ++i)
    x[i] = i < extent ? _mm512_maskz_loadu_epi16(mask, from + static_cast<std::ptrdiff_t>(i) * stride)
                      : _mm512_setzero_si512();
}
/// One tile, its pairs along k in vectors of 16 lines, which are neighbours.
NAPKIN_AMX inline void load_pairs(const bf16* from, std::size_t extent, std::size_t k,
                                  std::ptrdiff_t k_stride, __m512i (&x)[16]) {
  const auto mask = static_cast<__mmask16>(0xffffu >> (lines - extent));
  const auto words_at = [&](std::size_t p) NAPKIN_AMX {
    return p < k ? _mm512_cvtepu16_epi32(
                       _mm256_maskz_loadu_epi16(mask, from + static_cast<std::ptrdiff_t>(p) * k_stride))
                 : _mm512_setzero_si512();
  };
  for (std::size_t q = 0; q < lines; ++q)
    x[q] = _mm512_or_si512(words_at(2 * q), _mm512_slli_epi32(words_at(2 * q + 1), 16));
}

/// One tile.
template <bool AsRows>
NAPKIN_AMX inline void pack_tile(const bf16* from, std::size_t extent, std::ptrdiff_t stride, std::size_t k,
                                 std::ptrdiff_t k_stride, bf16* to) {
  __m512i x[16];
  bool as_rows = true;
  if (k_stride == 1) {
    load_lines(from, extent, stride, k, x);
  } else if (stride == 1) {
    load_pairs(from, extent, k, k_stride, x);
    as_rows = false;
  } else {
    alignas(64) bf16 gathered[tile];
    for (std::size_t i = 0; i < extent; ++i)
      for (std::size_t p = 0; p < k; ++p)
        gathered[i * chunk + p] =
            from[static_cast<std::ptrdiff_t>(i) * stride + static_cast<std::ptrdiff_t>(p) * k_stride];
    load_lines(gathered, extent, chunk, k, x);
  }
  if (as_rows != AsRows) transpose(x);
  for (std::size_t v = 0; v < lines; ++v) _mm512_storeu_si512(to + v * chunk, x[v]);
}

/// Tile by tile, those next to each other in memory first.
template <bool AsRows>
NAPKIN_AMX void pack(const bf16* from, std::size_t extent, std::ptrdiff_t stride, std::size_t k,
                     std::ptrdiff_t k_stride, bf16* to) {
  const std::size_t chunks = (k + chunk - 1) / chunk, strips = (extent + lines - 1) / lines;
  const bool by_strip = k_stride == 1;
  for (std::size_t n = 0; n < chunks * strips; ++n) {
    const std::size_t strip = by_strip ? n / chunks : n % strips, q = by_strip ? n % chunks : n / strips;
    const std::size_t i = strip * lines, p = q * chunk;
    pack_tile<AsRows>(
        from + static_cast<std::ptrdiff_t>(i) * stride + static_cast<std::ptrdiff_t>(p) * k_stride,
        extent - i < lines ? extent - i : lines, stride, k - p < chunk ? k - p : chunk, k_stride,
        to + (strip * chunks + q) * tile);
  }
}

NAPKIN_AMX void round(const float* from, std::size_t n, bf16* to) {
  constexpr std::size_t width = 16;
  for (std::size_t i = 0; i < n; i += width) {
    const std::size_t left = n - i < width ? n - i : width;
    const auto mask = static_cast<__mmask16>(0xffffu >> (width - left));
    const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, from + i));
    _mm256_mask_storeu_epi16(to + i, mask, reinterpret_cast<__m256i>(rounded));
  }
}

/// Linux lends the unit's registers, 8 KB of each thread's state, to programs that ask (arch_prctl(2)).
bool ask_for_amx() {
  constexpr long request = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-bf16") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512bf16") && syscall(SYS_arch_prctl, request, tile_data) == 0;
}

}  // namespace

const amx_kernels* find_amx_kernels() {
  static const amx_kernels kernels{{{&multiply<1, 1>, &multiply<1, 2>}, {&multiply<2, 1>, &multiply<2, 2>}},
                                   &pack<true>,
                                   &pack<false>,
                                   &round,
                                   &configure,
                                   &release};
  static const bool has = ask_for_amx();
  return has ? &kernels : nullptr;
}

#else

const amx_kernels* find_amx_kernels() { return nullptr; }

#endif

}  // namespace napkin::on_cpu::detail
