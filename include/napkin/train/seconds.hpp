// The time, as programs that train measure it. A declaration alone: <chrono> brings streams with it, which
// every program that includes the library would read.
#pragma once

namespace napkin {

/// Seconds by a clock that never goes back, from a moment of its own.
double steady_seconds();

}  // namespace napkin
