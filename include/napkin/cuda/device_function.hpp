// How a function says that it runs on the device and, compiled by another compiler or for a test, on the
// host.
#pragma once

#include "napkin/plan/scalar.hpp"

#if defined(__CUDACC__)
#define NAPKIN_DEVICE __host__ __device__ __forceinline__
#define NAPKIN_UNROLL _Pragma("unroll")
#define NAPKIN_UNROLL_8 _Pragma("unroll 8")
#define NAPKIN_ROLL _Pragma("unroll 1")
#else
#define NAPKIN_DEVICE NAPKIN_INLINE
#define NAPKIN_UNROLL
#define NAPKIN_UNROLL_8
#define NAPKIN_ROLL
#endif
