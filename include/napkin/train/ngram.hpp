// The measure that a language model must beat: what counting bytes after the k bytes before them achieves.
#pragma once

#include <cstddef>

#include "napkin/train/token_file.hpp"

namespace napkin {

/// Bits per byte on `validation` of p(byte | the k bytes before) = (count + 0.1) / (total + 25.6), counted on
/// `train`. The first k bytes of either text have no k bytes before them and serve as context only: the mean
/// is over the others. Files are joined, so the first bytes of one follow the last of another.
///
/// Exact, up to k = 7. `error` for a larger k or tokens that are not bytes, `input_error` for a text of k
/// bytes or fewer. About 0.1 s for 10 MB at k = 3.
double ngram_bits_per_byte(const token_source& train, const token_source& validation, std::size_t k);

}  // namespace napkin
