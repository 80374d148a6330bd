// The machine's own cuBLASLt behind `blas_calls`: one line a call. Where the library is built without the
// toolkit, words that say so.
#include "napkin/core/error.hpp"
#include "napkin/cuda/blas_calls.hpp"

#if NAPKIN_HAS_CUDA
#include <cublasLt.h>

#include <cstring>
#include <vector>

namespace napkin::on_cuda {
namespace {

static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(blas_algorithm::data));

constexpr cudaDataType_t type_of(dtype type) {
  switch (type) {
    case dtype::f64:
      return CUDA_R_64F;
    case dtype::f32:
      return CUDA_R_32F;
    case dtype::f16:
      return CUDA_R_16F;
    case dtype::bf16:
      return CUDA_R_16BF;
    case dtype::f8e4m3:
      return CUDA_R_8F_E4M3;
    case dtype::f8e5m2:
      return CUDA_R_8F_E5M2;
    default:
      throw error("blas: no matrices of " + std::string(name_of(type)));
  }
}

constexpr cublasComputeType_t compute_of(blas_compute compute) {
  switch (compute) {
    case blas_compute::f64:
      return CUBLAS_COMPUTE_64F;
    case blas_compute::tf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case blas_compute::f32:
    case blas_compute::fast_f32:  // an attribute says it
      break;
  }
  return CUBLAS_COMPUTE_32F;
}

constexpr cublasLtEpilogue_t epilogue_of(blas_epilogue e) {
  switch (e) {
    case blas_epilogue::none:
      break;
    case blas_epilogue::bias:
      return CUBLASLT_EPILOGUE_BIAS;
    case blas_epilogue::gelu:
      return CUBLASLT_EPILOGUE_GELU;
    case blas_epilogue::gelu_bias:
      return CUBLASLT_EPILOGUE_GELU_BIAS;
    case blas_epilogue::gelu_saved:
      return CUBLASLT_EPILOGUE_GELU_AUX;
    case blas_epilogue::gelu_saved_bias:
      return CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
    case blas_epilogue::gelu_gradient:
      return CUBLASLT_EPILOGUE_DGELU;
    case blas_epilogue::gelu_gradient_bias:
      return CUBLASLT_EPILOGUE_DGELU_BGRAD;
    case blas_epilogue::bias_gradient_a:
      return CUBLASLT_EPILOGUE_BGRADA;
    case blas_epilogue::bias_gradient_b:
      return CUBLASLT_EPILOGUE_BGRADB;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

cublasLtHandle_t real(blas_handle x) { return reinterpret_cast<cublasLtHandle_t>(x); }
cublasLtMatmulDesc_t real(blas_descriptor x) { return reinterpret_cast<cublasLtMatmulDesc_t>(x); }
cublasLtMatrixLayout_t real(blas_layout x) { return reinterpret_cast<cublasLtMatrixLayout_t>(x); }
cublasLtMatmulPreference_t real(blas_preference x) { return reinterpret_cast<cublasLtMatmulPreference_t>(x); }

cublasLtMatmulAlgo_t real(const blas_algorithm& x) {
  cublasLtMatmulAlgo_t algorithm;
  std::memcpy(&algorithm, x.data.data(), sizeof algorithm);
  return algorithm;
}

class runtime final : public blas_calls {
 public:
  runtime() : blas_calls(cuda_runtime()) {}

  std::uint64_t version() override { return cublasLtGetVersion(); }
  int create(blas_handle& made) override {
    cublasLtHandle_t handle = nullptr;
    const int status = cublasLtCreate(&handle);
    made = reinterpret_cast<blas_handle>(handle);
    return status;
  }
  int destroy(blas_handle handle) override { return cublasLtDestroy(real(handle)); }

  int descriptor_create(blas_descriptor& made, blas_compute compute, dtype scale) override {
    cublasLtMatmulDesc_t descriptor = nullptr;
    const int status = cublasLtMatmulDescCreate(&descriptor, compute_of(compute), type_of(scale));
    made = reinterpret_cast<blas_descriptor>(descriptor);
    return status;
  }
  int descriptor_destroy(blas_descriptor descriptor) override {
    return cublasLtMatmulDescDestroy(real(descriptor));
  }
  int descriptor_set(blas_descriptor descriptor, descriptor_attribute attribute,
                     std::int64_t value) override {
    const auto set = [&](cublasLtMatmulDescAttributes_t name, auto x) -> int {
      return cublasLtMatmulDescSetAttribute(real(descriptor), name, &x, sizeof x);
    };
    const auto transpose = static_cast<std::int32_t>(value != 0 ? CUBLAS_OP_T : CUBLAS_OP_N);
    switch (attribute) {
      case descriptor_attribute::transpose_a:
        return set(CUBLASLT_MATMUL_DESC_TRANSA, transpose);
      case descriptor_attribute::transpose_b:
        return set(CUBLASLT_MATMUL_DESC_TRANSB, transpose);
      case descriptor_attribute::epilogue:
        return set(CUBLASLT_MATMUL_DESC_EPILOGUE,
                   static_cast<std::uint32_t>(epilogue_of(static_cast<blas_epilogue>(value))));
      case descriptor_attribute::bias:
        return set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<void*>(value));
      case descriptor_attribute::bias_type:
        return set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE,
                   static_cast<std::int32_t>(type_of(static_cast<dtype>(value))));
      case descriptor_attribute::aux_type:
        return set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE,
                   static_cast<std::int32_t>(type_of(static_cast<dtype>(value))));
      case descriptor_attribute::aux:
        return set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, reinterpret_cast<void*>(value));
      case descriptor_attribute::aux_ld:
        return set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, value);
      case descriptor_attribute::aux_batch_stride:
        return set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, value);
      case descriptor_attribute::factor_a:
        return set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, reinterpret_cast<void*>(value));
      case descriptor_attribute::factor_b:
        return set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, reinterpret_cast<void*>(value));
      case descriptor_attribute::adds_fast:
        return set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, static_cast<std::int8_t>(value));
    }
    return CUBLAS_STATUS_INVALID_VALUE;
  }

  int layout_create(blas_layout& made, const blas_matrix& x) override {
    cublasLtMatrixLayout_t layout = nullptr;
    const int status = cublasLtMatrixLayoutCreate(&layout, type_of(x.type), x.rows, x.columns, x.ld);
    made = reinterpret_cast<blas_layout>(layout);
    return status;
  }
  int layout_destroy(blas_layout layout) override { return cublasLtMatrixLayoutDestroy(real(layout)); }
  int layout_set(blas_layout layout, layout_attribute attribute, std::int64_t value) override {
    if (attribute == layout_attribute::batch_stride)
      return cublasLtMatrixLayoutSetAttribute(real(layout), CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                              &value, sizeof value);
    if (attribute == layout_attribute::by_addresses) {
#if CUBLAS_VERSION >= 130000
      const auto mode = static_cast<std::uint32_t>(value != 0 ? CUBLASLT_BATCH_MODE_POINTER_ARRAY
                                                              : CUBLASLT_BATCH_MODE_STRIDED);
      return cublasLtMatrixLayoutSetAttribute(real(layout), CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, &mode,
                                              sizeof mode);
#else
      return CUBLAS_STATUS_NOT_SUPPORTED;
#endif
    }
    const auto count = static_cast<std::int32_t>(value);
    return cublasLtMatrixLayoutSetAttribute(real(layout), CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                            sizeof count);
  }

  int preference_create(blas_preference& made) override {
    cublasLtMatmulPreference_t preference = nullptr;
    int status = cublasLtMatmulPreferenceCreate(&preference);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    // The others round partial sums to the result's type, or add them up there.
    const auto mask = static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
    status = cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                                                  &mask, sizeof mask);
    if (status != CUBLAS_STATUS_SUCCESS) {
      cublasLtMatmulPreferenceDestroy(preference);
      return status;
    }
    made = reinterpret_cast<blas_preference>(preference);
    return status;
  }
  int preference_destroy(blas_preference preference) override {
    return cublasLtMatmulPreferenceDestroy(real(preference));
  }
  int preference_set(blas_preference preference, preference_attribute attribute,
                     std::uint64_t value) override {
    if (attribute == preference_attribute::workspace)
      return cublasLtMatmulPreferenceSetAttribute(real(preference), CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                  &value, sizeof value);
    constexpr cublasLtMatmulPreferenceAttributes_t names[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    const auto bytes = static_cast<std::uint32_t>(value);
    const auto which =
        static_cast<std::size_t>(attribute) - static_cast<std::size_t>(preference_attribute::align_a);
    return cublasLtMatmulPreferenceSetAttribute(real(preference), names[which], &bytes, sizeof bytes);
  }

  int heuristic(blas_handle handle, const blas_descriptors& of, blas_preference preference,
                std::span<blas_algorithm> found, int& count) override {
    std::vector<cublasLtMatmulHeuristicResult_t> results(found.size());
    int returned = 0;
    const int status = cublasLtMatmulAlgoGetHeuristic(
        real(handle), real(of.operation), real(of.a), real(of.b), real(of.c), real(of.c), real(preference),
        static_cast<int>(results.size()), results.data(), &returned);
    count = 0;
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return CUBLAS_STATUS_SUCCESS;  // there is none
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    for (int i = 0; i < returned; ++i) {
      const cublasLtMatmulHeuristicResult_t& r = results[static_cast<std::size_t>(i)];
      if (r.state != CUBLAS_STATUS_SUCCESS) continue;
      blas_algorithm& to = found[static_cast<std::size_t>(count++)];
      std::memcpy(to.data.data(), &r.algo, sizeof r.algo);
      to.workspace = r.workspaceSize;
    }
    return CUBLAS_STATUS_SUCCESS;
  }
  int check_algorithm(blas_handle handle, const blas_descriptors& of, blas_algorithm& algorithm) override {
    const cublasLtMatmulAlgo_t known = real(algorithm);
    cublasLtMatmulHeuristicResult_t result{};
    const int status = cublasLtMatmulAlgoCheck(real(handle), real(of.operation), real(of.a), real(of.b),
                                               real(of.c), real(of.c), &known, &result);
    if (status == CUBLAS_STATUS_SUCCESS) algorithm.workspace = result.workspaceSize;
    return status;
  }
  int matmul(blas_handle handle, const blas_descriptors& of, const blas_arguments& with,
             const blas_algorithm& algorithm, stream_handle on) override {
    const cublasLtMatmulAlgo_t known = real(algorithm);
    return cublasLtMatmul(real(handle), real(of.operation), with.alpha, with.a, real(of.a), with.b,
                          real(of.b), with.beta, with.c, real(of.c), with.d, real(of.c), &known,
                          with.workspace, with.workspace_bytes, on);
  }

  const char* status_name(int status) override {
    return cublasLtGetStatusName(static_cast<cublasStatus_t>(status));
  }
};

}  // namespace

blas_calls& cublas_lt() {
  static runtime calls;
  return calls;
}

}  // namespace napkin::on_cuda

#else

namespace napkin::on_cuda {

blas_calls& cublas_lt() {
  cuda_runtime();  // says why not
  throw error("cuda: this library was built without cuBLASLt");
}

}  // namespace napkin::on_cuda

#endif
