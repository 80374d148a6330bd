// Kernels as nvcc writes them in PTX, read from its text: each an array of instructions whose operands are
// numbers of registers, constants and special registers among them, and whose `run` does what it says to the
// lanes of a warp. Of PTX as much as the project's kernels and CUB's sort are made of; another instruction is an
// error when the text is read. Source: "Parallel Thread Execution ISA", version 9.0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace napkin::testing::ptx {

inline constexpr unsigned warp_size = 32;

class warp;
struct instruction;
using handler = void (*)(warp&, const instruction&);

/// What the machine itself does; all else is `run`'s.
enum class control : std::uint8_t { none, branch, exit, block_barrier, block_any, block_all };

struct instruction {
  handler run = nullptr;
  control what = control::none;
  bool is_collective = false;  // done by all lanes of its mask at once
  bool guard_is_negated = false;
  bool is_volatile = false;
  std::uint8_t count = 1;   // elements of a vector that moves
  std::uint8_t writes = 1;  // operands, from the first on, that it writes; the others it reads
  std::int32_t guard = -1;  // a predicate's register, or none
  std::int32_t mask = -1;   // of a collective: the register that says which lanes; none: all
  std::int32_t target = 0;  // of a branch: an instruction's number
  std::int64_t offset = 0;  // bytes past an address
  std::int32_t x[14] = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};  // registers; none: -1
  std::string text;
};

struct parameter {
  std::size_t offset, size;  // bytes
};

/// Registers that are there before the first instruction.
enum special : std::int32_t {
  tid_x,
  tid_y,
  tid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  warpid,
  lanemask_lt,
  lanemask_le,
  specials
};

struct kernel {
  std::string name;
  std::vector<parameter> parameters;
  std::size_t parameter_bytes = 0;
  std::size_t shared_bytes = 0;  // without what a launch adds
  std::size_t max_threads = 1024;
  bool waits = false;  // for kernels that it may start before the end of (griddepcontrol.wait)
  std::int32_t registers = specials;
  std::vector<std::pair<std::int32_t, std::uint64_t>> constants;  // registers that keep one value
  std::vector<instruction> code;
};

/// The kernels of one text, and its variables in global memory, which live as long as it.
struct module {
  std::map<std::string, kernel, std::less<>> kernels;
  std::vector<std::unique_ptr<std::uint64_t[]>> globals;
};

/// Throws std::runtime_error with the statement that it does not know.
module read(std::string_view text);

}  // namespace napkin::testing::ptx
