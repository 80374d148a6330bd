// What kernels of a GPU keep in workspace is among the bytes that they move, by the numbers that its room follows
// from; a CPU's stays in its caches.
#include "napkin/cpu/cost.hpp"
#include "napkin/cuda/cost.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/ops/reduce.hpp"
#include "napkin/ops/window.hpp"
#include "napkin/tensor/tensor.hpp"

namespace nk = napkin;

namespace {

struct tokens : nk::dim<"tokens", 96> {};
struct embed : nk::dim<"embed", 768> {};
using rows = nk::tensor<nk::f32, tokens, embed>;
constexpr std::uint64_t all = 4 * 96 * 768, result = 4 * 768;

// ---- sums over rows: each team's are written by one kernel and read by the next
using summed = decltype(nk::sum<"tokens">(std::declval<const rows&>()));
constexpr auto plan = nk::lowering<summed, nk::cuda>::frozen::view();
constexpr nk::planning::kernel_record kernel = plan.kernels[0];
constexpr std::uint64_t partials = kernel.blocks * kernel.partials_per_block;
static_assert(plan.count.kernels == 1 && kernel.layout.kept && partials == nk::planning::workspace_of(plan));
static_assert(nk::cost<summed, nk::cuda>.bytes == nk::byte_counts{all + partials, result + partials});
static_assert(nk::plan_of<summed, nk::cuda>.bytes == nk::cost<summed, nk::cuda>.bytes);
static_assert(nk::cost<summed, nk::cpu>.bytes == nk::byte_counts{all, result});

// ---- a product that blocks share, alone and with something after it
struct side : nk::dim<"side", 10> {};
struct down : nk::dim<"down", 3> {};
struct in : nk::dim<"in", 512> {};
struct out : nk::dim<"out", 64> {};
using image = nk::tensor<nk::bf16, nk::dim<"batch", 2>, side, in>;
using filter = nk::tensor<nk::bf16, down, in, out>;
using convolved = decltype(nk::dot<"down", "in">(nk::window<"side", down>(std::declval<const image&>()),
                                                 std::declval<const filter&>()));
constexpr nk::byte_counts alone{2 * (2 * 10 * 512 + 3 * 512 * 64), 2 * 2 * 8 * 64};
constexpr auto product = nk::lowering<convolved, nk::cuda>::frozen::view().products[0];
static_assert(!product.gemm.possible && product.workspace > 0);
static_assert(nk::cost<convolved, nk::cuda>.bytes ==
              nk::byte_counts{alone.read + product.workspace, alone.written + product.workspace});
static_assert(nk::plan_of<convolved, nk::cuda>.bytes == nk::cost<convolved, nk::cuda>.bytes);
static_assert(nk::cost<convolved, nk::cpu>.bytes == alone);
using doubled = decltype(std::declval<const convolved&>() * std::declval<const convolved&>());
static_assert(nk::plan_of<doubled, nk::cuda>.bytes == nk::cost<doubled, nk::cuda>.bytes);

}  // namespace
