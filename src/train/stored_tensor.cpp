// Pieces of parameters are moved between two orders, tensor by tensor, by way of a copy of it.
#include "napkin/train/stored_tensor.hpp"

#include <algorithm>

namespace napkin::detail {

namespace {

void lay(std::span<const tensor_on_host> tensors, bool by_rows, const storage& room) {
  auto* const from = static_cast<float*>(room.data());
  for (const auto& [data, as] : tensors) {
    std::copy_n(data, as.length(), from);
    const std::size_t row = as.length() / as.rows;
    std::size_t before = 0;  // elements of a row
    for (const std::size_t piece : as.pieces) {
      for (std::size_t r = 0; r < as.rows; ++r) {
        const std::size_t behind = before * as.rows + r * piece, in_row = r * row + before;
        std::copy_n(from + (by_rows ? behind : in_row), piece, data + (by_rows ? in_row : behind));
      }
      before += piece;
    }
  }
}

}  // namespace

storage room_to_lay(std::span<const tensor_on_host> tensors) {
  std::size_t most = 0;
  for (const tensor_on_host& t : tensors) most = std::max(most, t.as.length());
  return storage(most * sizeof(float));
}

void lay_behind_one_another(std::span<const tensor_on_host> tensors, const storage& room) {
  lay(tensors, false, room);
}

laid_by_rows::laid_by_rows(std::span<const tensor_on_host> tensors)
    : tensors_(tensors), room_(room_to_lay(tensors)) {
  lay(tensors_, true, room_);
}
laid_by_rows::~laid_by_rows() { lay(tensors_, false, room_); }

}  // namespace napkin::detail
