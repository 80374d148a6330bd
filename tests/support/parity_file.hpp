// The reference files of tests/parity, read as doubles.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "napkin/train/safetensors.hpp"

namespace napkin::testing {

class parity_file {
 public:
  /// name: "gpt", "functions"
  explicit parity_file(const std::string& name)
      : file_(safetensors_file::open(posix_file_system(),
                                     NAPKIN_SOURCE_DIR "/tests/parity/data/" + name + ".safetensors")) {}

  bool has(const std::string& key) const { return file_.find(key) != nullptr; }
  std::vector<std::uint64_t> shape_of(const std::string& key) const { return entry(key).shape; }
  std::vector<double> operator[](const std::string& key) const {
    switch (entry(key).type) {
      case dtype::f64:
        return values<double>(entry(key));
      case dtype::f32:
        return values<float>(entry(key));
      case dtype::i32:
        return values<std::int32_t>(entry(key));
      default:
        throw error("parity_file: " + key + " has a dtype that no test expects");
    }
  }

 private:
  const tensor_entry& entry(const std::string& key) const {
    const tensor_entry* e = file_.find(key);
    if (e == nullptr) throw error("parity_file: no tensor " + key);
    return *e;
  }
  template <class T>
  std::vector<double> values(const tensor_entry& e) const {
    std::vector<T> own(e.bytes() / sizeof(T));
    file_.read(e, std::as_writable_bytes(std::span(own)));
    return std::vector<double>(own.begin(), own.end());
  }

  safetensors_file file_;
};

/// |a - b| / |b| by Euclidean norm; infinite for lengths that differ, NaN where an element is.
inline double relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return difference == 0 ? 0 : std::sqrt(difference / norm);
}

}  // namespace napkin::testing
