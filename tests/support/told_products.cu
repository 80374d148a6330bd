// Tells compute-sanitizer's initcheck what cuBLASLt writes. The tool does not see its kernels for 16-bit floats
// write on an H200 (they seem to do it by the tensor memory accelerator), and takes each element of their results
// for memory that nobody wrote. Where NAPKIN_CHECKED_BY is initcheck, a kernel that the tool sees fills each
// result first, with NaNs, so that what a product left out would be wrong. A part of test_gpu alone, which is
// linked so that calls of cublasLtMatmul come here.
#include <cublasLt.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

__global__ void fill(unsigned char* to, std::uint64_t column_bytes, std::uint64_t columns,
                     std::int64_t stride) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < column_bytes * columns;
       i += step)
    to[static_cast<std::int64_t>(i / column_bytes) * stride + static_cast<std::int64_t>(i % column_bytes)] =
        0xff;
}

std::int64_t size_of(std::uint32_t type) {
  switch (type) {
    case CUDA_R_64F:
      return 8;
    case CUDA_R_32F:
      return 4;
    case CUDA_R_16F:
    case CUDA_R_16BF:
      return 2;
    default:
      return 1;
  }
}
template <class T>
T get(cublasLtMatrixLayout_t of, cublasLtMatrixLayoutAttribute_t name) {
  T x{};
  cublasLtMatrixLayoutGetAttribute(of, name, &x, sizeof x, nullptr);
  return x;
}
template <class T>
T get(cublasLtMatmulDesc_t of, cublasLtMatmulDescAttributes_t name) {
  T x{};
  cublasLtMatmulDescGetAttribute(of, name, &x, sizeof x, nullptr);
  return x;
}

/// A matrix whose size and dtype are the layout's.
void fill_matrix(void* at, cublasLtMatrixLayout_t layout, std::int64_t ld, std::int64_t batch_stride,
                 cudaStream_t stream) {
  const std::int64_t size = size_of(get<std::uint32_t>(layout, CUBLASLT_MATRIX_LAYOUT_TYPE));
  const auto rows = get<std::uint64_t>(layout, CUBLASLT_MATRIX_LAYOUT_ROWS),
             columns = get<std::uint64_t>(layout, CUBLASLT_MATRIX_LAYOUT_COLS);
  const auto batch = get<std::int32_t>(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  for (std::int32_t t = 0; t < batch; ++t)
    fill<<<64, 256, 0, stream>>>(static_cast<unsigned char*>(at) + t * batch_stride * size,
                                 rows * static_cast<std::uint64_t>(size), columns, ld * size);
}

bool is_told() {
  const char* tool = std::getenv("NAPKIN_CHECKED_BY");
  return tool != nullptr && std::strcmp(tool, "initcheck") == 0;
}
bool is_zero(const void* scale, cublasLtMatmulDesc_t of) {
  const bool doubles = get<std::int32_t>(of, CUBLASLT_MATMUL_DESC_SCALE_TYPE) == CUDA_R_64F;
  return doubles ? *static_cast<const double*>(scale) == 0 : *static_cast<const float*>(scale) == 0;
}
/// Whose matrices are named by addresses in the device's memory. Those of cuBLAS 13 alone may be.
bool is_by_addresses([[maybe_unused]] cublasLtMatrixLayout_t layout) {
#if CUBLAS_VERSION >= 130000
  return get<std::uint32_t>(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_MODE) == CUBLASLT_BATCH_MODE_POINTER_ARRAY;
#else
  return false;
#endif
}

}  // namespace

using matmul = cublasStatus_t(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void*,
                              cublasLtMatrixLayout_t, const void*, cublasLtMatrixLayout_t, const void*,
                              const void*, cublasLtMatrixLayout_t, void*, cublasLtMatrixLayout_t,
                              const cublasLtMatmulAlgo_t*, void*, std::size_t, cudaStream_t);
extern "C" matmul __real_cublasLtMatmul;

extern "C" cublasStatus_t __wrap_cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                                const void* alpha, const void* a, cublasLtMatrixLayout_t of_a,
                                                const void* b, cublasLtMatrixLayout_t of_b, const void* beta,
                                                const void* c, cublasLtMatrixLayout_t of_c, void* d,
                                                cublasLtMatrixLayout_t of_d,
                                                const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                                                std::size_t bytes, cudaStream_t stream) {
  static const bool told = is_told();
  if (told && !is_by_addresses(of_d)) {
    if (c != d || is_zero(beta, operation))
      fill_matrix(d, of_d, get<std::int64_t>(of_d, CUBLASLT_MATRIX_LAYOUT_LD),
                  get<std::int64_t>(of_d, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET), stream);
    const auto then = get<std::uint32_t>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE);
    if (then == CUBLASLT_EPILOGUE_GELU_AUX || then == CUBLASLT_EPILOGUE_GELU_AUX_BIAS)
      fill_matrix(get<void*>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER), of_d,
                  get<std::int64_t>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD),
                  get<std::int64_t>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE), stream);
  }
  return __real_cublasLtMatmul(handle, operation, alpha, a, of_a, b, of_b, beta, c, of_c, d, of_d, algorithm,
                               workspace, bytes, stream);
}
