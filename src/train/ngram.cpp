// Counting contexts in hash tables with open addressing.
#include "napkin/train/ngram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "napkin/core/error.hpp"

namespace napkin {
namespace {

constexpr double added = 0.1;
constexpr double added_in_all = added * 256;

// Counts by key; a count of zero marks a free place, so that every key can be held.
class counts {
 public:
  counts() : keys_(1u << 12), values_(1u << 12) {}

  void add(std::uint64_t key) {
    const std::size_t at = place(key);
    if (values_[at]++ != 0) return;
    keys_[at] = key;
    if (++used_ * 2 > values_.size()) grow();
  }
  std::uint64_t operator[](std::uint64_t key) const { return values_[place(key)]; }

 private:
  std::size_t place(std::uint64_t key) const {
    // Fibonacci hashing: the high bits of a product depend on all bits of the key.
    const int shift = 64 - std::countr_zero(values_.size());
    std::size_t at = (key * 0x9e3779b97f4a7c15u) >> shift;
    while (values_[at] != 0 && keys_[at] != key) at = (at + 1) & (values_.size() - 1);
    return at;
  }
  void grow() {
    const std::vector<std::uint64_t> keys = std::move(keys_);
    const std::vector<std::uint64_t> values = std::move(values_);
    keys_.assign(keys.size() * 2, 0);
    values_.assign(keys.size() * 2, 0);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (values[i] == 0) continue;
      const std::size_t at = place(keys[i]);
      keys_[at] = keys[i];
      values_[at] = values[i];
    }
  }

  std::vector<std::uint64_t> keys_;
  std::vector<std::uint64_t> values_;
  std::size_t used_ = 0;
};

// Call f(context, byte) for every byte that has k before it; the context is those k, the last one lowest.
template <class F>
void for_each_byte(const token_source& text, std::size_t k, F f) {
  const std::uint64_t mask = (std::uint64_t{1} << (8 * k)) - 1;
  std::vector<std::uint16_t> part(1u << 16);
  std::uint64_t context = 0;
  for (std::uint64_t at = 0; at < text.size(); at += part.size()) {
    const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(part.size(), text.size() - at));
    text.copy(at, now, part.data());
    for (std::size_t i = 0; i < now; ++i) {
      if (at + i >= k) f(context, part[i]);
      context = ((context << 8) | part[i]) & mask;
    }
  }
}

}  // namespace

double ngram_bits_per_byte(const token_source& train, const token_source& validation, std::size_t k) {
  if (k > 7) throw error("byte counts are kept for at most 7 bytes of context, not " + std::to_string(k));
  if (!train.holds_bytes() || !validation.holds_bytes())
    throw error("byte counts need text as bytes, not tokens of two bytes");
  const std::string purpose = "byte counts given " + std::to_string(k) + " bytes";
  train.require(k + 1, purpose);
  validation.require(k + 1, purpose);

  counts pairs;
  counts contexts;
  for_each_byte(train, k, [&](std::uint64_t context, std::uint16_t byte) {
    pairs.add((context << 8) | byte);
    contexts.add(context);
  });

  double bits = 0;
  for_each_byte(validation, k, [&](std::uint64_t context, std::uint16_t byte) {
    const auto count = static_cast<double>(pairs[(context << 8) | byte]);
    const auto total = static_cast<double>(contexts[context]);
    bits += std::log2((total + added_in_all) / (count + added));
  });
  return bits / static_cast<double>(validation.size() - k);
}

}  // namespace napkin
