// A language model of some 10 thousand parameters that learns one sentence, for the tests of this folder.
// Compiled once, in tiny.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "napkin/train/checkpoint_file.hpp"
#include "napkin/train/file_system.hpp"
#include "napkin/train/token_file.hpp"

namespace tiny {

inline constexpr std::size_t batch = 6, seq = 40;
inline constexpr std::string_view sentence = "the cat sat on the mat; the rat ate that. ";

/// The sentence, many times over, in a file that the test made.
std::string text();
napkin::token_source source(const std::string& path);

class run {
 public:
  run(const std::string& text_path, std::uint64_t seed);
  ~run();

  /// So many steps on the sampler's next batches: the loss of each, before its update.
  std::vector<float> train(int steps);
  /// The batch is fetched before, so that nothing but the step runs.
  void fetch();
  float step_on_fetched();
  float evaluate_fetched();

  /// Every parameter and every state of the optimizer, one behind the other.
  std::vector<float> everything() const;
  void save(napkin::file_system& files, const std::string& path) const;
  void load(napkin::file_system& files, const std::string& path);
  std::string generate(const std::string& prompt, std::size_t bytes, double temperature, std::uint64_t seed);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace tiny
