// Copying what there is of an input to where a plan reads as many elements as there may be.
#include "napkin/train/handed_data.hpp"

namespace napkin::detail {
namespace {

/// Bytes of what lies behind one position of an axis.
std::size_t bytes_within(const handed_input& x, std::size_t axis) {
  std::size_t n = size_of(x.type.type);
  for (std::size_t i = axis + 1; i < x.type.axes.size(); ++i) n *= x.type.axes[i].size.bound;
  return n;
}
bool is_full(const handed_input& x, std::size_t axis) {
  for (std::size_t i = axis; i < x.type.axes.size(); ++i)
    if (x.sizes[i] != x.type.axes[i].size.bound) return false;
  return true;
}

void walk(const handed_input& x, std::size_t axis, const std::byte* at, std::size_t& before,
          function_ref<void(std::span<const std::byte>, std::size_t)> f) {
  const std::size_t rank = x.type.axes.size();
  if (is_full(x, axis + 1)) {  // along this axis there is no gap
    const std::size_t bytes = rank == 0 ? size_of(x.type.type) : x.sizes[axis] * bytes_within(x, axis);
    if (bytes != 0) f({at, bytes}, before);
    before += bytes / size_of(x.type.type);
    return;
  }
  const std::size_t step = bytes_within(x, axis);
  for (std::size_t i = 0; i < x.sizes[axis]; ++i) walk(x, axis + 1, at + i * step, before, f);
}

void pad(const handed_input& x, std::size_t axis, const std::byte* from, std::byte* to) {
  const std::size_t step = bytes_within(x, axis), size = x.sizes[axis], bound = x.type.axes[axis].size.bound;
  if (is_full(x, axis + 1)) {
    if (size != 0) std::memcpy(to, from, size * step);
  } else {
    for (std::size_t i = 0; i < size; ++i) pad(x, axis + 1, from + i * step, to + i * step);
  }
  if (size == 0) std::memset(to, 0, bound * step);
  for (std::size_t i = size; size != 0 && i < bound; ++i)
    std::memcpy(to + i * step, to + (size - 1) * step, step);
}

}  // namespace

void for_each_run(const handed_input& x, function_ref<void(std::span<const std::byte>, std::size_t)> f) {
  std::size_t before = 0;
  walk(x, 0, x.data, before, f);
}

void write_padded(const handed_input& x, std::byte* to) {
  if (x.type.axes.empty())
    std::memcpy(to, x.data, size_of(x.type.type));
  else
    pad(x, 0, x.data, to);
}

std::array<std::size_t, max_rank> sizes_of_container(const std::string& what, const described_type& x,
                                                     std::size_t batches, std::size_t bytes) {
  std::array<std::size_t, max_rank> sizes{};
  std::size_t each = size_of(x.type);
  for (std::size_t k = 0; k < x.axes.size(); ++k) {
    sizes[k] = x.axes[k].size.bound;
    if (k == 0) continue;
    each *= sizes[k];
    if (x.axes[k].size.dynamic)
      throw input_error(what + " is " + text_of_type(x) +
                        ": values alone do not say how long its axes are, give it a tensor");
  }
  if (each == 0 || bytes % each != 0 || bytes / each > sizes[0])
    throw input_error(misfit_of_size(what, x, batches, bytes));
  sizes[0] = bytes / each;
  return sizes;
}

}  // namespace napkin::detail
