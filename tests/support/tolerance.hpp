// How near a number that was computed in a dtype must be to the same computed in f64: PyTorch's tolerances. A
// NaN is near a NaN alone, an infinity near itself.
#pragma once

#include <cmath>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

#include "support/run_plan.hpp"

namespace napkin::testing {

/// |found - expected| <= absolute + relative * |expected|, as torch.testing.assert_close has it
/// (torch/testing/_comparison.py). Integers and b8 are exact. 8-bit floats, which it says nothing of, come of
/// casts alone in what is compared so, and these are exact too.
struct tolerance {
  double relative = 0, absolute = 0;
};
constexpr tolerance tolerance_of(dtype t) {
  switch (t) {
    case dtype::f64:
      return {1e-7, 1e-7};
    case dtype::f32:
      return {1.3e-6, 1e-5};
    case dtype::bf16:
      return {1.6e-2, 1e-5};
    case dtype::f16:
      return {1e-3, 1e-5};
    default:
      return {};
  }
}

/// As a tensor of t holds it: what is beyond a float's largest number is infinite there. Integers are as they
/// are.
inline std::vector<double> rounded_to(dtype t, const std::vector<double>& x) {
  return is_floating(t) ? to_doubles(to_bytes(x, t), t) : x;
}

inline std::string difference_at(std::size_t i, double found, double expected) {
  std::ostringstream text;
  text.precision(17);
  text << "element " << i << " is " << found << ", not " << expected;
  return text.str();
}

/// The first element that is farther off than most_at(i) allows; empty where none is.
template <class Most>
std::string first_far(const std::vector<double>& found, const std::vector<double>& expected, Most&& most_at) {
  if (found.size() != expected.size()) return "there are not as many elements";
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double x = found[i], y = expected[i];
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (!(std::isfinite(x) && std::isfinite(y) && std::fabs(x - y) <= most_at(i)))
      return difference_at(i, x, y);
  }
  return "";
}

}  // namespace napkin::testing
