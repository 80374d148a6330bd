// What stands behind a product's call, on a GPU: sums of an operand that blocks share, a bias, and a GELU's
// derivative with the sums of its result, beside doubles.
#include "napkin/cuda/finish.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "napkin/cuda/memory.hpp"
#include "napkin/cuda/transfer.hpp"
#include "support/compare.hpp"
#include "support/device_here.hpp"
#include "support/skip.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::dtype;
using on_cuda::apart;

namespace {

/// m x k by k x n, column-major and dense, to a result of `type`.
on_cuda::product product_of(std::uint64_t m, std::uint64_t n, std::uint64_t k, dtype type, dtype result) {
  on_cuda::product p;
  p.gemm.possible = true;
  p.gemm.m = m, p.gemm.n = n, p.gemm.k = k, p.gemm.batch = 1;
  p.gemm.a.type = p.gemm.b.type = type;
  p.gemm.a.ld = p.gemm.c.ld = static_cast<std::int64_t>(m);
  p.gemm.c.type = p.follows.type = result;
  p.gemm.workspace = 1 << 16;
  return p;
}

class on_device {
 public:
  template <class T>
  std::byte* send(const std::vector<T>& x) {
    held_.emplace_back(calls_, x.size() * sizeof(T));
    on_cuda::copy_to_device(on_, held_.back().data(), std::as_bytes(std::span(x)));
    return held_.back().data();
  }
  std::byte* room(std::size_t bytes) { return send(std::vector<std::byte>(bytes)); }
  template <class T>
  std::vector<T> fetch(const std::byte* from, std::size_t count) {
    std::vector<T> x(count);
    on_cuda::copy_to_host(on_, std::as_writable_bytes(std::span(x)), from);
    return x;
  }
  void finish(const on_cuda::product& p, apart left, const on_cuda::finish_operands& at) {
    on_cuda::finish_product(p, left, at, on_.handle());
    on_.check_launch("an epilogue's kernel");
  }

 private:
  on_cuda::cuda_calls& calls_ = on_cuda::cuda_runtime();
  on_cuda::stream on_{calls_};
  std::vector<on_cuda::device_memory> held_;
};

template <class T>
std::vector<T> numbers(std::size_t count, double salt) {
  std::vector<T> x;
  for (std::size_t i = 0; i < count; ++i)
    x.push_back(T(static_cast<float>(std::sin(0.37 * static_cast<double>(i) + salt))));
  return x;
}
double wide(auto x) { return static_cast<double>(static_cast<float>(x)); }

template <class T>
void check_operand_sums(std::uint64_t m, std::uint64_t k) {
  CAPTURE(m, k, sizeof(T));
  on_cuda::product p = product_of(m, 8, k, nk::dtype_of<T>, dtype::f32);
  p.follows.sums = nk::passes::summed::first_operand;
  p.follows.vector_size = m;
  on_device d;
  const std::vector<T> a = numbers<T>(m * k, 0);
  const on_cuda::finish_operands at{
      .a = d.send(a), .vector = d.room(m * 4), .workspace = d.room(p.gemm.workspace)};
  d.finish(p, apart::all, at);
  const std::vector<float> given = d.fetch<float>(at.vector, m);
  d.finish(p, apart::all, at);
  CHECK(d.fetch<float>(at.vector, m) == given);
  double largest = 0;
  for (std::uint64_t i = 0; i < m; ++i) {
    double sum = 0;
    for (std::uint64_t j = 0; j < k; ++j) sum += wide(a[j * m + i]);
    largest = nk::testing::worst_of(largest, std::fabs(wide(given[i]) - sum));
  }
  CHECK(largest <= 1e-6 * static_cast<double>(k));
}

template <class T>
void check_elements(std::uint64_t m, std::uint64_t n) {
  CAPTURE(m, n, sizeof(T));
  const std::vector<T> c = numbers<T>(m * n, 1), bias = numbers<T>(m, 2), of = numbers<T>(m * n, 3);
  const double near = sizeof(T) == 4 ? 1e-5 : 0.02;
  on_device d;
  on_cuda::product p = product_of(m, n, 8, nk::dtype_of<T>, nk::dtype_of<T>);
  p.follows.vector_size = m;
  p.follows.then = nk::passes::activation::gelu;
  p.follows.keeps = true;
  const on_cuda::finish_operands forward{
      .result = d.send(c), .vector = d.send(bias), .auxiliary = d.room(c.size() * sizeof(T))};
  d.finish(p, apart::all, forward);
  p.follows.then = nk::passes::activation::gelu_gradient;
  p.follows.keeps = false;
  p.follows.sums = nk::passes::summed::result;
  const on_cuda::finish_operands backward{.result = d.send(c),
                                          .vector = d.room(m * sizeof(T)),
                                          .auxiliary = d.send(of),
                                          .workspace = d.room(p.gemm.workspace)};
  d.finish(p, apart::all, backward);
  const std::vector<T> y = d.fetch<T>(forward.result, c.size()),
                       kept = d.fetch<T>(forward.auxiliary, c.size()),
                       dx = d.fetch<T>(backward.result, c.size()), sums = d.fetch<T>(backward.vector, m);
  double largest = 0;
  const auto compare = [&](T given, double wanted) {
    largest = nk::testing::worst_of(largest, std::fabs(wide(given) - wanted) / (1 + std::fabs(wanted)));
  };
  for (std::uint64_t i = 0; i < m; ++i) {
    double sum = 0;
    for (std::uint64_t j = 0; j < n; ++j) {
      const std::size_t e = j * m + i;
      const double before = wide(c[e]) + wide(bias[i]);
      compare(kept[e], before);
      compare(y[e], nk::passes::gelu_at(before).value);
      compare(dx[e], wide(c[e]) * nk::passes::gelu_at(wide(of[e])).slope);
      sum += wide(dx[e]);
    }
    compare(sums[i], sum);
  }
  CHECK(largest <= near);
}

}  // namespace

TEST_CASE("what kernels make of a product's epilogue behind its call, on the device") {
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  check_operand_sums<nk::bf16>(512, 300);
  check_operand_sums<nk::f16>(40, 200);
  check_operand_sums<float>(96, 130);
  check_operand_sums<float>(33, 70);  // no rows of 16 bytes
  check_elements<float>(24, 70);
  check_elements<nk::bf16>(40, 9);
  check_elements<nk::f16>(21, 5);
}
