// The GPU's kernels of attention but those of warpgroups, thread by thread on the host: every kernel that is compiled,
// and what a plan says that the general ones multiply.
#include <cmath>
#include <cstdlib>
#include <memory>

#include "napkin/cuda/plan.hpp"
#include "napkin/plan/cost.hpp"
#include "support/device_graphs.hpp"
#include "support/host_attention.hpp"
#include "support/planned.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using namespace nk::testing::attention;
using nk::attention_mask;
using nk::dtype;
using nk::testing::host_machine;

namespace {

void attend_by_warps(const attention_record& record, const on_cuda::attention_addresses& at) {
  namespace detail = on_cuda::detail;
  const on_cuda::attention_arguments a = detail::attention_arguments_of(record, at);
  if (on_cuda::is_general(record))
    return detail::dispatch_general_attention(record, [&]<dtype Type, detail::attention_kernel Kernel>() {
      const unsigned pieces = detail::general_attention_pieces<Kernel>(a);
      run_attention_blocks(detail::general_attention_grid<Type, Kernel>(a),
                           detail::general_attention_shape<Type>::shared_bytes,
                           [&](host_machine& machine, std::byte* shared, unsigned head, unsigned block) {
                             detail::run_general_attention<host_machine, Type, Kernel>(
                                 machine, a, shared, head, block / pieces, block % pieces);
                           });
    });
  detail::dispatch_attention(
      record,
      [&]<dtype Type, unsigned Width, detail::attention_kernel Kernel, detail::attention_masking Masking>() {
        using shape = detail::attention_shape<Type, Width, Kernel, Masking>;
        run_attention_blocks(detail::attention_grid_of<shape>(a), shape::shared_bytes,
                             [&](host_machine& machine, std::byte* shared, unsigned head, unsigned block) {
                               detail::attention_thread<host_machine, Type, Width, Kernel, Masking>(machine,
                                                                                                    a, shared)
                                   .run(head, block);
                             });
      });
}
constexpr way by_warps{&attend_on_host<&attend_by_warps>, false, &on_cuda::is_of_few_keys};

}  // namespace

// Tolerances are of a tensor's largest element: PyTorch's for the dtype.
TEST_CASE("attention's kernels in f32", "[cuda]") { check_all<float>(1e-5, by_warps); }
TEST_CASE("attention's kernels in bf16", "[cuda]") { check_all<nk::bf16>(1.6e-2, by_warps); }
TEST_CASE("attention's kernels in f16", "[cuda]") { check_all<nk::f16>(2e-3, by_warps); }
TEST_CASE("attention's kernels of few keys in f32", "[cuda]") { check_short<float>(1e-5, by_warps); }
TEST_CASE("attention's kernels of few keys in bf16", "[cuda]") { check_short<nk::bf16>(1.6e-2, by_warps); }
TEST_CASE("attention's kernels of few keys in f16", "[cuda]") { check_short<nk::f16>(2e-3, by_warps); }
TEST_CASE("attention's kernels with masks in f32", "[cuda]") { check_masked<float>(1e-5, by_warps); }
TEST_CASE("attention's kernels with masks in bf16", "[cuda]") { check_masked<nk::bf16>(1.6e-2, by_warps); }
TEST_CASE("attention's kernels with masks in f16", "[cuda]") { check_masked<nk::f16>(2e-3, by_warps); }

TEST_CASE("attention's general kernels in f64", "[cuda]") {
  check_all<double>(1e-13, by_warps);
  check_masked<double>(1e-13, by_warps);
  check_general<double>(1e-13, by_warps);
}
TEST_CASE("attention's general kernels in f32", "[cuda]") { check_general<float>(1e-5, by_warps); }
TEST_CASE("attention's general kernels in bf16", "[cuda]") { check_general<nk::bf16>(1.6e-2, by_warps); }
TEST_CASE("attention's general kernels in f16", "[cuda]") { check_general<nk::f16>(2e-3, by_warps); }

TEST_CASE("attention's keys whose scores are endlessly small weigh nothing", "[cuda]") {
  check_endless_scores<float>(by_warps);
  check_endless_scores<nk::bf16>(by_warps);
}

namespace {

/// What every kernel gives by a mask whose queries are `apart` elements apart, of sizes `s`.
template <class T>
std::vector<std::vector<T>> given_by(const sizes& s, std::ptrdiff_t apart) {
  using enum attention_tensor;
  using A = nk::planning::register_type<nk::dtype_of<T>>;
  nk::testing::random_source random(11);
  attention_record r;
  r.type = nk::dtype_of<T>;
  r.extent = extent_of(s);
  r.extent.walk(mask).position = apart;
  const auto count = (s.queries - 1) * static_cast<std::size_t>(apart) + s.keys;
  const std::unique_ptr<std::byte, decltype(&std::free)> bits(
      static_cast<std::byte*>(std::calloc(count, 1)),
      &std::free);                 // pages that are touched are there
  if (bits == nullptr) return {};  // a machine that lends no memory before it is touched
  for (std::size_t i = 0; i < s.queries; ++i)
    for (std::size_t j = 0; j < s.keys; ++j)
      bits.get()[i * static_cast<std::size_t>(apart) + j] = std::byte{random.chance(0.7)};
  std::vector<T> of[nk::passes::attention_tensors];
  std::vector<A> sums[nk::passes::attention_tensors];
  nk::on_cuda::attention_addresses at;
  for (const attention_tensor t : all_tensors) {
    const std::size_t n = elements_of(s, t), x = static_cast<std::size_t>(t);
    for (std::size_t i = 0; i < n; ++i) {
      of[x].push_back(static_cast<T>(static_cast<float>(random.uniform(-1, 1))));
      sums[x].push_back(static_cast<A>(random.uniform(0, 1)));
    }
    at.of[x] = is_sums(t) ? reinterpret_cast<std::byte*>(sums[x].data())
                          : reinterpret_cast<std::byte*>(of[x].data());
  }
  at.of[static_cast<std::size_t>(mask)] = bits.get();
  const auto run = [&](std::initializer_list<attention_tensor> all) {
    for (auto& o : r.operands) o = {};
    for (const attention_tensor t : all) r.of(t).there = true;
    attend_by_warps(r, at);
  };
  run({query, key, value, mask, output, log_sum, largest});
  r.backward = true;
  run({query, key, value, mask, output, log_sum, largest, delta, d_query});
  run({query, key, value, mask, output, log_sum, largest, delta, d_key, d_value});
  std::vector<std::vector<T>> given;
  for (const attention_tensor t : {output, d_query, d_key, d_value})
    given.push_back(of[static_cast<std::size_t>(t)]);
  return given;
}
}  // namespace

TEST_CASE("attention's masks may be of more elements than 32 bits count", "[cuda]") {
  const auto look = [](auto type, std::size_t width) {
    using T = decltype(type);
    const sizes s{.queries = 300,
                  .keys = 70,
                  .hidden = width,
                  .value = width,
                  .mask = attention_mask::shows,
                  .has = {0, 0, 0, 1, 1}};
    const std::ptrdiff_t far = 8'000'000;  // times 300: 2.4e9
    CHECK(given_by<T>(s, far) == given_by<T>(s, 70));
    const sizes few{.queries = 100,
                    .keys = 20,
                    .hidden = width,
                    .value = width,
                    .mask = attention_mask::shows,
                    .has = {0, 0, 0, 1, 1}};
    const auto near_by = given_by<T>(few, 20), apart = given_by<T>(few, 3 * far);  // by the general kernels
    double off = 0;
    for (std::size_t t = 0; t < apart.size(); ++t)
      for (std::size_t i = 0; i < apart[t].size(); ++i)
        off = nk::testing::worst_of(off, std::fabs(static_cast<double>(static_cast<float>(apart[t][i])) -
                                                   static_cast<double>(static_cast<float>(near_by[t][i]))));
    CHECK(off <= (sizeof(T) == 2 ? 0.05 : 1e-5));
  };
  look(float{}, 16);
  look(nk::bf16{}, 64);
  look(double{}, 16);  // the general kernels
}

// Lengths and widths that fill tiles and chunks, so that nothing is multiplied but what is counted.
TEST_CASE("attention's general kernels multiply what a plan's cost says", "[cuda]") {
  using Gradients = nk::testing::attention_gradients<dtype::f64, 64, 288, false>;
  const nk::graph graph = Gradients::make(), lowered = nk::testing::lowered(graph.view());
  const auto plan = nk::testing::planned_unsettled<nk::on_cuda::target>(lowered.view());
  std::uint64_t counted = 0, done = 0;
  nk::planning::instruction_costs costs(nk::planning::view_of(plan), lowered.view());
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    if (plan.instructions[i].kind != nk::passes::unit_kind::attention) continue;
    counted += costs.of(i).flops.matmul;
    const attention_record& r = plan.attentions[static_cast<std::size_t>(plan.instructions[i].index)];
    CHECK(nk::on_cuda::is_general(r));
    std::vector<double> memory[attention_tensors];
    nk::on_cuda::attention_addresses at;
    for (std::size_t x = 0; x < attention_tensors; ++x) {
      memory[x].assign(std::size_t{2} * 64 * 8 * 288, 0);
      if (r.operands[x].there) at.of[x] = reinterpret_cast<std::byte*>(memory[x].data());
    }
    host_machine::fmas() = 0;
    attend_by_warps(r, at);
    done += 2 * host_machine::fmas();
  }
  CHECK(done == counted);
  // Of each result's two pieces, the scores and with them d_output times values; and of the result, its sum.
  const std::uint64_t product = std::uint64_t{2} * 8 * 64 * 64 * 288, forward = 2 + 1, of_queries = 4 + 1,
                      of_keys = 4 + 1, of_values = 2 + 1;
  CHECK(counted == (forward + of_queries + of_keys + of_values) * product);
}
