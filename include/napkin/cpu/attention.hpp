// Attention as one operation on the CPU: plain loops (passes/attention_loops.hpp), rows dealt to threads. Not
// what a model is lowered to here: matrix products are faster (docs/lowering.md says by how much), and the
// pass that makes such nodes is the GPU's. Graphs that have them run all the same.
#pragma once

#include "napkin/cpu/tables.hpp"

namespace napkin::on_cpu {

/// Allocates nothing. The same bits at any number of threads: a row is one thread's.
///
/// Errors  `error` for a dtype that is not floating
void attend(const planning::attention_record& record, const attention_call& at);

}  // namespace napkin::on_cpu
