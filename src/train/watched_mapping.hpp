// Mapped files that shrink or fail while they are read: the system then sends SIGBUS, which nothing survives,
// but whose cause can be named. Private to src/train.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "napkin/train/file_system.hpp"

namespace napkin::detail {

/// A mapping of what `owner` keeps: it goes with the last handle.
template <class Owner>
file_mapping kept_by(std::unique_ptr<Owner> owner, void* data, std::uint64_t size) {
  const auto drop = [](void* of) noexcept { delete static_cast<Owner*>(of); };
  file_mapping kept = file_mapping::adopt(data, size, drop, owner.get());
  static_cast<void>(owner.release());
  return kept;
}

/// The same mapping, watched: a SIGBUS within its `size` bytes prints the file and the byte, and ends the
/// process with the exit code of bad data. One elsewhere goes to who was there before. Of some thousand
/// mappings at a time; those beyond are not watched.
file_mapping watched(const file_mapping& mapping, std::uint64_t size, const std::string& path);

}  // namespace napkin::detail
