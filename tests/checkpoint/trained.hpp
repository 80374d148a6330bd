// Runs of small language models with all that a checkpoint must keep: dropout, micro-batches, several
// optimizers. Compiled once, in trained.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "napkin/train/checkpoint_folder.hpp"
#include "napkin/train/token_file.hpp"

enum class trained_by { adamw, momentum, muon };

class trained {
 public:
  virtual ~trained() = default;
  /// One step on the sampler's next batch: the loss before its update.
  virtual float step() = 0;
  virtual std::int64_t steps() const = 0;
  /// Every parameter and every state of the optimizer, one behind the other.
  virtual std::vector<float> everything() const = 0;
  virtual std::string save(napkin::checkpoint_folder& folder) const = 0;
  virtual napkin::resumed_run load(napkin::checkpoint_folder& folder) = 0;
};

/// Bytes of files, one after the other, as text of this vocabulary.
napkin::token_source source_of(const std::vector<std::string>& paths);

/// By AdamW with dropout and two micro-batches to a step, by momentum, or by Muon; `source` must outlive it.
std::unique_ptr<trained> make_trained(trained_by optimizer, const napkin::token_source& source,
                                      std::uint64_t seed);
