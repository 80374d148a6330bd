// The threads that kernels run on: one pool for the process, started once and kept. Who runs which task is
// decided while running, so a task may write only what no other task of the call touches, and the order in
// which values are summed must not follow from the number of threads.
#pragma once

#include <cstddef>

#include "napkin/core/function_ref.hpp"

namespace napkin::on_cpu {

/// How many threads `parallel_for` uses, the caller's own among them: what `set_threads` asked for, else the
/// environment's NAPKIN_THREADS, else one for each processor that this process may use.
/// Errors: `input_error` where NAPKIN_THREADS is not a number from 1 to 1024.
std::size_t threads();

/// Use n threads from now on, and start them: after this, `parallel_for` allocates nothing. Not while a
/// `parallel_for` runs.
/// Errors: `input_error` where n is not from 1 to 1024 or the call comes from a task; `system_error` where
/// the system refuses a thread (those that did start remain in use).
void set_threads(std::size_t n);

/// Call task(0), ..., task(tasks - 1), each once, and return when all have returned. The caller takes part.
/// Inside a task, or while another thread's call is using the pool, the tasks run one after the other on the
/// calling thread. Starts the threads at its first use; allocates nothing afterwards.
///
/// Errors: where tasks throw, the exception of the first of them in order; which of the later tasks have run
/// by then is not said.
void parallel_for(std::size_t tasks, function_ref<void(std::size_t task)> task);

}  // namespace napkin::on_cpu
