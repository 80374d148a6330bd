// What this machine's processors can do at most, by running them: multiply-adds that stay in registers, and
// copies that no cache holds. Half a second; train/host_device.hpp keeps the result.
#pragma once

#include <cstddef>

namespace napkin::on_cpu {

/// Rates of all threads together.
struct measured_peaks {
  double f32 = 0, f64 = 0;  // FLOP/s, two for a multiply-add
  double bf16 =
      0;  // by the matrix unit, or the instruction for pairs; f32's where there is neither, since it is
          // widened to that
  double bandwidth = 0;  // bytes a second read and written, of two arrays added into a third
};

/// Of five times, the median of the best of three short trials, on as many threads as kernels use. Not while
/// a `parallel_for` runs.
///
/// Errors  std::bad_alloc where some 200 MB are not to be had
measured_peaks measure_peaks();

}  // namespace napkin::on_cpu
