// Running a planned contraction: blocks in parallel, each by oneDNN where the library was built with it and
// the strides allow, else by loops of this library's own.
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
/// others. The bits of c do not depend on the number of threads. Allocates nothing itself (oneDNN takes
/// scratch memory of its own); about 0.3 MB of stack.
///
/// Errors  `error` where an epilogue is given and the plan's blocks are not contiguous; `system_error` where
///         oneDNN refuses (out of memory).
void contract(const contraction_plan& plan, const void* a, const void* b, void* c, void* workspace,
              contraction_epilogue epilogue = {});

/// The same by plain loops alone, whatever the library was built with: what the other is tested against.
void contract_plain(const contraction_plan& plan, const void* a, const void* b, void* c, void* workspace,
                    contraction_epilogue epilogue = {});

}  // namespace napkin::on_cpu
