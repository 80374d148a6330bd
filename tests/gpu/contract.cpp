// Products that no GEMM says, on a GPU: equal to plain loops to the bit, and nothing else is written.
#include "napkin/cuda/contract.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "napkin/cuda/memory.hpp"
#include "napkin/cuda/transfer.hpp"
#include "support/device_here.hpp"
#include "support/random_product.hpp"
#include "support/skip.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::dtype;

TEST_CASE("a product that no GEMM says is on the device what plain loops compute") {
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  on_cuda::cuda_calls& calls = on_cuda::cuda_runtime();
  const on_cuda::stream on(calls);
  std::mt19937 random(3);
  for (const dtype type :
       {dtype::f32, dtype::bf16, dtype::f16, dtype::f64, dtype::f8e4m3, dtype::i32, dtype::u8})
    nk::dispatch(type, [&]<class T>(std::type_identity<T>) {
      if constexpr (!nk::is_complex(nk::dtype_of<T>) && nk::dtype_of<T> != dtype::b8) {
        for (int i = 0; i < 4; ++i) {
          const nk::testing::random_product<nk::dtype_of<T>> x(random, i == 0 ? 4 : 0);
          const auto sent = [&](const std::vector<T>& from) {
            on_cuda::device_memory to(calls, from.size() * sizeof(T));
            on_cuda::copy_to_device(on, to.data(), std::as_bytes(std::span(from)));
            return to;
          };
          const on_cuda::device_memory a = sent(x.a), b = sent(x.b), c = sent(x.c),
                                       workspace(calls, x.p.workspace + 256);
          const auto at = [](const on_cuda::device_memory& m, std::ptrdiff_t index) {
            return m.data() + index * static_cast<std::ptrdiff_t>(sizeof(T));
          };
          on_cuda::contract(x.p, at(a, x.from_a), at(b, x.from_b), at(c, x.to), workspace.data(),
                            on.handle());
          on.check_launch("a product's kernel");
          std::vector<T> given(x.c.size());
          on_cuda::copy_to_host(on, std::as_writable_bytes(std::span(given)), c.data());
          CAPTURE(nk::name_of(type), i);
          CHECK(std::memcmp(static_cast<const void*>(given.data()), static_cast<const void*>(x.want.data()),
                            given.size() * sizeof(T)) == 0);
        }
      }
    });
}
