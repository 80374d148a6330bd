// Peaks by running: twelve chains of multiply-adds a thread, so that neither latency nor memory holds them
// up, and a sum of arrays that are larger than caches.
#include "napkin/cpu/measure.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <vector>

#include "gemm_amx.hpp"
#include "gemm_pairs.hpp"
#include "napkin/cpu/threads.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace napkin::on_cpu {
namespace {

constexpr std::size_t chains = 12;  // which, with a constant, fit sixteen registers
constexpr int repeats = 5, trials = 3;

double seconds_of_thread() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Each does `rounds` multiply-adds in every lane of every chain, and returns how many lanes there are; the
// sum goes to `out`, so that none is left out. x * 0.5 + 0.5 stays at 1, which the compiler must not know.
template <class T>
T a_half() {
  static volatile T half = T(0.5);
  return half;
}

template <class T>
std::size_t chains_portable(std::size_t rounds, T* out) {
  constexpr std::size_t lanes = 16 / sizeof(T);
  const T half = a_half<T>();
  T x[chains * lanes];
  std::fill(std::begin(x), std::end(x), T(1));
  for (std::size_t r = 0; r < rounds; ++r)
    for (T& v : x) v = v * half + half;
  for (const T v : x) *out += v;
  return lanes;
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] std::size_t chains_avx512(std::size_t rounds, float* out) {
  __m512 x[chains], half = _mm512_set1_ps(a_half<float>());
  for (auto& v : x) v = _mm512_set1_ps(1);
  for (std::size_t r = 0; r < rounds; ++r)
#pragma GCC unroll 12
    for (std::size_t i = 0; i < chains; ++i) x[i] = _mm512_fmadd_ps(x[i], half, half);
  for (const auto& v : x) *out += _mm512_cvtss_f32(v);
  return 16;
}
[[gnu::target("avx512f")]] std::size_t chains_avx512(std::size_t rounds, double* out) {
  __m512d x[chains], half = _mm512_set1_pd(a_half<double>());
  for (auto& v : x) v = _mm512_set1_pd(1);
  for (std::size_t r = 0; r < rounds; ++r)
#pragma GCC unroll 12
    for (std::size_t i = 0; i < chains; ++i) x[i] = _mm512_fmadd_pd(x[i], half, half);
  for (const auto& v : x) *out += _mm512_cvtsd_f64(v);
  return 8;
}
[[gnu::target("avx2,fma")]] std::size_t chains_avx2(std::size_t rounds, float* out) {
  __m256 x[chains], half = _mm256_set1_ps(a_half<float>());
  for (auto& v : x) v = _mm256_set1_ps(1);
  for (std::size_t r = 0; r < rounds; ++r)
#pragma GCC unroll 12
    for (std::size_t i = 0; i < chains; ++i) x[i] = _mm256_fmadd_ps(x[i], half, half);
  for (const auto& v : x) *out += _mm256_cvtss_f32(v);
  return 8;
}
[[gnu::target("avx2,fma")]] std::size_t chains_avx2(std::size_t rounds, double* out) {
  __m256d x[chains], half = _mm256_set1_pd(a_half<double>());
  for (auto& v : x) v = _mm256_set1_pd(1);
  for (std::size_t r = 0; r < rounds; ++r)
#pragma GCC unroll 12
    for (std::size_t i = 0; i < chains; ++i) x[i] = _mm256_fmadd_pd(x[i], half, half);
  for (const auto& v : x) *out += _mm256_cvtsd_f64(v);
  return 4;
}
/// Two multiply-adds a lane, of a half and of minus a half.
[[gnu::target("avx512f,avx512bf16")]] std::size_t chains_of_pairs(std::size_t rounds, float* out) {
  const auto halves = reinterpret_cast<__m512bh>(
      _mm512_set1_epi32(static_cast<int>(a_half<float>() == 0.5f ? 0xbf003f00u : 0u)));
  const auto ones = reinterpret_cast<__m512bh>(_mm512_set1_epi32(0x3f803f80));
  __m512 x[chains];
  for (auto& v : x) v = _mm512_set1_ps(1);
  for (std::size_t r = 0; r < rounds; ++r)
#pragma GCC unroll 12
    for (std::size_t i = 0; i < chains; ++i) x[i] = _mm512_dpbf16_ps(x[i], halves, ones);
  for (const auto& v : x) *out += _mm512_cvtss_f32(v);
  return 16;
}
#endif

/// FLOPs of one thread's turn.
template <class T>
double run_chains(std::size_t rounds, T* out) {
  std::size_t lanes = 0;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    lanes = chains_avx512(rounds, out);
  else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    lanes = chains_avx2(rounds, out);
#endif
  if (lanes == 0) lanes = chains_portable(rounds, out);
  return 2.0 * static_cast<double>(rounds) * static_cast<double>(lanes * chains);
}
/// The same of bf16, where the processor multiplies it.
double run_chains_of_pairs([[maybe_unused]] std::size_t rounds, [[maybe_unused]] float* out) {
#if defined(__x86_64__)
  const std::size_t lanes = chains_of_pairs(rounds, out);
  return 4.0 * static_cast<double>(rounds) * static_cast<double>(lanes * chains);
#else
  return 0;
#endif
}

/// The same by the matrix unit, whose tiles come from the nearest cache.
double run_tiles(std::size_t rounds, float* out) {
  using kernels = detail::amx_kernels;
  constexpr std::size_t chunks = 8, side = 2 * kernels::lines;
  const kernels& by = *detail::find_amx_kernels();
  const detail::amx_in_use unit(by);
  alignas(64) static const bf16 zeros[2 * chunks * kernels::tile]{};
  alignas(64) float sums[side * side]{};
  detail::amx_call call{};
  call.a = call.b = zeros;
  call.a_tile = call.b_tile = chunks * kernels::tile;
  call.a_row = kernels::chunk, call.a_chunk = kernels::tile;
  call.c = sums, call.c_row = side;
  call.chunks = chunks, call.add = true;
  const std::size_t calls = rounds / chunks;
  for (std::size_t r = 0; r < calls; ++r) by.multiply[1][1](call);
  *out += sums[0];
  return 2.0 * static_cast<double>(calls) * static_cast<double>(side * side * chunks * kernels::chunk);
}

/// What all threads do at once: `turn(thread)` returns how much it did, and time counts that a thread ran, so
/// that other programs which take turns with this one matter less. A peak is the best of a few trials; the
/// median of five such, as a clock that misses some of a thread's time makes one of them too good.
template <class Turn>
double peak_rate(const Turn& turn) {
  struct alignas(64) result {
    double rate = 0;
  };
  std::vector<result> results(threads());
  std::array<double, repeats> best{};
  for (double& of : best)
    for (int t = 0; t < trials; ++t) {
      parallel_for(results.size(), [&](std::size_t i) {
        const double begin = seconds_of_thread();
        const double done = turn(i);
        results[i].rate = done / (seconds_of_thread() - begin);
      });
      double sum = 0;
      for (const result& r : results) sum += r.rate;
      of = std::max(of, sum);
    }
  std::sort(best.begin(), best.end());
  return best[repeats / 2];
}

template <class T, class Run>
double peak_of_arithmetic(const Run& run) {
  std::vector<T> sums(threads() * 64, T(0));
  const double peak = peak_rate([&](std::size_t i) { return run(std::size_t{1} << 19, &sums[i * 64]); });
  return sums[0] < T(0) ? 0 : peak;  // never: it keeps the sums
}

double peak_of_memory() {
  const std::size_t n = threads(), each = (std::size_t{16} << 20) / n, elements = each * n;
  std::vector<float> a(elements, 1), b(elements, 2), c(elements, 0);
  const double peak = peak_rate([&](std::size_t i) {
    const float *x = a.data() + i * each, *y = b.data() + i * each;
    float* z = c.data() + i * each;
    for (std::size_t k = 0; k < each; ++k) z[k] = x[k] + y[k];
    return 3.0 * sizeof(float) * static_cast<double>(each);
  });
  return c[elements / 2] < 0 ? 0 : peak;
}

}  // namespace

measured_peaks measure_peaks() {
  measured_peaks peaks;
  peaks.f32 = peak_of_arithmetic<float>(run_chains<float>);
  peaks.f64 = peak_of_arithmetic<double>(run_chains<double>);
  peaks.bf16 = detail::find_amx_kernels() != nullptr    ? peak_of_arithmetic<float>(run_tiles)
               : detail::find_pair_kernels() != nullptr ? peak_of_arithmetic<float>(run_chains_of_pairs)
                                                        : peaks.f32;
  peaks.bandwidth = peak_of_memory();
  return peaks;
}

}  // namespace napkin::on_cpu
