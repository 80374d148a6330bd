// A tensor's type in words, and how many elements it has where other many were given.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "napkin/core/dim.hpp"
#include "napkin/core/dtype.hpp"
#include "napkin/core/shape.hpp"

namespace napkin::detail {

/// A tensor's type as a value.
struct described_type {
  dtype type;
  std::span<const axis_info> axes;
};
template <class X>
constexpr described_type described() {
  return {dtype_of<typename X::element>, axis_infos_of(axes_of<X>{})};
}
/// "f32[batch 4, seq 128]"; "seq <=128" of an axis that is sized at run time.
std::string text_of_type(const described_type& x);

/// That so many bytes are not `batches` of what belongs there; `what`: "input 0".
std::string misfit_of_size(const std::string& what, const described_type& x, std::size_t batches,
                           std::size_t bytes);

}  // namespace napkin::detail
