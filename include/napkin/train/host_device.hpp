// The machine that the program runs on as a device among the others: peaks measured once, then read from a
// file in the user's cache. What a cache holds is checked; what is wrong with it is measured anew, never
// trusted.
#pragma once

#include <string>

#include "napkin/cost/device.hpp"
#include "napkin/train/file_system.hpp"

namespace napkin {

/// Peaks in f32, f64 and bf16 of all threads that kernels use, bandwidth and memory; f16 is multiplied as
/// f32. It is of this machine, this number of threads and this moment: measure it where nothing else runs.
///
/// Looks into `cache` first; measures (half a second) and writes it where there is none for this
/// processor and as many threads. A cache that cannot be written is no error. "" measures and keeps nothing.
device host_device(file_system& files, const std::string& cache);
device host_device();  ///< with cache_path("host")

}  // namespace napkin
