// train/delayed_scaling.hpp
#include "napkin/train/delayed_scaling.hpp"

#include <algorithm>
#include <cmath>

namespace napkin {
namespace {

// So that two scales multiplied, and that product's reciprocal, are ordinary numbers.
constexpr int most_powers = 63;

}  // namespace

delayed_scales::delayed_scales(std::byte* at, std::size_t tensors) : tensors_(tensors) {
  for (float** const part : {&scales_, &used_, &most_}) {
    *part = reinterpret_cast<float*>(at);
    at += passes::aligned(tensors * sizeof(float));
  }
  history_ = reinterpret_cast<float*>(at);
  std::fill_n(scales_, tensors, 1.0f);
}

void delayed_scales::set(const delayed_scaling& by) {
  for (std::size_t i = 0; i < tensors_; ++i) {
    float most = 0;
    for (std::size_t h = 0; h < history; ++h) most = std::max(most, history_[h * tensors_ + i]);
    int exponent = 0;  // most <= 2^exponent
    const float part = std::frexp(most, &exponent);
    if (part == 0.5f) --exponent;
    scales_[i] =
        most == 0 ? 1.0f : std::ldexp(1.0f, std::clamp(-exponent - by.margin, -most_powers, most_powers));
  }
}

void delayed_scales::forget_runs() { std::fill_n(most_, tensors_, 0.0f); }

void delayed_scales::add_run() {
  for (std::size_t i = 0; i < tensors_; ++i)
    if (!std::isnan(most_[i]) && !(used_[i] <= most_[i])) most_[i] = used_[i];
}

bool delayed_scales::finite() const {
  return std::all_of(most_, most_ + tensors_, [](float x) { return std::isfinite(x); });
}

void delayed_scales::keep(std::int64_t n) {
  std::copy_n(most_, tensors_, history_ + static_cast<std::size_t>(n) % history * tensors_);
}

void delayed_scales::remember(std::span<const float> all) {
  std::fill_n(history_, history * tensors_, 0.0f);
  if (all.size() == history * tensors_) std::copy(all.begin(), all.end(), history_);
}

}  // namespace napkin
