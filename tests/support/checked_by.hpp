// NAPKIN_CHECKED_BY names what looks at each access of a kernel, which takes many times as long, so that fewer runs
// are enough: memcheck, initcheck, synccheck, racecheck (compute-sanitizer's tools), or emulator (tests/emulated). What
// takes minutes even so is tagged [slowly_checked], and left out.
#pragma once

#include <cstdlib>
#include <string_view>

namespace napkin::testing {

inline bool is_checked_by(std::string_view name) {
  const char* tool = std::getenv("NAPKIN_CHECKED_BY");
  return tool != nullptr && tool == name;
}

}  // namespace napkin::testing
