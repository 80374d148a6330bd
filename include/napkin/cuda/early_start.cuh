// Kernels that a GPU may begin before those they wait for are over: programmatic dependent launches.
#pragma once

namespace napkin::on_cuda {

/// The first that each thread of a kernel does, before it touches memory: lets kernels that wait for this one
/// take the room that its blocks leave, and waits until those that it waits for have ended and written. A
/// kernel that ended without waiting would let others begin before what it is to wait for is over. Does
/// nothing where kernels are launched in turn (graph_capture.hpp), and before compute capability 9.0.
///
/// Source  "CUDA C++ Programming Guide" 13.0, "Programmatic Dependent Launch and Synchronization"; PTX's
///         griddepcontrol
__device__ __forceinline__ void wait_for_earlier_kernels() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace napkin::on_cuda
