// cuBLASLt without a device, beside fake_cuda: reads the descriptors that it is given and computes in f32 or
// f64 with plain loops, late, as the streams are run. Its calls are counted and failed together with CUDA's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "napkin/cuda/blas_calls.hpp"
#include "support/fake_cuda.hpp"

class fake_blas : public napkin::on_cuda::blas_calls {
 public:
  using blas_handle = napkin::on_cuda::blas_handle;
  using blas_descriptor = napkin::on_cuda::blas_descriptor;
  using blas_layout = napkin::on_cuda::blas_layout;
  using blas_preference = napkin::on_cuda::blas_preference;
  using blas_descriptors = napkin::on_cuda::blas_descriptors;
  using blas_algorithm = napkin::on_cuda::blas_algorithm;
  using stream_handle = napkin::on_cuda::stream_handle;
  using dtype = napkin::dtype;
  using epilogue = napkin::on_cuda::blas_epilogue;

  static constexpr int invalid_value = 7, internal_error = 14, not_supported = 15;

  explicit fake_blas(fake_cuda& cuda) : blas_calls(cuda), cuda_(&cuda) {
    for (const unsigned workspace : {0u, 4096u, 1u << 20}) {
      blas_algorithm x;
      x.data[0] = algorithms.size() + 1;
      x.workspace = workspace;
      algorithms.push_back(x);
    }
  }
  fake_blas(const fake_blas&) = delete;
  fake_blas& operator=(const fake_blas&) = delete;
  ~fake_blas() override;  // in fake_blas.cpp, and with it, compiled once, all that is virtual

  std::vector<blas_algorithm> algorithms;               // 1 to 3, which need ever more workspace
  std::uint64_t unsupported = 0;                        // the algorithm that never runs, by data[0]
  bool has_epilogues = true;                            // else no algorithm has one
  bool has_8_bits = true;                               // else no algorithm multiplies 8-bit floats
  bool has_addresses = true;                            // else no algorithm takes matrices by addresses
  int batches_by_addresses = 0;                         // matmuls that did, as the device ran them
  int added_fast = 0;                                   // matmuls that were to
  std::uint64_t version_number = 130002;                // of the library
  std::vector<std::uint64_t> ran;                       // data[0] of each matmul's algorithm
  std::map<int, std::uint64_t> alignment;               // by preference_attribute, of the last heuristic
  std::map<epilogue, int> epilogues;                    // of the matmuls: how many ran with each
  epilogue last = epilogue::none;                       // the last one's
  int written_over = 0;                                 // matmuls whose result goes where what they add lies
  std::function<void(const void*, std::size_t)> wrote;  // called with all that matmuls write, if it is set

  std::size_t alive() const {
    std::size_t n = 0;
    for (const object* x : objects_) n += x->alive;
    return n;
  }

  std::uint64_t version() override { return version_number; }
  int create(blas_handle& made) override { return make("cublasLtCreate", made); }
  int destroy(blas_handle x) override { return destroy_object("cublasLtDestroy", x); }
  int descriptor_create(blas_descriptor& made, napkin::on_cuda::blas_compute compute, dtype scale) override {
    const int status = make("cublasLtMatmulDescCreate", made);
    if (status == 0) {
      of(made)->matrix.type = scale;
      of(made)->tf32 = compute == napkin::on_cuda::blas_compute::tf32;
    }
    return status;
  }
  int descriptor_destroy(blas_descriptor x) override {
    return destroy_object("cublasLtMatmulDescDestroy", x);
  }
  int descriptor_set(blas_descriptor x, napkin::on_cuda::descriptor_attribute attribute,
                     std::int64_t value) override {
    return set("cublasLtMatmulDescSetAttribute", x, static_cast<int>(attribute), value);
  }
  int layout_create(blas_layout& made, const napkin::on_cuda::blas_matrix& matrix) override {
    const int status = make("cublasLtMatrixLayoutCreate", made);
    if (status == 0) {
      of(made)->matrix = matrix;
      of(made)->matrix.batch_stride = 0;
      of(made)->values[0] = 1;
    }
    return status;
  }
  int layout_destroy(blas_layout x) override { return destroy_object("cublasLtMatrixLayoutDestroy", x); }
  int layout_set(blas_layout x, napkin::on_cuda::layout_attribute attribute, std::int64_t value) override {
    return set("cublasLtMatrixLayoutSetAttribute", x, static_cast<int>(attribute), value);
  }
  int preference_create(blas_preference& made) override {
    return make("cublasLtMatmulPreferenceCreate", made);
  }
  int preference_destroy(blas_preference x) override {
    return destroy_object("cublasLtMatmulPreferenceDestroy", x);
  }
  int preference_set(blas_preference x, napkin::on_cuda::preference_attribute attribute,
                     std::uint64_t value) override {
    return set("cublasLtMatmulPreferenceSetAttribute", x, static_cast<int>(attribute),
               static_cast<std::int64_t>(value));
  }
  int heuristic(blas_handle, const blas_descriptors& of_call, blas_preference preference,
                std::span<blas_algorithm> found, int& count) override {
    if (cuda_->fails("cublasLtMatmulAlgoGetHeuristic")) return internal_error;
    count = 0;
    if (!has_epilogues && epilogue_of(*of(of_call.operation)) != epilogue::none) return not_supported;
    if (!has_8_bits && is_8_bit_float(of(of_call.a)->matrix.type)) return 0;
    if (!has_addresses && is_by_addresses(*of(of_call.c))) return not_supported;
    for (const auto& [name, value] : of(preference)->values)
      alignment[name] = static_cast<std::uint64_t>(value);
    for (const blas_algorithm& x : algorithms)
      if (static_cast<std::size_t>(count) < found.size() &&
          static_cast<std::int64_t>(x.workspace) <= of(preference)->values[0])
        found[static_cast<std::size_t>(count++)] = x;
    return 0;
  }
  int check_algorithm(blas_handle, const blas_descriptors&, blas_algorithm& algorithm) override {
    if (cuda_->fails("cublasLtMatmulAlgoCheck")) return internal_error;
    return algorithm.data[0] == unsupported ? not_supported : 0;
  }
  int matmul(blas_handle, const blas_descriptors& of_call, const napkin::on_cuda::blas_arguments& with,
             const blas_algorithm& algorithm, stream_handle on) override;
  const char* status_name(int status) override {
    return status == internal_error ? "CUBLAS_STATUS_INTERNAL_ERROR" : "CUBLAS_STATUS_FAKE";
  }

 private:
  struct object {
    bool alive = true;
    bool tf32 = false;                    // of a descriptor
    napkin::on_cuda::blas_matrix matrix;  // of a layout; of a descriptor: .type is the scale's
    std::map<int, std::int64_t> values;   // attributes
  };
  template <class Handle>
  static object* of(Handle x) {
    return reinterpret_cast<object*>(x);
  }

  template <class Handle>
  int make(const char* call, Handle& made) {
    if (cuda_->fails(call)) return internal_error;
    objects_.push_back(new object);
    made = reinterpret_cast<Handle>(objects_.back());
    return 0;
  }
  template <class Handle>
  int destroy_object(const char* call, Handle x) {
    const bool failed = cuda_->fails(call);
    if (!of(x)->alive) cuda_->misuse.push_back(std::string(call) + " twice");
    of(x)->alive = false;
    return failed ? internal_error : 0;
  }
  template <class Handle>
  int set(const char* call, Handle x, int attribute, std::int64_t value) {
    if (cuda_->fails(call)) return internal_error;
    if (!of(x)->alive) cuda_->misuse.push_back(std::string(call) + " of what is destroyed");
    of(x)->values[attribute] = value;
    return 0;
  }

  static bool is_by_addresses(const object& layout) {
    const auto found = layout.values.find(static_cast<int>(napkin::on_cuda::layout_attribute::by_addresses));
    return found != layout.values.end() && found->second != 0;
  }
  static epilogue epilogue_of(const object& operation) {
    const auto found =
        operation.values.find(static_cast<int>(napkin::on_cuda::descriptor_attribute::epilogue));
    return found == operation.values.end() ? epilogue::none : static_cast<epilogue>(found->second);
  }
  /// Of 8-bit matrices what cuBLASLt asks for on Hopper.
  static bool takes(object operation, const object& a, const object& b, const object& c,
                    const napkin::on_cuda::blas_arguments& with) {
    using napkin::on_cuda::descriptor_attribute;
    const auto set = [&](descriptor_attribute x) { return operation.values[static_cast<int>(x)]; };
    const std::int64_t factors = set(descriptor_attribute::factor_a) | set(descriptor_attribute::factor_b);
    if (!is_8_bit_float(a.matrix.type))
      return !is_8_bit_float(b.matrix.type) && factors == 0 && set(descriptor_attribute::adds_fast) == 0;
    if (factors % 16 != 0) return false;
    for (const void* p : {with.a, with.b, with.c, static_cast<const void*>(with.d)})
      if (reinterpret_cast<std::uintptr_t>(p) % 16 != 0) return false;
    for (const object* x : {&a, &b, &c})
      if (x->matrix.rows % 16 != 0 || x->matrix.columns % 16 != 0 ||
          x->matrix.ld * static_cast<std::int64_t>(size_of(x->matrix.type)) % 16 != 0)
        return false;
    return is_8_bit_float(b.matrix.type) &&
           (a.matrix.type == dtype::f8e4m3 || b.matrix.type == dtype::f8e4m3) &&
           set(descriptor_attribute::transpose_a) == 1 && set(descriptor_attribute::transpose_b) == 0 &&
           (epilogue_of(operation) == epilogue::none || epilogue_of(operation) == epilogue::bias);
  }
  template <class A, class B>
  void compute_8_bits(const object& operation, const object& a, const object& b, const object& c,
                      double alpha, double beta, const napkin::on_cuda::blas_arguments& with);
  /// Of matrices of A and B, in doubles, to one of C; its vector and auxiliary matrix have C's dtype.
  template <class A, class C, class B = A>
  void compute(object operation, object a, object b, object c, double alpha, double beta,
               const napkin::on_cuda::blas_arguments& with);

  fake_cuda* cuda_;
  std::vector<object*> objects_;
};
