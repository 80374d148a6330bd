// train/delayed_scaling.hpp
#include "napkin/train/delayed_scaling.hpp"

#include <algorithm>
#include <cmath>

namespace napkin {
namespace {

// So that a product of two scales, or of two reciprocals, is an ordinary number.
constexpr int most_powers = 63;

}  // namespace

delayed_scales::delayed_scales(std::byte* at, std::span<const std::size_t> rows) : rows_(rows) {
  const auto take = [&at](std::size_t numbers) {
    auto* const taken = reinterpret_cast<float*>(at);
    at += passes::aligned(numbers * sizeof(float));
    return taken;
  };
  scales_ = take(size());
  reciprocals_ = take(size());
  most_ = take(size());
  history_ = take(history * size());
  used_ = reinterpret_cast<float*>(at);
  std::fill_n(scales_, size(), 1.0f);
  std::fill_n(reciprocals_, size(), 1.0f);
}

float* delayed_scales::used(std::size_t tensor) const {
  std::size_t before = 0;
  for (std::size_t i = 0; i < tensor; ++i) before += passes::aligned(rows_[i] * sizeof(float));
  return used_ + before / sizeof(float);
}

void delayed_scales::set(const delayed_scaling& by) {
  for (std::size_t i = 0; i < size(); ++i) {
    float most = 0;
    for (std::size_t h = 0; h < history; ++h) most = std::max(most, history_[h * size() + i]);
    int exponent = 0;  // most <= 2^exponent
    const float part = std::frexp(most, &exponent);
    if (part == 0.5f) --exponent;
    const int power = most == 0 ? 0 : std::clamp(-exponent - by.margin, -most_powers, most_powers);
    scales_[i] = std::ldexp(1.0f, power);
    reciprocals_[i] = std::ldexp(1.0f, -power);
  }
}

void delayed_scales::forget_runs() { std::fill_n(most_, size(), 0.0f); }

void delayed_scales::add_run() {
  const float* row = used_;
  for (std::size_t i = 0; i < size(); ++i) {
    for (std::size_t r = 0; r < rows_[i]; ++r)
      if (!std::isnan(most_[i]) && !(row[r] <= most_[i])) most_[i] = row[r];
    row += passes::aligned(rows_[i] * sizeof(float)) / sizeof(float);
  }
}

bool delayed_scales::finite() const {
  return std::all_of(most_, most_ + size(), [](float x) { return std::isfinite(x); });
}

void delayed_scales::keep(std::int64_t n) {
  std::copy_n(most_, size(), history_ + static_cast<std::size_t>(n) % history * size());
}

void delayed_scales::remember(std::span<const float> all) {
  std::fill_n(history_, history * size(), 0.0f);
  if (all.size() == history * size()) std::copy(all.begin(), all.end(), history_);
}

}  // namespace napkin
