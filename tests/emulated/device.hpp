// What the GPU that is the host tells of itself.
#pragma once

#include "emulated/machine.hpp"

namespace napkin::testing {

/// What all launches did since this was asked before.
ptx::counts counts_since();

}  // namespace napkin::testing
