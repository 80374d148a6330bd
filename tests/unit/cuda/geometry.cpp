// How kernels are dealt to threads at sizes that no test could run: every row has a team, and every block a number.
#include "napkin/cuda/geometry.hpp"

#include <catch2/catch.hpp>

namespace on_cuda = napkin::on_cuda;

namespace {

void check(const on_cuda::kernel_facts& f) {
  const on_cuda::dealing d = on_cuda::deal(f);
  CAPTURE(f.rows, f.row_length, f.reduces_rows, d.teams, d.walks_per_team, d.threads, d.team);
  CHECK(d.blocks() <= 0x7fffffff);
  CHECK(d.walks == f.rows * d.chunks);
  CHECK(d.teams * d.walks_per_team >= d.walks);
  CHECK((d.teams - 1) * d.walks_per_team < d.walks);
  CHECK(d.chunk * d.chunks >= f.row_length);
  CHECK(d.threads <= 1024);
  CHECK(d.team <= d.threads);
}

}  // namespace

TEST_CASE("a kernel of more rows than a grid has blocks gives teams several", "[cuda]") {
  for (const std::size_t rows : {0x7fffffffull, 0x80000000ull, 0x100000000ull, 65600ull * 65536})
    for (const std::size_t length : {1u, 33u, 1056u, 2048u, 20000u}) {
      on_cuda::kernel_facts f;
      f.rows = rows, f.row_length = length, f.smallest = 4, f.adjacent = length % 8 == 0 ? 8 : 1;
      for (const bool reduces : {true, false}) {
        f.reduces_rows = reduces;
        check(f);
      }
    }
}
TEST_CASE("a row of more elements than 32 bits count has threads", "[cuda]") {
  for (const std::size_t length : {0x7fffffffull, 0x80000001ull, 0x200000001ull, 100001ull * 100001})
    for (const bool reduces : {true, false})
      for (const unsigned columns : {0u, 1u}) {
        on_cuda::kernel_facts f;
        f.row_length = length, f.smallest = 2, f.reduces_rows = reduces;
        f.columns = columns, f.reduces_columns = columns > 0;
        check(f);
      }
}
TEST_CASE("what threads keep of a row leaves a quarter of their registers", "[cuda]") {
  for (const unsigned smallest : {2u, 4u, 8u})
    for (const unsigned slots : {0u, 1u, 2u, 3u, 5u})
      for (std::size_t length = 32; length < 70000; length += length / 3 + 1) {
        on_cuda::kernel_facts f;
        f.rows = 1000, f.row_length = length, f.reduces_rows = true, f.slots = slots;
        f.smallest = smallest, f.words = smallest == 8 ? 2 : 1;
        f.adjacent = length % 8 == 0 ? 8 : 1;
        const on_cuda::dealing d = on_cuda::deal(f);
        const std::size_t has = 65536 / d.threads < 255 ? 65536 / d.threads : 255;
        const std::size_t keeps = std::size_t{d.groups} * d.vector * (slots > 0 ? slots : 1) * f.words;
        CAPTURE(smallest, slots, length, d.threads, d.groups, d.vector, has, keeps);
        CHECK((!d.kept || 4 * keeps <= 3 * has));
      }
}
