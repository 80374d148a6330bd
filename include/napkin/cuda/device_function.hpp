// How a function says that it runs on the device and, compiled by another compiler or for a test, on the
// host.
#pragma once

#include "napkin/plan/scalar.hpp"

#if defined(__CUDACC__)
#define NAPKIN_DEVICE __host__ __device__ __forceinline__
#define NAPKIN_UNROLL _Pragma("unroll")
#else
#define NAPKIN_DEVICE NAPKIN_INLINE
#define NAPKIN_UNROLL
#endif
