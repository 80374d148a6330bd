// What does not fit where an array from outside is to become a tensor, in words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "napkin/core/dim.hpp"
#include "napkin/core/dtype.hpp"

namespace napkin::detail {

/// All at once: another dtype, another number of axes, each axis of another size (above the bound, where it
/// is sized at run time). Empty where all fits. `what` is the array: "the file".
std::string misfit(dtype wanted, std::span<const axis_info> axes, dtype found,
                   std::span<const std::uint64_t> shape, std::string_view what);

}  // namespace napkin::detail
