// Products that no GEMM says, as the GPU's threads compute them, run on the host: equal to plain loops to the
// bit, and nothing else is written; and how such products are dealt to blocks.
#include "napkin/cuda/tile_product.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "../../../src/cuda/tile_product_launch.hpp"
#include "support/convolution_product.hpp"
#include "support/host_products.hpp"
#include "support/host_warps.hpp"
#include "support/random_product.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::dtype;

namespace {

struct seen {
  int tiles = 0, narrow = 0, split = 0, adjacent = 0, turned = 0, loops = 0;
};

template <dtype Type>
bool random_case(std::mt19937& random, seen& all) {
  const nk::testing::random_product<Type> x(random);
  std::vector<double> workspace(x.p.workspace / sizeof(double) + 1);
  std::vector<nk::type_of<Type>> given = x.c;
  const void* const a = x.a.data() + x.from_a;
  const void* const b = x.b.data() + x.from_b;
  void* const c = given.data() + x.to;
  nk::testing::contract_on_host(x.p, a, b, c, workspace.data());
  if (on_cuda::takes_tiles(x.p.loops)) {
    const on_cuda::detail::tile_arguments k =
        on_cuda::detail::tile_arguments_of(x.p, a, b, c, workspace.data());
    ++all.tiles;
    all.narrow += k.how.narrow;
    all.split += k.how.splits > 1;
    all.adjacent += k.how.a.adjacent || k.how.b.adjacent;
    all.turned += k.how.a.along_rows;
  } else {
    ++all.loops;
  }
  return std::memcmp(static_cast<const void*>(given.data()), static_cast<const void*>(x.want.data()),
                     given.size() * sizeof(given[0])) == 0;
}

}  // namespace

TEST_CASE("a product in tiles is what plain loops compute, whatever its strides", "[tile_product]") {
  std::mt19937 random(5);
  seen all;
  for (const dtype type : nk::all_dtypes)
    nk::dispatch(type, [&]<class T>(std::type_identity<T>) {
      if constexpr (!nk::is_complex(nk::dtype_of<T>) && nk::dtype_of<T> != dtype::b8) {
        const int cases = on_cuda::has_mma(type) || type == dtype::f32 ? 20 : 5;
        int wrong = 0;
        for (int i = 0; i < cases; ++i) wrong += !random_case<nk::dtype_of<T>>(random, all);
        CAPTURE(nk::name_of(type));
        CHECK(wrong == 0);
      }
    });
  CAPTURE(all.tiles, all.narrow, all.split, all.adjacent, all.turned, all.loops);
  CHECK(all.tiles > 60);
  CHECK((all.narrow > 10 && all.narrow < all.tiles - 10));
  CHECK((all.turned > 10 && all.turned < all.tiles - 10));
  CHECK((all.split > 5 && all.adjacent > 10 && all.loops > 3));
  CHECK(!nk::testing::host_machine::unfinished());
}

namespace {

constexpr nk::passes::contraction_groups convolution(std::size_t images, std::size_t side, std::size_t in,
                                                     std::size_t out) {
  return nk::testing::convolution_product(dtype::bf16, {images, side, in, out}).loops;
}
constexpr auto of_convolution = on_cuda::tiles_of(dtype::bf16, convolution(8, 32, 64, 64), 0);
// Windows are rows and terms at once; 16 bytes at a time along the channels, in and out.
static_assert(!of_convolution.swapped && of_convolution.rows.points == 8 * 32 * 32);
static_assert(of_convolution.summed.points == 9 * 64 && of_convolution.columns.points == 64);
static_assert(of_convolution.a.adjacent && !of_convolution.a.along_rows);
static_assert(of_convolution.b.adjacent && of_convolution.b.along_rows);
static_assert(!of_convolution.results_along_rows && !of_convolution.narrow);
static_assert(of_convolution.blocks() == 64 && of_convolution.splits == 1);
// Few tiles share their sums, where there is room.
static_assert(on_cuda::tiles_of(dtype::bf16, convolution(1, 8, 512, 64), 32u << 20).splits > 8);
static_assert(on_cuda::tiles_of(dtype::bf16, convolution(8, 32, 1, 16), 0).narrow);
// More columns than rows: they change places.
static_assert(on_cuda::tiles_of(dtype::f32, convolution(1, 8, 16, 256), 0).swapped);
static_assert(!on_cuda::takes_tiles(convolution(8, 32, 64, 1)));
// It is no GEMM, whatever the dtype, says why, and has room for such sums where it needs any.
static_assert(!nk::testing::convolution_product(dtype::bf16, {8, 32, 64, 64}).refused().empty());
static_assert(nk::testing::convolution_product(dtype::bf16, {8, 32, 64, 64}).workspace > 0);

}  // namespace
