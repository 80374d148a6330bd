// Running a planned contraction: blocks in parallel, each by tiles held in registers.
#pragma once

#include <cstddef>

#include "napkin/core/function_ref.hpp"
#include "napkin/cpu/contraction.hpp"

namespace napkin::on_cpu {

/// What to do with elements [first, last) of C once they are final and still in cache. Called from the
/// pool's threads, once for each element in all.
using contraction_epilogue = function_ref<void(std::size_t first, std::size_t last)>;

/// c = a * b as planned. a, b and c point to the element at index 0 of every axis, of the plan's dtype;
/// workspace to plan.workspace bytes, aligned to 64, that are its own for the call. c does not overlap the
/// others. The bits of c depend neither on the number of threads nor on how blocks are cut, and in f32 and
/// f64 are the same on every x86-64 with FMA. Allocates nothing; takes 0.6 MB of each thread's stack. (Where
/// the library was built with NAPKIN_ONEDNN, f32 depends on the blocks and the processor, and allocates.)
///
/// Errors  `error` where an epilogue is given and the plan's blocks are not contiguous; `system_error` where
///         oneDNN is used and refuses (out of memory).
void contract(const contraction_plan& plan, const void* a, const void* b, void* c, void* workspace,
              contraction_epilogue epilogue = {});

}  // namespace napkin::on_cpu
