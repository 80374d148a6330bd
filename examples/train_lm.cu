// train_lm.cpp on a GPU: the same program, whose step is lowered to kernels that nvcc compiles with it.
#define NAPKIN_TRAIN_ON_GPU
#include <napkin/cuda.hpp>

#include "train_lm.cpp"
