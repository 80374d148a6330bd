// train/delayed_scaling.hpp
#include "napkin/train/delayed_scaling.hpp"

#include <algorithm>
#include <cmath>

namespace napkin {

scale_memory delayed_scales::lay_out(std::byte* at, std::size_t tensors) {
  const auto take = [&at](std::size_t numbers) {
    auto* const taken = reinterpret_cast<float*>(at);
    at += passes::aligned(numbers * sizeof(float));
    return taken;
  };
  scale_memory m;
  m.tensors = tensors;
  m.scales = take(tensors);
  m.reciprocals = take(scale_memory::apart * tensors);
  m.most = take(tensors);
  m.history = take(history * tensors);
  return m;
}

delayed_scales::delayed_scales(std::byte* at, std::size_t tensors) : at_(lay_out(at, tensors)) {
  std::fill_n(at_.scales, tensors, 1.0f);
  for (std::size_t i = 0; i < tensors; ++i) *at_.reciprocal(i) = 1;
}

delayed_scales::delayed_scales(std::byte* at, std::span<const std::size_t> rows)
    : delayed_scales(at, rows.size()) {
  rows_ = rows;
  used_ = reinterpret_cast<float*>(at + lasting_bytes(rows.size()));
}

float* delayed_scales::used(std::size_t tensor) const {
  return used_ + used_bytes(rows_.first(tensor)) / sizeof(float);
}

void delayed_scales::set(const delayed_scaling& by) {
  for (std::size_t i = 0; i < size(); ++i) at_.set(i, by.margin);
}

void delayed_scales::forget_runs() {
  for (std::size_t i = 0; i < size(); ++i) at_.forget(i);
}

void delayed_scales::add_run() {
  const float* row = used_;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    float most = 0;
    for (std::size_t r = 0; r < rows_[i]; ++r) most = scale_memory::larger(most, row[r]);
    at_.add(i, most);
    row += passes::aligned(rows_[i] * sizeof(float)) / sizeof(float);
  }
}

bool delayed_scales::finite() const {
  return std::all_of(at_.most, at_.most + size(), [](float x) { return std::isfinite(x); });
}

void delayed_scales::keep(std::int64_t n) {
  for (std::size_t i = 0; i < size(); ++i) at_.keep(i, static_cast<std::uint64_t>(n));
}

void delayed_scales::remember(std::span<const float> all) {
  std::fill_n(at_.history, history * size(), 0.0f);
  if (all.size() == history * size()) std::copy(all.begin(), all.end(), at_.history);
}

}  // namespace napkin
