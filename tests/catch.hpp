// Catch2, whichever of versions 2 and 3 is there: what the tests include. The few names that moved
// between the two have version 2's spelling in both.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#define NAPKIN_CATCH_VERSION 3
#include <catch2/catch_all.hpp>

namespace Catch {
using Matchers::EndsWith;
using Matchers::Equals;
using Matchers::StartsWith;
inline Matchers::StringContainsMatcher Contains(const std::string& text) {
  return Matchers::ContainsSubstring(text);
}
}  // namespace Catch
using Catch::Approx;

#else
#define NAPKIN_CATCH_VERSION 2
#include <catch2/catch.hpp>
#endif
