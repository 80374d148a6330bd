// The GPU's kernels of attention that multiply by warpgroups, thread by thread on the host: every one that is
// compiled. Which kernel does what, and the shared memory that each has.
#include "../../../src/cuda/warpgroup_attention_launch.hpp"
#include "support/host_attention.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using namespace nk::testing::attention;
using nk::attention_mask;
using nk::dtype;
using nk::testing::host_machine;

namespace {

void attend_by_warpgroups(const attention_record& record, const on_cuda::attention_addresses& at) {
  namespace detail = on_cuda::detail;
  const on_cuda::attention_arguments a = detail::attention_arguments_of(record, at);
  if (!detail::is_for_warpgroups(record, a))
    throw std::logic_error("an attention that is not for warpgroups");
  detail::dispatch_warpgroup_attention(
      record, [&]<dtype Type, unsigned Width, detail::attention_kernel Kernel>() {
        using shape = detail::warpgroup_attention_shape<Type, Width, Kernel>;
        run_attention_blocks(
            detail::attention_grid_of<shape>(a), shape::shared_bytes,
            [&](host_machine& machine, std::byte* shared, unsigned head, unsigned block) {
              detail::warpgroup_attention_thread<host_machine, Type, Width, Kernel>(machine, a, shared)
                  .run(head, block);
            },
            shape::threads);
      });
}
constexpr way by_warpgroups{&attend_on_host<&attend_by_warpgroups>};

/// Of a device whose warpgroups multiply: blocks that are filled, and not; of one warpgroup, and of two.
template <class T>
void check_warpgroups(double tolerance) {
  nk::testing::random_source random(7);
  const auto by = by_warpgroups;
  check<T>({.queries = 64, .keys = 64, .hidden = 64, .value = 64}, random, tolerance, by);
  check<T>({.batch = 2,
            .heads = 2,
            .group = 2,
            .queries = 200,
            .keys = 200,
            .hidden = 64,
            .value = 64,
            .causal = true},
           random, tolerance, by);
  check<T>({.heads = 2, .queries = 70, .keys = 131, .hidden = 48, .value = 64, .apart = 8}, random, tolerance,
           by);
  check<T>({.queries = 131, .keys = 40, .hidden = 16, .value = 8, .causal = true}, random, tolerance, by);
  check<T>({.group = 2, .queries = 150, .keys = 150, .hidden = 128, .value = 128, .causal = true}, random,
           tolerance, by);
  check<T>({.queries = 140, .keys = 70, .hidden = 72, .value = 104, .apart = 16}, random, tolerance, by);
  check<T>({.queries = 1, .keys = 1, .hidden = 8, .value = 8, .causal = true}, random, tolerance, by);
}
}  // namespace

TEST_CASE("attention's kernels by warpgroups", "[cuda]") {
  check_warpgroups<nk::bf16>(1.6e-2);
  nk::testing::random_source random(8);
  check<nk::f16>({.queries = 100, .keys = 100, .hidden = 64, .value = 64, .causal = true}, random, 2e-3,
                 by_warpgroups);
}

TEST_CASE("keys whose scores are endlessly small weigh nothing, by warpgroups", "[cuda]") {
  check_endless_scores<nk::bf16>(by_warpgroups);
}

TEST_CASE("a backward pass without deltas that no kernel does is refused", "[cuda]") {
  attention_record r;
  r.backward = true;
  r.extent.queries = r.extent.keys = nk::on_cuda::most_keys_at_once;
  r.extent.hidden = r.extent.value = 64;
  const auto dispatch = [&] {
    nk::on_cuda::detail::dispatch_attention(r, []<dtype, unsigned, auto, auto>(){});
  };
  CHECK_NOTHROW(dispatch());
  ++r.extent.keys;
  CHECK_THROWS_AS(dispatch(), nk::error);
  --r.extent.keys;
  r.extent.mask = attention_mask::adds;
  CHECK_THROWS_AS(dispatch(), nk::error);
  r.extent.mask = attention_mask::none;
  r.extent.hidden = 200;
  const auto general = [&] { nk::on_cuda::detail::dispatch_general_attention(r, []<dtype, auto>(){}); };
  CHECK_THROWS_AS(general(), nk::error);
}

TEST_CASE("attention's shared memory is what a block of any GPU since sm_80 has", "[cuda]") {
  namespace detail = nk::on_cuda::detail;
  using detail::attention_masking;
  std::size_t most = 0;
  const auto look = [&](dtype t, std::size_t width, attention_masking masking,
                        detail::attention_kernel kernel, attention_masking compiled) {
    attention_record r;
    r.type = t;
    r.backward = kernel != detail::attention_kernel::forward;
    r.of(attention_tensor::delta).there = r.backward && kernel != detail::attention_kernel::adjoints;
    r.of(attention_tensor::d_query).there = kernel == detail::attention_kernel::query_adjoint;
    r.extent.hidden = r.extent.value = width;
    r.extent.scale = 1;
    r.extent.window = masking == attention_masking::window ? 4 : 0;
    if (masking == attention_masking::tensor) r.extent.mask = attention_mask::adds;
    detail::dispatch_attention(
        r, [&]<dtype Type, unsigned Width, detail::attention_kernel Kernel, attention_masking Masking>() {
          const std::size_t bytes = detail::attention_shape<Type, Width, Kernel, Masking>::shared_bytes;
          CHECK(Type == t);
          const bool is_narrow = kernel == detail::attention_kernel::adjoints ||
                                 (t == dtype::f32 && kernel == detail::attention_kernel::forward &&
                                  masking != attention_masking::tensor);
          CHECK(Width == (width > 32 || is_narrow ? width : 64));
          CHECK(Kernel == kernel);
          CHECK(Masking == compiled);
          most = bytes > most ? bytes : most;
        });
  };
  for (const dtype t : {dtype::f32, dtype::bf16, dtype::f16})
    for (const std::size_t width : {32u, 64u, 128u})
      for (const auto masking :
           {attention_masking::causal, attention_masking::window, attention_masking::tensor}) {
        using enum detail::attention_kernel;
        for (const auto kernel : {forward, query_adjoint, key_adjoints})
          look(t, width, masking, kernel, masking);
        if (masking != attention_masking::tensor)
          look(t, width, masking, adjoints, attention_masking::window);
      }
  CHECK(most > 0);
  CHECK(most <= 99 * 1024);  // of sm_86 and sm_89; sm_80 and sm_90 have more
}
