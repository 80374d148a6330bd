// The words for an array that is not what a tensor's axes say.
#include "napkin/tensor/misfit.hpp"

namespace napkin::detail {

std::string misfit(dtype wanted, std::span<const axis_info> axes, dtype found,
                   std::span<const std::uint64_t> shape, std::string_view what) {
  std::string problems;
  const auto add = [&problems](const std::string& text) {
    problems += (problems.empty() ? "" : "; ") + text;
  };
  if (wanted != found)
    add("expected " + std::string(name_of(wanted)) + ", found " + std::string(name_of(found)));
  if (axes.size() != shape.size()) {
    std::string names, sizes;
    for (const axis_info& axis : axes) names += (names.empty() ? "" : ", ") + std::string(axis.name);
    for (const std::uint64_t size : shape) sizes += (sizes.empty() ? "" : ", ") + std::to_string(size);
    add("expected " + std::to_string(axes.size()) + " axes (" + names + "), found shape [" + sizes + "]");
    return problems;
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const extent size = axes[i].size;
    if (size.dynamic ? shape[i] <= size.bound : shape[i] == size.bound) continue;
    add("axis '" + std::string(axes[i].name) + "' has " + (size.dynamic ? "at most " : "") +
        std::to_string(size.bound) + " elements, axis " + std::to_string(i) + " of " + std::string(what) +
        " " + std::to_string(shape[i]));
  }
  return problems;
}

}  // namespace napkin::detail
