// What each instruction of PTX does to the lanes of a warp, by families of a file each.
#pragma once

#include <span>
#include <string_view>

#include "emulated/ptx.hpp"

namespace napkin::testing::ptx {

/// Sets what an instruction does by its name, whose parts were separated by dots; its operands are there.
/// False: there is no such instruction here.
bool find(std::span<const std::string_view> parts, instruction& i);

// The families. Null: none of theirs.
handler arithmetic(std::span<const std::string_view> parts, const instruction& i);
handler memory_access(std::span<const std::string_view> parts, instruction& i);  // sets is_volatile
handler collective(std::span<const std::string_view> parts, instruction& i);     // sets is_collective, mask

}  // namespace napkin::testing::ptx
