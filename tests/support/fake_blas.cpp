// What fake_blas computes.
#include "support/fake_blas.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

namespace {

double inner(double x) { return std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x); }
double gelu(double x) { return 0.5 * x * (1 + std::tanh(inner(x))); }
double gelu_slope(double x) {
  const double t = std::tanh(inner(x)), dx = std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * dx;
}

}  // namespace

fake_blas::~fake_blas() {
  for (object* x : objects_) delete x;
}

template <class A, class B>
void fake_blas::compute_8_bits(const object& operation, const object& a, const object& b, const object& c,
                               double alpha, double beta, const napkin::on_cuda::blas_arguments& with) {
  if (c.matrix.type == dtype::f32) return compute<A, float, B>(operation, a, b, c, alpha, beta, with);
  if (c.matrix.type == dtype::f16) return compute<A, napkin::f16, B>(operation, a, b, c, alpha, beta, with);
  return compute<A, napkin::bf16, B>(operation, a, b, c, alpha, beta, with);
}

template <class A, class C, class B>
void fake_blas::compute(object operation, object a, object b, object c, double alpha, double beta,
                        const napkin::on_cuda::blas_arguments& with) {
  const auto put = [&](C* to, double x) {
    *to = static_cast<C>(x);
    if (wrote) wrote(to, sizeof(C));
  };
  using napkin::on_cuda::descriptor_attribute;
  using napkin::on_cuda::layout_attribute;
  const auto set = [&](descriptor_attribute x) { return operation.values[static_cast<int>(x)]; };
  const bool ta = set(descriptor_attribute::transpose_a) != 0,
             tb = set(descriptor_attribute::transpose_b) != 0;
  const auto at = [](const object& x, std::uint64_t i, std::uint64_t j) {
    return static_cast<std::ptrdiff_t>(i) + static_cast<std::ptrdiff_t>(j) * x.matrix.ld;
  };
  const bool by_addresses = is_by_addresses(c);
  const auto matrix = [&]<class T>(std::type_identity<T>, const void* p, object& x, std::int64_t t) {
    return by_addresses ? static_cast<T* const*>(p)[t]
                        : static_cast<T*>(const_cast<void*>(p)) +
                              t * x.values[static_cast<int>(layout_attribute::batch_stride)];
  };
  constexpr std::type_identity<A> type_a;
  constexpr std::type_identity<B> type_b;
  for (const descriptor_attribute x : {descriptor_attribute::factor_a, descriptor_attribute::factor_b})
    if (set(x) != 0) alpha *= static_cast<double>(*reinterpret_cast<const float*>(set(x)));
  constexpr std::type_identity<C> type_c;
  const epilogue then = epilogue_of(operation);
  const bool adds =
      then == epilogue::bias || then == epilogue::gelu_bias || then == epilogue::gelu_saved_bias;
  const bool keeps = then == epilogue::gelu_saved || then == epilogue::gelu_saved_bias;
  const bool is_gelu = keeps || then == epilogue::gelu || then == epilogue::gelu_bias;
  const bool sums = then == epilogue::gelu_gradient_bias;
  const bool is_gradient = sums || then == epilogue::gelu_gradient;
  C* const vector = reinterpret_cast<C*>(set(descriptor_attribute::bias));
  C* const auxiliary = reinterpret_cast<C*>(set(descriptor_attribute::aux));
  // Of TF32 the low 13 bits are not read.
  const auto read = [&](auto x) {
    if constexpr (std::is_same_v<decltype(x), float>)
      if (operation.tf32) x = std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xffffe000);
    return static_cast<double>(x);
  };
  const std::uint64_t k = ta ? a.matrix.rows : a.matrix.columns, rows = c.matrix.rows;
  std::vector<double> sum_of(rows, 0), terms(k * rows), products(rows);
  for (std::int64_t t = 0; t < c.values[static_cast<int>(layout_attribute::batch_count)]; ++t) {
    const A* const in_a = matrix(type_a, with.a, a, t);
    const B* const in_b = matrix(type_b, with.b, b, t);
    const C* const in_c = beta != 0 ? matrix(type_c, with.c, c, t) : nullptr;
    C* const out = matrix(type_c, with.d, c, t);
    for (std::uint64_t l = 0; l < k; ++l)
      for (std::uint64_t i = 0; i < rows; ++i)
        terms[l * rows + i] = read(in_a[ta ? at(a, l, i) : at(a, i, l)]);
    for (std::uint64_t j = 0; j < c.matrix.columns; ++j) {
      std::fill(products.begin(), products.end(), 0.0);
      for (std::uint64_t l = 0; l < k; ++l) {
        const double factor = read(in_b[tb ? at(b, j, l) : at(b, l, j)]);
        for (std::uint64_t i = 0; i < rows; ++i) products[i] += terms[l * rows + i] * factor;
      }
      for (std::uint64_t i = 0; i < rows; ++i) {
        double sum = products[i] * alpha;
        if (beta != 0) sum += beta * static_cast<double>(in_c[at(c, i, j)]);
        if (adds) sum += static_cast<double>(vector[i]);
        C* const aux = auxiliary + static_cast<std::ptrdiff_t>(i) +
                       static_cast<std::ptrdiff_t>(j) * set(descriptor_attribute::aux_ld) +
                       t * set(descriptor_attribute::aux_batch_stride);
        if (keeps) put(aux, sum);
        if (is_gelu) sum = gelu(sum);
        if (is_gradient) sum *= gelu_slope(static_cast<double>(*aux));
        sum_of[i] += sum;
        put(out + at(c, i, j), sum);
      }
    }
  }
  for (std::uint64_t i = 0; sums && i < c.matrix.rows; ++i) put(vector + i, sum_of[i]);
  const bool of_b = then == epilogue::bias_gradient_b;
  if (!of_b && then != epilogue::bias_gradient_a) return;
  for (std::uint64_t i = 0; i < (of_b ? c.matrix.columns : c.matrix.rows); ++i) {
    double sum = 0;
    for (std::uint64_t l = 0; l < k; ++l)
      sum += of_b ? static_cast<double>(static_cast<const B*>(with.b)[tb ? at(b, i, l) : at(b, l, i)])
                  : static_cast<double>(static_cast<const A*>(with.a)[ta ? at(a, l, i) : at(a, i, l)]);
    put(vector + i, sum);
  }
}

int fake_blas::matmul(blas_handle, const blas_descriptors& of_call,
                      const napkin::on_cuda::blas_arguments& with, const blas_algorithm& algorithm,
                      stream_handle on) {
  if (cuda_->fails("cublasLtMatmul")) return internal_error;
  if (algorithm.data[0] == unsupported) return not_supported;
  if (with.workspace_bytes < algorithm.workspace) return invalid_value;
  if (algorithm.workspace > 0 && reinterpret_cast<std::uintptr_t>(with.workspace) % 256 != 0)
    return invalid_value;
  const object operation = *of(of_call.operation), a = *of(of_call.a), b = *of(of_call.b), c = *of(of_call.c);
  if (!takes(operation, a, b, c, with)) return not_supported;
  ran.push_back(algorithm.data[0]);
  const auto at_host = [&](const void* p) {
    return operation.matrix.type == dtype::f64 ? *static_cast<const double*>(p)
                                               : static_cast<double>(*static_cast<const float*>(p));
  };
  const double alpha = at_host(with.alpha), beta = at_host(with.beta);
  ++epilogues[last = epilogue_of(operation)];
  written_over += beta != 0 && with.c == with.d;
  added_fast += operation.values.contains(static_cast<int>(napkin::on_cuda::descriptor_attribute::adds_fast));
  const bool widens = c.matrix.type == dtype::f32;
  cuda_->launch_of_library(on, [=, this] {
    if (algorithm.workspace > 0)
      std::memset(with.workspace, 0xa5, algorithm.workspace);  // whose else it is meanwhile sees that
    batches_by_addresses += is_by_addresses(c);
    switch (a.matrix.type) {
      case dtype::f8e4m3:
        if (b.matrix.type == dtype::f8e5m2)
          return compute_8_bits<napkin::f8e4m3, napkin::f8e5m2>(operation, a, b, c, alpha, beta, with);
        return compute_8_bits<napkin::f8e4m3, napkin::f8e4m3>(operation, a, b, c, alpha, beta, with);
      case dtype::f8e5m2:
        return compute_8_bits<napkin::f8e5m2, napkin::f8e4m3>(operation, a, b, c, alpha, beta, with);
      case dtype::f64:
        return compute<double, double>(operation, a, b, c, alpha, beta, with);
      case dtype::bf16:
        return widens ? compute<napkin::bf16, float>(operation, a, b, c, alpha, beta, with)
                      : compute<napkin::bf16, napkin::bf16>(operation, a, b, c, alpha, beta, with);
      case dtype::f16:
        return widens ? compute<napkin::f16, float>(operation, a, b, c, alpha, beta, with)
                      : compute<napkin::f16, napkin::f16>(operation, a, b, c, alpha, beta, with);
      default:
        return compute<float, float>(operation, a, b, c, alpha, beta, with);
    }
  });
  return 0;
}
