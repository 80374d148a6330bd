// TensorBoard's event files, of scalars alone: what `tensorboard --logdir` draws curves of. Neither
// TensorFlow nor protobuf is needed to write them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "napkin/train/appended_file.hpp"

namespace napkin {

/// A point of a curve. The name is a path: "loss/train" is drawn beside "loss/validation".
struct event_scalar {
  std::string_view name;
  float value = 0;
};

/// One record of an event file: its length, a checksum of that, a message `Event`, a checksum of it.
/// `time` in seconds since 1970.
/// Source  TensorFlow: lib/io/record_writer.h, core/util/event.proto, core/framework/summary.proto
std::string event_of_version(double time);  // the first of a file
std::string event_of_start(double time, std::int64_t step);
std::string event_of_scalars(double time, std::int64_t step, std::span<const event_scalar> scalars);

class event_file {
 public:
  /// A new file in `folder`, which is made if need be. A run that begins at `step`, its first, hides what
  /// earlier files of the folder say of it and later ones.
  ///
  /// Errors  `input_error` where no file can be made there
  event_file(file_system& files, const std::string& folder, double time, std::int64_t step);

  const std::string& path() const { return file_.path(); }
  void append(double time, std::int64_t step, std::span<const event_scalar> scalars);

 private:
  appended_file file_;
};

}  // namespace napkin
