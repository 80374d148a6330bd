// What a training run leaves for programs and plots: a line of JSON for each thing that happens, and
// TensorBoard's curves. docs/training.md has the schema. Nothing is printed here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "napkin/train/appended_file.hpp"
#include "napkin/train/event_file.hpp"
#include "napkin/train/safetensors.hpp"
#include "napkin/train/step_rates.hpp"

namespace napkin {

/// What is known of a run when it begins, or goes on.
struct run_begun {
  std::string program;
  std::int64_t first = 0;  // steps that were made before
  std::int64_t steps = 0;  // that it is to have made in the end
  std::uint64_t parameters = 0;
  std::string device;
  step_work work;
  tensor_metadata settings;  // the program's own, as text
};

/// Where a run is written to, as it goes. Files are gone on with, never replaced.
class run_log {
 public:
  struct places {
    std::string json;         // a file; empty: none
    std::string tensorboard;  // a folder; empty: none
  };

  /// Opens the files and writes how the run begins.
  ///
  /// Errors  `input_error` where a file cannot be written; here and below `system_error` where the disk is
  ///         full or fails
  run_log(file_system& files, const places& to, const run_begun& begun);

  void step(const step_made& made);
  /// The mean loss of the validation text, in nats per token.
  void validation(std::int64_t step, double loss);
  void sample(std::int64_t step, std::string_view text);
  /// `why`: "finished", "time", "signal" or "diverged".
  void end(std::int64_t step, std::string_view why);

 private:
  template <class Record>
  void write(const Record& record);

  step_work work_;
  std::optional<appended_file> json_;
  std::optional<event_file> tensorboard_;
};

}  // namespace napkin
