// The only door to cuBLASLt, as cuda/calls.hpp is to the CUDA runtime: raw calls that answer as the library
// does, so that a test can stand in for it. cuda/blas.hpp checks and owns. Includes no header of cuBLASLt's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "napkin/cuda/blas_product.hpp"
#include "napkin/cuda/calls.hpp"

namespace napkin::on_cuda {

using blas_handle = struct blas_handle_object*;
using blas_descriptor = struct blas_descriptor_object*;
using blas_layout = struct blas_layout_object*;
using blas_preference = struct blas_preference_object*;

enum class descriptor_attribute : std::uint8_t {
  transpose_a,  // 0 or 1
  transpose_b,
  epilogue,   // a blas_epilogue
  bias,       // a device pointer: to the bias, or to where its gradient goes
  bias_type,  // a dtype
  aux,        // a device pointer
  aux_type,   // a dtype
  aux_ld,     // elements
  aux_batch_stride,
  factor_a,  // device pointers to an f32 each, of 8-bit matrices: what A, and what B, is multiplied by
  factor_b,
  adds_fast  // 0 or 1
};
enum class layout_attribute : std::uint8_t {
  batch_count,
  batch_stride,
  by_addresses  // 0 or 1: matrices lie where an array on the device says
};
enum class preference_attribute : std::uint8_t { workspace, align_a, align_b, align_c, align_d };  // bytes

/// One of cuBLASLt's algorithms with all of its settings: bits that only the same version of it can read.
/// Or that kernels of our own do it, or its epilogue behind the call of a product without.
struct blas_algorithm {
  std::array<std::uint64_t, 8> data{};
  std::uint64_t workspace = 0;  // bytes
  bool by_addresses = false;    // for a batch of which an array on the device says where each matrix lies
  apart left = apart::nothing;  // to our own kernels; if anything, nothing else here says anything
  bool operator==(const blas_algorithm&) const = default;
};

/// The descriptors of one matmul.
struct blas_descriptors {
  blas_descriptor operation = nullptr;
  blas_layout a = nullptr, b = nullptr, c = nullptr;
};

/// D = alpha * op(A) * op(B) + beta * C. Alpha and beta lie in host memory, in the product's scale type. By
/// addresses, a to d are arrays of them on the device.
struct blas_arguments {
  const void *alpha, *a, *b, *beta, *c;
  void* d;
  void* workspace;
  std::size_t workspace_bytes;
};

/// The raw calls, each named for cuBLASLt's own. They answer with a cublasStatus_t as a number, 0 for
/// success.
class blas_calls {
 public:
  explicit blas_calls(cuda_calls& cuda) : cuda_(&cuda) {}
  virtual ~blas_calls() = default;

  virtual std::uint64_t version() = 0;  // 130002 for 13.0.2
  virtual int create(blas_handle& made) = 0;
  virtual int destroy(blas_handle handle) = 0;
  virtual int descriptor_create(blas_descriptor& made, blas_compute compute, dtype scale) = 0;
  virtual int descriptor_destroy(blas_descriptor descriptor) = 0;
  virtual int descriptor_set(blas_descriptor descriptor, descriptor_attribute attribute,
                             std::int64_t value) = 0;
  virtual int layout_create(blas_layout& made, const blas_matrix& matrix) = 0;  // not yet its batch
  virtual int layout_destroy(blas_layout layout) = 0;
  virtual int layout_set(blas_layout layout, layout_attribute attribute, std::int64_t value) = 0;
  /// Partial sums stay in the type that sums are made in.
  virtual int preference_create(blas_preference& made) = 0;
  virtual int preference_destroy(blas_preference preference) = 0;
  virtual int preference_set(blas_preference preference, preference_attribute attribute,
                             std::uint64_t value) = 0;
  /// The best first, as estimated, with their workspaces.
  virtual int heuristic(blas_handle handle, const blas_descriptors& of, blas_preference preference,
                        std::span<blas_algorithm> found, int& count) = 0;
  /// Whether an algorithm can run this; sets its workspace.
  virtual int check_algorithm(blas_handle handle, const blas_descriptors& of, blas_algorithm& algorithm) = 0;
  virtual int matmul(blas_handle handle, const blas_descriptors& of, const blas_arguments& with,
                     const blas_algorithm& algorithm, stream_handle on) = 0;

  virtual const char* status_name(int status) = 0;

  cuda_calls& cuda() const { return *cuda_; }

 private:
  cuda_calls* cuda_;
};

/// The machine's own cuBLASLt, on `cuda_runtime()`. Throws as that does.
blas_calls& cublas_lt();

}  // namespace napkin::on_cuda
