// What is done to a block of an attention's scores between its products: a softmax, and that softmax's adjoint.
// Queries lie side by side, so that keys are summed in their order whatever the processor's vectors, and bits
// follow from the scores alone. Which instructions do it is found out at run time.
#pragma once

#include <cstddef>

#include "napkin/ops/primitives/attention.hpp"

namespace napkin::on_cpu::detail {

/// Queries of a block, each a lane; keys of a block at most.
template <class T>
inline constexpr std::size_t query_lanes = 256 / sizeof(T);
template <class T>
inline constexpr std::size_t most_keys = 512 / sizeof(T);

/// Scores of some keys, a row of query_lanes for each, before they are scaled.
template <class T>
struct score_block {
  T* scores;
  std::size_t keys, lanes;  // lanes that are computed: a multiple of 16 of them, numbers all
  T scale;
  /// By position lanes from first + r to before end + r see key r.
  std::ptrdiff_t first, end;
  attention_mask mask;
  const T* masks;  // rows as the scores': what is added, or 0 where a key is hidden
  T hidden;        // the score of a key that is not seen
};

/// A softmax so far, for each lane: what is subtracted from scores, the sum of exponentials, and by what sums
/// over the keys before this block are to be multiplied.
template <class T>
struct softmax_lanes {
  alignas(64) T most[query_lanes<T>];
  alignas(64) T total[query_lanes<T>];
  alignas(64) T shrink[query_lanes<T>];
};

/// What a backward pass knows of each lane's query; largest is 0 where there is no mask.
template <class T>
struct adjoint_lanes {
  alignas(64) T largest[query_lanes<T>];
  alignas(64) T log_sum[query_lanes<T>];
  alignas(64) T delta[query_lanes<T>];
};

template <class T>
struct score_kernels {
  /// Scores become exponentials; of a lane that has seen none but -infinity, 0.
  void (*weigh)(const score_block<T>&, softmax_lanes<T>&);
  /// Scores become weights, and the weights' adjoints the scores', before these were scaled.
  void (*slope)(const score_block<T>&, const adjoint_lanes<T>&, T* d_weights);
};

/// The kernels for this processor; T is float or double.
template <class T>
const score_kernels<T>& best_score_kernels();

}  // namespace napkin::on_cpu::detail
