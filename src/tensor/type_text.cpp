// The words for a tensor's type.
#include "napkin/tensor/type_text.hpp"

namespace napkin::detail {

std::string text_of_type(const described_type& x) {
  std::string text(name_of(x.type));
  text += '[';
  const char* before = "";
  for (const axis_info& axis : x.axes) {
    text += before;
    text += axis.name;
    if (!axis.name.empty()) text += ' ';
    if (axis.size.dynamic) text += "<=";
    text += std::to_string(axis.size.bound);
    before = ", ";
  }
  return text + ']';
}

std::string misfit_of_size(const std::string& what, const described_type& x, std::size_t batches,
                           std::size_t bytes) {
  const std::size_t size = size_of(x.type);
  std::size_t taken = batches, each = 1;  // each: of one position of an axis that is sized at run time
  bool is_open = false;
  for (const axis_info& axis : x.axes) {
    taken *= axis.size.bound;
    each *= axis.size.dynamic ? 1 : axis.size.bound;
    is_open = is_open || axis.size.dynamic;
  }
  const bool whole = bytes % size == 0;
  std::string text = what + " is " + text_of_type(x);
  if (batches > 1) text += ", and " + std::to_string(batches) + " batches are taken";
  const std::size_t unit = whole ? 1 : size;
  text +=
      (is_open ? ": at most " : ": ") + std::to_string(taken * unit) + (whole ? " elements, " : " bytes, ");
  if (is_open) text += "by " + std::to_string(each * unit) + ", ";
  text += std::to_string(whole ? bytes / size : bytes);
  return text + (whole && bytes == size ? " was given" : " were given");
}

}  // namespace napkin::detail
