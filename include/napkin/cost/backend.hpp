// Backends as types: what `cost<E, backend>` and `plan_of<E, backend>` are asked about. Tags only; what a
// backend does is in the folder of its name.
#pragma once

namespace napkin {

/// The processor that the program itself runs on: the default everywhere.
struct cpu {};

/// An NVIDIA GPU, the one that the calling thread uses. It has the tensors that lie there, cuda::tensor; it
/// and what runs on it are complete after napkin/cuda.hpp.
struct cuda;

}  // namespace napkin
