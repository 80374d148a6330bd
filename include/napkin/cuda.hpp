// The whole library for the GPU, beside the CPU: tensors there, and the trainer. nvcc compiles the kernels
// that a program needs with it; other compilers take all but the lines that compute.
#pragma once

// What words mistakes, as in napkin.hpp and for its reason; what the GPU adds stands last.
// clang-format off
#include "napkin/core/say.hpp"
#include "napkin/core/dim.hpp"
#include "napkin/core/rules.hpp"
#include "napkin/tensor/operand.hpp"
#include "napkin/tensor/lower.hpp"
#include "napkin/tensor/elements.hpp"
#include "napkin/tensor/tensor.hpp"
#include "napkin/tensor/create.hpp"
#include "napkin/ops/expression.hpp"
#include "napkin/ops/axes.hpp"
#include "napkin/ops/broadcast.hpp"
#include "napkin/ops/move.hpp"
#include "napkin/ops/reduce.hpp"
#include "napkin/ops/monoid.hpp"
#include "napkin/ops/pattern_rules.hpp"
#include "napkin/ops/pattern.hpp"
#include "napkin/ops/reshape.hpp"
#include "napkin/ops/movement.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/ops/function.hpp"
#include "napkin/passes/grad.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/cost/gradient.hpp"
#include "napkin/cost/time.hpp"
#include "napkin/nn/softmax.hpp"
#include "napkin/nn/norm.hpp"
#include "napkin/nn/rotary.hpp"
#include "napkin/train/parameter_layout.hpp"
#include "napkin/train/step.hpp"
#include "napkin/train/budget.hpp"
#include "napkin/train/trainer.hpp"
#include "napkin/cuda/tensor.hpp"
#include "napkin/cuda/gradient.hpp"
#include "napkin/train/cuda_trainer.hpp"
// clang-format on

#include "napkin/cuda/blas.hpp"
#include "napkin/cuda/cost.hpp"
#include "napkin/cuda/device.hpp"
#include "napkin/cuda/executor.hpp"
#include "napkin/cuda/memory.hpp"
#include "napkin/cuda/plan.hpp"
#include "napkin/cuda/session.hpp"
#include "napkin/cuda/stream.hpp"
#include "napkin/cuda/transfer.hpp"
#include "napkin/napkin.hpp"

#if defined(__CUDACC__)
#include "napkin/cuda/launch.cuh"
#endif
