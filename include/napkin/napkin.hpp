// The whole library for the CPU in one include. A program that needs less may include the headers that it
// uses: each compiles alone. For the GPU add napkin/cuda.hpp.
#pragma once

// What tensors are made of.
#include "napkin/core/dim.hpp"
#include "napkin/core/dtype.hpp"
#include "napkin/core/error.hpp"
#include "napkin/core/finfo.hpp"
#include "napkin/core/random.hpp"
#include "napkin/core/shape.hpp"
#include "napkin/tensor/create.hpp"
#include "napkin/tensor/print.hpp"
#include "napkin/tensor/tensor.hpp"

// What is done with them.
#include "napkin/ops/concat.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/function.hpp"
#include "napkin/ops/indexing.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/ops/movement.hpp"
#include "napkin/ops/pattern.hpp"
#include "napkin/ops/reduce.hpp"
#include "napkin/ops/reshape.hpp"
#include "napkin/passes/grad.hpp"

// What it costs, and where it runs.
#include "napkin/cost/conventions.hpp"
#include "napkin/cost/cost.hpp"
#include "napkin/cost/device.hpp"
#include "napkin/cost/report.hpp"
#include "napkin/cost/rules_of_thumb.hpp"
#include "napkin/cpu/cost.hpp"
#include "napkin/cpu/lower.hpp"

// Models and their training. The layers cost hardly anything to include: 1.08 s for all of this against 1.06
// s without them (g++ 12 at its defaults, median of 5).
#include "napkin/nn/activation.hpp"
#include "napkin/nn/attention.hpp"
#include "napkin/nn/layers.hpp"
#include "napkin/nn/loss.hpp"
#include "napkin/nn/norm.hpp"
#include "napkin/nn/rotary.hpp"
#include "napkin/nn/softmax.hpp"
#include "napkin/nn/transformer.hpp"
#include "napkin/ops/init.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/optim/clip.hpp"
#include "napkin/optim/schedule.hpp"
#include "napkin/train/checkpoint.hpp"
#include "napkin/train/corpus.hpp"
#include "napkin/train/generate.hpp"
#include "napkin/train/ngram.hpp"
#include "napkin/train/progress.hpp"
#include "napkin/train/sampler.hpp"
#include "napkin/train/sampling.hpp"
#include "napkin/train/step.hpp"
#include "napkin/train/stop_signal.hpp"
#include "napkin/train/trainer.hpp"
#include "napkin/train/validation.hpp"
