// Loops over lanes, of which compilers make vectors, once for each kind of processor.
#include "attention_lanes.hpp"

#include <algorithm>
#include <limits>

#include "napkin/core/math_exp.hpp"

namespace napkin::on_cpu::detail {
namespace {

/// Each lane's number, in what is computed with: of one width, comparisons are a vector's too.
template <class T>
struct lane_numbers {
  alignas(64) T of[query_lanes<T>];
  constexpr lane_numbers() : of{} {
    for (std::size_t l = 0; l < query_lanes<T>; ++l) of[l] = static_cast<T>(l);
  }
};
template <class T>
constexpr lane_numbers<T> numbers;

/// f(lane, its score, how far it is from seeing the key: more than 0 if it does not) for the lanes of key r.
/// One comparison with a number, as of several compilers make no vectors for AVX2.
template <class T, class F>
[[gnu::always_inline]] inline void for_scores(const score_block<T>& b, std::size_t r, F f) {
  using math::detail::select;
  const auto lanes = static_cast<std::ptrdiff_t>(b.lanes), at = static_cast<std::ptrdiff_t>(r);
  const T* const scores = b.scores + r * query_lanes<T>;
  const T* const masks = b.masks + r * query_lanes<T>;
  const T scale = b.scale, hidden = b.hidden;
  const std::ptrdiff_t from = std::clamp<std::ptrdiff_t>(b.first + at, 0, lanes),
                       to = std::clamp<std::ptrdiff_t>(b.end + at, 0, lanes);
  const T first = static_cast<T>(from), last = static_cast<T>(to - 1);
  const auto off = [ first, last ](std::size_t l) __attribute__((always_inline)) {
    const T before = first - numbers<T>.of[l], behind = numbers<T>.of[l] - last;
    return select(before > behind, before, behind);
  };
  switch (b.mask) {
    case attention_mask::none:
      if (from == 0 && to == lanes)
        for (std::size_t l = 0; l < b.lanes; ++l) f(l, scores[l] * scale, T{0});
      else
        for (std::size_t l = 0; l < b.lanes; ++l)
          f(l, select(off(l) > T{0}, hidden, scores[l] * scale), off(l));
      break;
    case attention_mask::adds:
      for (std::size_t l = 0; l < b.lanes; ++l)
        f(l, select(off(l) > T{0}, hidden, scores[l] * scale + masks[l]), off(l));
      break;
    case attention_mask::shows:
      for (std::size_t l = 0; l < b.lanes; ++l) {
        const T by_mask = select(masks[l] == T{0}, T{1}, off(l));
        f(l, select(by_mask > T{0}, hidden, scores[l] * scale), by_mask);
      }
      break;
  }
}

template <class T>
[[gnu::always_inline]] inline void weigh(const score_block<T>& b, softmax_lanes<T>& s) {
  constexpr T least = -std::numeric_limits<T>::infinity();
  alignas(64) T below[query_lanes<T>], sum[query_lanes<T>];  // of this block: that of all keys stays as exact
  for (std::size_t l = 0; l < b.lanes; ++l) below[l] = s.most[l];
  for (std::size_t r = 0; r < b.keys; ++r) {
    T* const scores = b.scores + r * query_lanes<T>;
    for_scores(
        b, r, [&](std::size_t l, T score, T) __attribute__((always_inline)) {
          scores[l] = score;
          below[l] = below[l] < score ? score : below[l];
        });
  }
  for (std::size_t l = 0; l < b.lanes; ++l) {
    const T most = below[l];
    below[l] = most == least ? T{0} : most;
    s.shrink[l] = math::exp(s.most[l] - below[l]);
    s.most[l] = most;
    sum[l] = T{0};
  }
  for (std::size_t r = 0; r < b.keys; ++r) {
    T* const scores = b.scores + r * query_lanes<T>;
    for (std::size_t l = 0; l < b.lanes; ++l) {
      const T weight = math::exp(scores[l] - below[l]);
      scores[l] = weight;
      sum[l] += weight;
    }
  }
  for (std::size_t l = 0; l < b.lanes; ++l) s.total[l] = s.total[l] * s.shrink[l] + sum[l];
}

template <class T>
[[gnu::always_inline]] inline void slope(const score_block<T>& b, const adjoint_lanes<T>& known,
                                         T* d_weights) {
  for (std::size_t r = 0; r < b.keys; ++r) {
    T* const scores = b.scores + r * query_lanes<T>;
    T* const d = d_weights + r * query_lanes<T>;
    for_scores(
        b, r, [&](std::size_t l, T score, T off) __attribute__((always_inline)) {
          const T weight = math::exp((score - known.largest[l]) - known.log_sum[l]);
          scores[l] = weight;
          d[l] = math::detail::select(off > T{0}, T{0}, weight * (d[l] - known.delta[l]));
        });
  }
}

#define NAPKIN_SCORE_KERNELS(kind, target)                                             \
  template <class T>                                                                   \
  target void weigh_##kind(const score_block<T>& b, softmax_lanes<T>& s) {             \
    weigh(b, s);                                                                       \
  }                                                                                    \
  template <class T>                                                                   \
  target void slope_##kind(const score_block<T>& b, const adjoint_lanes<T>& a, T* d) { \
    slope(b, a, d);                                                                    \
  }
NAPKIN_SCORE_KERNELS(portable, )
#if defined(__x86_64__)
NAPKIN_SCORE_KERNELS(avx512, [[gnu::target("avx512f")]])
NAPKIN_SCORE_KERNELS(avx2, [[gnu::target("avx2")]])
#endif

template <class T>
score_kernels<T> choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {&weigh_avx512<T>, &slope_avx512<T>};
  if (__builtin_cpu_supports("avx2")) return {&weigh_avx2<T>, &slope_avx2<T>};
#endif
  return {&weigh_portable<T>, &slope_portable<T>};
}

}  // namespace

template <class T>
const score_kernels<T>& best_score_kernels() {
  static const score_kernels<T> chosen = choose<T>();
  return chosen;
}

template const score_kernels<float>& best_score_kernels();
template const score_kernels<double>& best_score_kernels();

}  // namespace napkin::on_cpu::detail
