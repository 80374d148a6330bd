// A contraction allocates nothing, from its first call on, whatever the number of threads.
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "napkin/cpu/contraction.hpp"
#include "napkin/cpu/gemm.hpp"
#include "napkin/cpu/threads.hpp"
#include "support/count_allocations.hpp"
#include "support/skip.hpp"

namespace nk = napkin;

namespace {

struct matrices {
  std::size_t batch, m, n, k;
  bool a_transposed, b_transposed;
};

nk::on_cpu::contraction_plan plan_of(const matrices& x) {
  static constexpr std::int32_t in_a[] = {0, 1, 3}, in_b[] = {0, 3, 2}, in_c[] = {0, 1, 2};
  const auto strides = [](std::size_t rows, std::size_t columns, bool transposed) {
    const auto r = static_cast<std::ptrdiff_t>(rows), c = static_cast<std::ptrdiff_t>(columns);
    return transposed ? nk::stride_list{r * c, 1, r} : nk::stride_list{r * c, c, 1};
  };
  return nk::on_cpu::plan_contraction(nk::dtype::f32,
                                      {in_a, {x.batch, x.m, x.k}, strides(x.m, x.k, x.a_transposed)},
                                      {in_b, {x.batch, x.k, x.n}, strides(x.k, x.n, x.b_transposed)},
                                      {in_c, {x.batch, x.m, x.n}, strides(x.m, x.n, false)});
}

}  // namespace

TEST_CASE("contractions allocate nothing", "[contraction]") {
#if defined(NAPKIN_ONEDNN)
  SKIP("NAPKIN_ONEDNN is ON, and oneDNN allocates in every call");
#endif
  const std::size_t before = nk::on_cpu::threads();
  // the model's three products of a layer, attention's two, k in blocks, a vector
  const matrices cases[] = {{1, 256, 192, 768, false, false}, {1, 192, 768, 256, true, false},
                            {1, 256, 768, 192, false, true},  {32, 64, 64, 32, false, true},
                            {32, 64, 32, 64, true, false},    {1, 8, 8, 30'000, false, false},
                            {1, 1, 768, 192, false, false}};
  for (const std::size_t threads : {1u, 2u, 3u}) {
    nk::on_cpu::set_threads(threads);
    for (const matrices& x : cases) {
      const nk::on_cpu::contraction_plan plan = plan_of(x);
      const std::vector<float> a(x.batch * x.m * x.k, 1), b(x.batch * x.k * x.n, 1);
      std::vector<float> c(x.batch * x.m * x.n);
      struct alignas(64) line {
        std::byte bytes[64];
      };
      std::vector<line> workspace(plan.workspace / sizeof(line) + 1);
      long calls = 0;
      {
        const allocations::count_here counter;
        for (int i = 0; i < 3; ++i)
          nk::on_cpu::contract(plan, a.data(), b.data(), c.data(), workspace.data());
        calls = allocations::news + allocations::mallocs + allocations::maps;
      }
      INFO(threads << " threads, " << x.batch << " x " << x.m << " x " << x.n << " x " << x.k);
      CHECK(calls == 0);
      CHECK(c.back() == static_cast<float>(x.k));
    }
  }
  nk::on_cpu::set_threads(before);
}

TEST_CASE("what is allocated is counted", "[contraction]") {
  const allocations::count_here counter;
  std::vector<char> small(1000);
  void* const large = std::malloc(std::size_t{1} << 20);
  small[0] = static_cast<char>(large == nullptr);
  const bool made = small[0] == 0;
  std::free(large);
  CHECK(made);
  CHECK(allocations::news > 0);
  if (allocations::mallocs_are_counted) CHECK(allocations::mallocs > 1);
}
