// Looking through a batch's labels.
#include "napkin/train/labels.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "napkin/core/error.hpp"

namespace napkin::detail {
namespace {

template <class T>
void check(std::size_t i, const label_range& r, std::span<const std::byte> labels, std::size_t before) {
  for (std::size_t at = 0; at < labels.size() / sizeof(T); ++at) {
    T label;
    std::memcpy(&label, labels.data() + at * sizeof label, sizeof label);
    if (label >= 0 && std::cmp_less(label, r.classes)) continue;
    if (r.ignores && static_cast<std::int64_t>(label) == r.ignored) continue;
    throw input_error("trainer: input " + std::to_string(i) + " of the loss has the label " +
                      std::to_string(label) + " at place " + std::to_string(before + at) +
                      ", and cross_entropy has " + std::to_string(r.classes) + " classes" +
                      (r.ignores ? " and ignores " + std::to_string(r.ignored)
                                 : "; cross_entropy<\"axis\", ignored> leaves out one that means nothing"));
  }
}

}  // namespace

void check_labels(std::size_t i, const label_range& r, dtype type, std::span<const std::byte> labels,
                  std::size_t before) {
  if (r.classes == 0) return;
  switch (type) {
    case dtype::i64:
      return check<std::int64_t>(i, r, labels, before);
    case dtype::i32:
      return check<std::int32_t>(i, r, labels, before);
    case dtype::i16:
      return check<std::int16_t>(i, r, labels, before);
    case dtype::i8:
      return check<std::int8_t>(i, r, labels, before);
    case dtype::u32:
      return check<std::uint32_t>(i, r, labels, before);
    case dtype::u16:
      return check<std::uint16_t>(i, r, labels, before);
    case dtype::u8:
      return check<std::uint8_t>(i, r, labels, before);
    default:
      return;
  }
}

}  // namespace napkin::detail
