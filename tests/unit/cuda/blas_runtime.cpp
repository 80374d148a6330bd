// The machine's own cuBLASLt takes the descriptors that are made for it: attributes and their sizes are
// checked by the library, GPU or not.
#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "napkin/core/error.hpp"
#include "napkin/cuda/blas_calls.hpp"
#include "support/skip.hpp"

namespace nk = napkin;
using namespace nk::on_cuda;

TEST_CASE("cuBLASLt takes each attribute", "[blas]") {
#if !NAPKIN_HAS_CUDA
  CHECK_THROWS_AS(cublas_lt(), nk::input_error);
  SKIP("built without the CUDA toolkit");
#else
  blas_calls& calls = cublas_lt();
  CHECK(calls.version() >= 120400);
  for (const auto& [compute, scale] :
       {std::pair{blas_compute::f32, nk::dtype::f32}, std::pair{blas_compute::tf32, nk::dtype::f32},
        std::pair{blas_compute::fast_f32, nk::dtype::f32}, std::pair{blas_compute::f64, nk::dtype::f64}}) {
    blas_descriptor descriptor = nullptr;
    REQUIRE(calls.descriptor_create(descriptor, compute, scale) == 0);
    CHECK(calls.descriptor_set(descriptor, descriptor_attribute::transpose_a, 1) == 0);
    CHECK(calls.descriptor_set(descriptor, descriptor_attribute::transpose_b, 0) == 0);
    for (int e = 0; e <= static_cast<int>(blas_epilogue::bias_gradient_b); ++e)
      CHECK(calls.descriptor_set(descriptor, descriptor_attribute::epilogue, e) == 0);
    CHECK(calls.descriptor_set(descriptor, descriptor_attribute::bias, 256) == 0);
    CHECK(calls.descriptor_set(descriptor, descriptor_attribute::aux, 256) == 0);
    CHECK(calls.descriptor_set(descriptor, descriptor_attribute::aux_ld, 3072) == 0);
    CHECK(calls.descriptor_set(descriptor, descriptor_attribute::aux_batch_stride, 1 << 20) == 0);
    CHECK(calls.descriptor_set(descriptor, descriptor_attribute::adds_fast, 1) == 0);
    CHECK(calls.descriptor_destroy(descriptor) == 0);
  }
  for (const nk::dtype type : {nk::dtype::f64, nk::dtype::f32, nk::dtype::f16, nk::dtype::bf16}) {
    blas_layout layout = nullptr;
    REQUIRE(calls.layout_create(layout, {type, 768, 8192, 768, 0}) == 0);
    CHECK(calls.layout_set(layout, layout_attribute::batch_count, 12) == 0);
    CHECK(calls.layout_set(layout, layout_attribute::batch_stride, 64) == 0);
    CHECK(calls.layout_destroy(layout) == 0);
  }
  blas_preference preference = nullptr;
  REQUIRE(calls.preference_create(preference) == 0);
  for (int a = 0; a <= static_cast<int>(preference_attribute::align_d); ++a)
    CHECK(calls.preference_set(preference, static_cast<preference_attribute>(a), 256) == 0);
  CHECK(calls.preference_destroy(preference) == 0);
  CHECK(calls.status_name(15) == std::string("CUBLAS_STATUS_NOT_SUPPORTED"));
#endif
}
