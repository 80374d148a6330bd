// What each instruction of PTX does to the lanes of a warp.
#pragma once

#include <span>
#include <string_view>

#include "emulated/ptx.hpp"

namespace napkin::testing::ptx {

/// Sets what an instruction does by its name, whose parts were separated by dots; its operands are there.
/// False: there is no such instruction here.
bool find(std::span<const std::string_view> parts, instruction& i);

}  // namespace napkin::testing::ptx
