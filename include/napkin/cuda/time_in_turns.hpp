// Which of several ways to the same results the device takes least time for: what algorithms are chosen by.
#pragma once

#include <cstddef>
#include <source_location>
#include <vector>

#include "napkin/core/function_ref.hpp"
#include "napkin/cuda/stream.hpp"

namespace napkin::on_cuda {

/// Milliseconds of one call of each way, the least of several rounds in which they take turns, as noise only
/// adds to it; infinity of a way that does not run. One that is far behind after a round takes no more; of a
/// single way it is only asked whether it runs. put(i) puts way i into the stream, and says whether it could.
///
/// Calls that are over sooner than the host launches them are timed as a captured step repeats them: many at
/// a time, behind a kernel that keeps the device until they are all there.
std::vector<float> time_in_turns(const stream& on, std::size_t ways, function_ref<bool(std::size_t)> put,
                                 std::source_location where = std::source_location::current());

/// Put a kernel into the stream that does nothing for so long. Launch errors are the stream's to check.
void occupy(unsigned microseconds, stream_handle on);

}  // namespace napkin::on_cuda
