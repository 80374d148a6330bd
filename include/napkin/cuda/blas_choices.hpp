// Which algorithm was chosen for which product by the clock, as text: for a cache on disk, so that nothing is
// timed twice, and for a checkpoint, so that a run that is resumed computes the same bits.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "napkin/cuda/blas_calls.hpp"

namespace napkin::on_cuda {

/// The number of what a product's algorithm is chosen among; who adds to that raises it. A cache says of
/// which it is, and one of another is timed anew: what was fastest of fewer may not be. A checkpoint's
/// choices are of any, as they are a run's bits.
inline constexpr unsigned candidates_timed = 3;

/// Chosen algorithms by key: cuBLASLt's version, the device's name and all that describes one call. A version
/// or device that is not at hand does no harm, its keys are not asked for.
///
/// Text    a line each: key; algorithm, workspace and, as one number, whether it takes addresses and what
/// kernels of our own do instead, in hexadecimal; a checksum of the line before it; tabs between
class blas_choices {
 public:
  // All in a file of its own: tables of strings take nvcc their time wherever they are copied.
  blas_choices();
  blas_choices(const blas_choices&);
  blas_choices(blas_choices&&) noexcept;
  blas_choices& operator=(const blas_choices&);
  blas_choices& operator=(blas_choices&&) noexcept;
  ~blas_choices();

  /// Null where nothing was chosen. Valid until the next is set.
  const blas_algorithm* find(const std::string& key) const;

  /// Those that were found, or set, since these were forgotten: what some plans run by, of the choices of all
  /// that ran on this machine.
  blas_choices asked() const;
  void forget_asked();

  void set(const std::string& key, const blas_algorithm& algorithm);
  std::size_t size() const;

  /// What stands in where nothing is timed, such as for an expression that runs once: asked for once, but no
  /// choice, so neither counted nor in the text.
  const blas_algorithm* find_guess(const std::string& key) const;
  void set_guess(const std::string& key, const blas_algorithm& algorithm);

  /// In the order of keys, so that the same choices are the same text.
  std::string text() const;

  /// Add what a text holds; of one key the later counts. Lines that are damaged are left out, and said in
  /// `complaints`, one line each, at most ten.
  void add(std::string_view text, std::vector<std::string>& complaints);
  void add(std::string_view text);  // complaining to nobody
  /// Those of others that are none of these yet.
  void add_missing(const blas_choices& others);

  bool operator==(const blas_choices& other) const;

 private:
  struct entry;
  using table = std::vector<entry>;  // sorted by key: <map> takes nvcc 0.13 s
  table chosen_, guessed_;
};

}  // namespace napkin::on_cuda
