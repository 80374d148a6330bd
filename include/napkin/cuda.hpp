// What runs plans on a GPU, beside the umbrella. nvcc also gets `kernels_of<Plan>`, the compiled kernels of
// one; other compilers, in a program of several files, run the tables that nvcc made.
#pragma once

#include "napkin/cuda/blas.hpp"
#include "napkin/cuda/device.hpp"
#include "napkin/cuda/executor.hpp"
#include "napkin/cuda/memory.hpp"
#include "napkin/cuda/plan.hpp"
#include "napkin/cuda/stream.hpp"
#include "napkin/cuda/transfer.hpp"
#include "napkin/napkin.hpp"

#if defined(__CUDACC__)
#include "napkin/cuda/launch.cuh"
#endif
