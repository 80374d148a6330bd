// What the GPU that is the host tells of itself.
#pragma once

#include <cstddef>
#include <string_view>

#include "emulated/machine.hpp"

namespace napkin::testing {

/// What all launches did since this was asked before, of kernels in whose mangled name `of` stands.
ptx::counts counts_since(std::string_view of = {});

/// What kernels were compiled for, as it says when it is asked.
inline int said_ptx_version = 90;

/// Bytes of shared memory of a multiprocessor: 228 KB.
inline int shared_of_multiprocessor = 228 * 1024;

/// How many instructions of plans were looked at (support/instruction_watch.hpp) so far.
std::size_t watched_instructions();

}  // namespace napkin::testing
