// What stands beside products whose call has an epilogue: a vector is rounded to the result's dtype before
// it; and where cuBLASLt has no algorithm with that epilogue, kernels of our own do it to the result after
// it.
#pragma once

#include <type_traits>

#include "napkin/core/error.hpp"
#include "napkin/cuda/calls.hpp"
#include "napkin/cuda/plan.hpp"
#include "napkin/plan/scalar.hpp"

namespace napkin::on_cuda {

/// The result as cuBLASLt sees it, column-major, and what its epilogue takes.
struct finish_arguments {
  passes::activation then = passes::activation::none;
  bool adds_vector = false, keeps = false;
  std::uint64_t m = 1, n = 1, batch = 1;
  std::int64_t ld = 1, batch_stride = 0;  // elements
  std::byte *result = nullptr, *vector = nullptr, *auxiliary = nullptr;

  constexpr finish_arguments() = default;
  constexpr finish_arguments(const product& p, std::byte* c, std::byte* vector_at, std::byte* auxiliary_at)
      : then(p.follows.then),
        adds_vector(p.follows.adds_vector()),
        keeps(p.follows.keeps),
        m(p.gemm.m),
        n(p.gemm.n),
        batch(p.gemm.batch),
        ld(p.gemm.c.ld),
        batch_stride(p.gemm.c.batch_stride),
        result(c),
        vector(vector_at),
        auxiliary(auxiliary_at) {}

  constexpr std::uint64_t elements() const { return m * n * batch; }
  /// Where row i of column j lies, columns of all batches counted through; elements.
  constexpr std::int64_t offset(std::uint64_t i, std::uint64_t j) const {
    return static_cast<std::int64_t>(i) + static_cast<std::int64_t>(j % n) * ld +
           static_cast<std::int64_t>(j / n) * batch_stride;
  }
};

/// f(integral_constant) for a dtype that results with an epilogue have.
template <class F>
void for_epilogue_type(dtype type, F&& f) {
  switch (type) {
    case dtype::f32:
      return f(std::integral_constant<dtype, dtype::f32>{});
    case dtype::f16:
      return f(std::integral_constant<dtype, dtype::f16>{});
    case dtype::bf16:
      return f(std::integral_constant<dtype, dtype::bf16>{});
    default:
      throw error("an epilogue's result has no such dtype");
  }
}

template <dtype Type>
constexpr float element_at(const std::byte* from, std::int64_t offset) {
  return planning::loaded<Type>(reinterpret_cast<const type_of<Type>*>(from)[offset]);
}
template <dtype Type>
constexpr void put_element(std::byte* to, std::int64_t offset, float x) {
  reinterpret_cast<type_of<Type>*>(to)[offset] = planning::stored<Type>(planning::rounded<Type>(x));
}

/// The epilogue of element i, column-major, but for sums.
template <dtype Type>
constexpr void finish_element(const finish_arguments& k, std::uint64_t i) {
  const std::uint64_t row = i % k.m;
  const std::int64_t at = k.offset(row, i / k.m);
  float v = element_at<Type>(k.result, at);
  if (k.adds_vector) v += element_at<Type>(k.vector, static_cast<std::int64_t>(row));
  if (k.keeps) put_element<Type>(k.auxiliary, at, v);
  if (k.then == passes::activation::gelu) v = passes::gelu_at(v).value;
  if (k.then == passes::activation::gelu_gradient)
    v *= passes::gelu_at(element_at<Type>(k.auxiliary, at)).slope;
  put_element<Type>(k.result, at, v);
}

/// What an epilogue sums: element (i, j) is term j of sum i.
struct sum_arguments {
  dtype from_type = dtype::f32;
  std::uint64_t sums = 0, terms = 0, terms_a_batch = 1;
  std::int64_t step = 1, ld = 1, batch_stride = 0;  // elements
  const std::byte* from = nullptr;
  std::byte* to = nullptr;

  constexpr sum_arguments() = default;
  /// a, b: the product's operands, c: its result.
  constexpr sum_arguments(const product& p, const std::byte* a, const std::byte* b, const std::byte* c,
                          std::byte* vector)
      : to(vector) {
    const blas_product& x = p.gemm;
    switch (epilogue_of(p.follows, x.swapped)) {
      case blas_epilogue::gelu_gradient_bias:
        from = c;
        from_type = x.c.type;
        sums = x.m, terms_a_batch = x.n, terms = x.n * x.batch;
        step = 1, ld = x.c.ld, batch_stride = x.c.batch_stride;
        break;
      case blas_epilogue::bias_gradient_a:  // op(A) is m x k
        from = x.swapped ? b : a;
        from_type = x.a.type;
        sums = x.m, terms_a_batch = terms = x.k;
        step = x.transpose_a ? x.a.ld : 1, ld = x.transpose_a ? 1 : x.a.ld;
        break;
      case blas_epilogue::bias_gradient_b:  // op(B) is k x n
        from = x.swapped ? a : b;
        from_type = x.b.type;
        sums = x.n, terms_a_batch = terms = x.k;
        step = x.transpose_b ? 1 : x.b.ld, ld = x.transpose_b ? x.b.ld : 1;
        break;
      default:
        break;
    }
  }
  constexpr std::int64_t offset(std::uint64_t i, std::uint64_t j) const {
    return static_cast<std::int64_t>(i) * step + static_cast<std::int64_t>(j % terms_a_batch) * ld +
           static_cast<std::int64_t>(j / terms_a_batch) * batch_stride;
  }
};

/// The part of sum i that lane `lane` of `lanes` adds up, in order.
template <dtype Type>
constexpr float sum_of_lane(const sum_arguments& k, std::uint64_t i, unsigned lane, unsigned lanes) {
  float sum = 0;
  for (std::uint64_t j = lane; j < k.terms; j += lanes) sum += element_at<Type>(k.from, k.offset(i, j));
  return sum;
}

/// Put the epilogue of a product, whose result is there, into the stream: a and b are the product's operands.
/// Addresses on the device; null for what there is none of. Launch errors are the stream's to check.
void finish_product(const product& p, const std::byte* a, const std::byte* b, std::byte* result,
                    std::byte* vector, std::byte* auxiliary, stream_handle on);

/// Put `to` = `from`, `size` numbers of f32 rounded to `type`, into the stream.
void round_vector(dtype type, const std::byte* from, std::byte* to, std::size_t size, stream_handle on);

}  // namespace napkin::on_cuda
