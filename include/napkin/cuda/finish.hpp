// What stands beside products whose call has an epilogue: a vector is rounded to the result's dtype before
// it; and where cuBLASLt has no algorithm with that epilogue, or a slower one, kernels of our own do it, or
// its sums alone, after the call.
#pragma once

#include <type_traits>

#include "napkin/core/error.hpp"
#include "napkin/cuda/calls.hpp"
#include "napkin/cuda/packed.hpp"
#include "napkin/cuda/plan.hpp"
#include "napkin/plan/scalar.hpp"

namespace napkin::on_cuda {

/// Where a product's operands lie that an epilogue reads and writes, on the device; null for what there is
/// none of. The workspace is the product's, p.gemm.workspace bytes.
struct finish_operands {
  const std::byte *a = nullptr, *b = nullptr;
  std::byte *result = nullptr, *vector = nullptr, *auxiliary = nullptr, *workspace = nullptr;
};

inline bool is_aligned(const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 == 0; }

/// The result as cuBLASLt sees it, column-major, and what its epilogue takes.
struct finish_arguments {
  passes::activation then = passes::activation::none;
  bool adds_vector = false, keeps = false;
  std::uint64_t m = 1, n = 1, batch = 1;
  std::int64_t ld = 1, batch_stride = 0;  // elements
  std::byte *result = nullptr, *vector = nullptr, *auxiliary = nullptr;

  constexpr finish_arguments() = default;
  constexpr finish_arguments(const product& p, const finish_operands& at)
      : then(p.follows.then),
        adds_vector(p.follows.adds_vector()),
        keeps(p.follows.keeps),
        m(p.gemm.m),
        n(p.gemm.n),
        batch(p.gemm.batch),
        ld(p.gemm.c.ld),
        batch_stride(p.gemm.c.batch_stride),
        result(at.result),
        vector(at.vector),
        auxiliary(at.auxiliary) {}

  constexpr std::uint64_t elements() const { return m * n * batch; }
  constexpr bool changes_elements() const { return adds_vector || then != passes::activation::none; }
  /// Do elements lie so that so many, 16 bytes, move at once? Null is aligned.
  bool may_move(unsigned adjacent) const {
    const auto by = [&](auto x) { return static_cast<std::uint64_t>(x) % adjacent == 0; };
    return by(m) && by(ld) && by(batch_stride) && is_aligned(result) && is_aligned(vector) &&
           is_aligned(auxiliary);
  }
  /// Where row i of column j lies, columns of all batches counted through; elements.
  constexpr std::int64_t offset(std::uint64_t i, std::uint64_t j) const {
    if (batch == 1) return static_cast<std::int64_t>(i) + static_cast<std::int64_t>(j) * ld;
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

/// How many elements move at once.
constexpr unsigned most_adjacent(dtype type) { return static_cast<unsigned>(16 / size_of(type)); }

template <dtype Type, unsigned Width>
using adjacent = detail::packed<type_of<Type>, Width>;
template <dtype Type, unsigned Width>
NAPKIN_DEVICE adjacent<Type, Width> adjacent_at(const std::byte* from, std::int64_t offset) {
  return *reinterpret_cast<const adjacent<Type, Width>*>(reinterpret_cast<const type_of<Type>*>(from) +
                                                         offset);
}

/// GELU and its derivative at x, for a result of this type. On the device 0.5 (1 + tanh(u)) is, in 16 bits, 1
/// / (1 + exp(-2 u)) by two instructions that approximate: within 2^-16 of itself, also where 1 + tanh(u)
/// leaves nothing of it. By formulas that suit a CPU's vectors a kernel waits twice as long for its
/// arithmetic as for memory.
template <dtype Type>
NAPKIN_DEVICE passes::gelu_at<float> gelu_of(float x) {
#if defined(__CUDA_ARCH__)
  const float u = passes::gelu_at<float>::argument(x);
  if constexpr (Type == dtype::f32) {
    return {x, 0.5f * (1 + planning::on_device::apply<op::tanh>(u))};
  } else {
    float weight = 1 + planning::on_device::exp_briefly(-2 * u);
    asm("rcp.approx.ftz.f32 %0, %0;" : "+f"(weight));
    return {x, weight};
  }
#else
  return passes::gelu_at<float>(x);
#endif
}

/// The epilogue, but for sums, of `Width` adjacent elements of which nothing is stored yet: from row `row`
/// on, at offset `at`. Given as they are stored in `Type`, and stored where there is a result to store to.
template <dtype Type, unsigned Width>
NAPKIN_DEVICE adjacent<Type, Width> finish_values(const finish_arguments& k, std::uint64_t row,
                                                  std::int64_t at, const float (&values)[Width]) {
  using passes::activation;
  adjacent<Type, Width> x{}, vector{}, other{};
  if (k.adds_vector) vector = adjacent_at<Type, Width>(k.vector, static_cast<std::int64_t>(row));
  if (k.then == activation::gelu_gradient) other = adjacent_at<Type, Width>(k.auxiliary, at);
  NAPKIN_UNROLL for (unsigned e = 0; e < Width; ++e) {
    const auto store = [](float v) { return planning::stored<Type>(planning::rounded<Type>(v)); };
    float v = values[e];
    if (k.adds_vector) v += planning::loaded<Type>(vector.x[e]);
    if (k.keeps) other.x[e] = store(v);
    if (k.then == activation::gelu) v = gelu_of<Type>(v).value;
    if (k.then == activation::gelu_gradient) v *= gelu_of<Type>(planning::loaded<Type>(other.x[e])).slope;
    x.x[e] = store(v);
  }
  const auto put = [&](std::byte* to, const adjacent<Type, Width>& y) {
    detail::put_packed(reinterpret_cast<type_of<Type>*>(to) + at, y);
  };
  if (k.keeps) put(k.auxiliary, other);
  if (k.result != nullptr) put(k.result, x);
  return x;
}

/// The same of the result's elements, the i-th of their like, column-major.
template <dtype Type, unsigned Width>
NAPKIN_DEVICE void finish_elements(const finish_arguments& k, std::uint64_t i) {
  const std::uint64_t across = k.m / Width, row = i % across * Width;
  const std::int64_t at = k.offset(row, i / across);
  const auto x = adjacent_at<Type, Width>(k.result, at);
  float values[Width];
  NAPKIN_UNROLL for (unsigned e = 0; e < Width; ++e) values[e] = planning::loaded<Type>(x.x[e]);
  finish_values<Type, Width>(k, row, at, values);
}

/// What an epilogue sums: element (i, j) is term j of sum i.
struct sum_arguments {
  dtype from_type = dtype::f32, to_type = dtype::f32;
  std::uint64_t sums = 0, terms = 0;
  std::int64_t step = 1, ld = 1;  // elements
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::uint64_t terms_a_split = 0;  // each split's sums are rows of `to`

  constexpr sum_arguments() = default;
  /// cuBLASLt sums what one product has, not a batch of them.
  constexpr sum_arguments(const product& p, const finish_operands& at)
      : to_type(p.follows.type), to(at.vector) {
    const blas_product& x = p.gemm;
    switch (epilogue_of(p.follows, x.swapped)) {
      case blas_epilogue::gelu_gradient_bias:
        from = at.result;
        from_type = x.c.type;
        sums = x.m, terms = x.n;
        ld = x.c.ld;
        break;
      case blas_epilogue::bias_gradient_a:  // op(A) is m x k
        from = x.swapped ? at.b : at.a;
        from_type = x.a.type;
        sums = x.m, terms = x.k;
        step = x.transpose_a ? x.a.ld : 1, ld = x.transpose_a ? 1 : x.a.ld;
        break;
      case blas_epilogue::bias_gradient_b:  // op(B) is k x n
        from = x.swapped ? at.a : at.b;
        from_type = x.b.type;
        sums = x.n, terms = x.k;
        step = x.transpose_b ? 1 : x.b.ld, ld = x.transpose_b ? x.b.ld : 1;
        break;
      default:
        break;
    }
    terms_a_split = terms;
  }

  constexpr std::uint64_t splits() const {
    return terms == 0 ? 1 : (terms + terms_a_split - 1) / terms_a_split;
  }
};

/// A block's threads: so many side by side, each with its adjacent sums, and lanes that share these.
inline constexpr unsigned sum_columns = 32, sum_lanes = 8, join_lanes = 32;
/// Loads of a lane that are on their way at once, and terms of a block's so.
inline constexpr unsigned sum_loads = 8;
inline constexpr std::uint64_t sum_step = sum_loads * sum_lanes;

/// How sums of many terms are made: so many adjacent ones by a thread, and their terms, in order, by several
/// blocks, whose sums lie in the workspace and are joined in order. Bits depend on shapes, strides and
/// alignment alone.
struct sum_dealing {
  unsigned width = 1;
  sum_arguments parts, join;  // nothing to join: no sums

  /// workspace: of so many bytes, of the call that is over.
  sum_dealing(const sum_arguments& k, std::byte* workspace, std::size_t bytes) : parts(k) {
    if (k.sums == 0 || k.terms == 0) return;
    const unsigned most = most_adjacent(k.from_type);
    const bool in_rows = k.sums % most == 0 && static_cast<std::uint64_t>(k.ld) % most == 0;
    if (k.step == 1 && in_rows && is_aligned(k.from)) width = most;
    constexpr std::uint64_t blocks = 8 * detail::processors;  // enough for any device, twice over
    const std::uint64_t across = (k.sums + sum_columns * width - 1) / (sum_columns * width);
    const auto at_most = [](std::uint64_t x, std::uint64_t y) { return x < y ? x : y; };
    std::uint64_t splits = at_most(blocks / across, (k.terms + sum_step - 1) / sum_step);
    splits = at_most(splits, bytes / (k.sums * sizeof(float)));
    if (splits < 2) return;
    parts.terms_a_split = (k.terms + splits * sum_step - 1) / (splits * sum_step) * sum_step;
    splits = parts.splits();
    parts.to = workspace;
    parts.to_type = dtype::f32;
    join = k;
    join.from_type = dtype::f32;
    join.from = workspace;
    join.step = 1, join.ld = static_cast<std::int64_t>(k.sums);
    join.terms = join.terms_a_split = splits;
  }
};

/// Add up what a lane has of `Width` adjacent sums and of a split's terms, in order.
template <dtype Type, unsigned Width>
NAPKIN_DEVICE void add_terms(const sum_arguments& k, std::uint64_t first, std::uint64_t split, unsigned lane,
                             unsigned lanes, float (&sums)[Width]) {
  constexpr unsigned ahead = sum_loads;
  std::uint64_t j = split * k.terms_a_split;
  const std::uint64_t end = j + k.terms_a_split < k.terms ? j + k.terms_a_split : k.terms;
  j += lane;
  const std::int64_t next = static_cast<std::int64_t>(lanes) * k.ld;
  std::int64_t at = static_cast<std::int64_t>(first) * k.step + static_cast<std::int64_t>(j) * k.ld;
  const auto add = [&](const adjacent<Type, Width>& x) {
    NAPKIN_UNROLL for (unsigned e = 0; e < Width; ++e) sums[e] += planning::loaded<Type>(x.x[e]);
  };
  for (; j + (ahead - 1) * lanes < end; j += ahead * lanes) {
    adjacent<Type, Width> x[ahead];
    NAPKIN_UNROLL for (unsigned t = 0; t < ahead; ++t, at += next) x[t] =
        adjacent_at<Type, Width>(k.from, at);
    NAPKIN_UNROLL for (unsigned t = 0; t < ahead; ++t) add(x[t]);
  }
  for (; j < end; j += lanes, at += next) add(adjacent_at<Type, Width>(k.from, at));
}

/// Store sum i of a split.
NAPKIN_DEVICE void put_sum(const sum_arguments& k, std::uint64_t split, std::uint64_t i, float sum) {
  const auto at = static_cast<std::int64_t>(split * k.sums + i);
  if (k.to_type == dtype::f32)
    put_element<dtype::f32>(k.to, at, sum);
  else if (k.to_type == dtype::f16)
    put_element<dtype::f16>(k.to, at, sum);
  else
    put_element<dtype::bf16>(k.to, at, sum);
}

/// Put what the call left of the epilogue of a product, whose result is there, into the stream. Launch errors
/// are the stream's to check.
void finish_product(const product& p, apart left, const finish_operands& at, stream_handle on);

/// Put `to` = `from`, `size` numbers of f32 rounded to `type`, into the stream.
void round_vector(dtype type, const std::byte* from, std::byte* to, std::size_t size, stream_handle on);

}  // namespace napkin::on_cuda
