// The GPU's fast kernels of attention, thread by thread on the host: every kernel that is compiled.
#include <cmath>
#include <cstdlib>
#include <memory>

#include "support/host_attention_ways.hpp"

namespace nk = napkin;
using nk::attention_mask;
using nk::dtype;
using nk::passes::attention_tensor;
using nk::planning::attention_record;
using nk::testing::attention::by_warpgroups;
using nk::testing::attention::by_warps;
using nk::testing::attention::check;
using nk::testing::attention::check_all;
using nk::testing::attention::check_masked;
using nk::testing::attention::check_short;
using nk::testing::attention::is_sums;

// Tolerances are of a tensor's largest element: PyTorch's for the dtype.
TEST_CASE("attention's kernels in f32", "[cuda]") { check_all<float>(1e-5, by_warps); }
TEST_CASE("attention's kernels in bf16", "[cuda]") { check_all<nk::bf16>(1.6e-2, by_warps); }
TEST_CASE("attention's kernels in f16", "[cuda]") { check_all<nk::f16>(2e-3, by_warps); }
TEST_CASE("attention's kernels of few keys in f32", "[cuda]") { check_short<float>(1e-5, by_warps); }
TEST_CASE("attention's kernels of few keys in bf16", "[cuda]") { check_short<nk::bf16>(1.6e-2, by_warps); }
TEST_CASE("attention's kernels of few keys in f16", "[cuda]") { check_short<nk::f16>(2e-3, by_warps); }
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

TEST_CASE("attention's kernels with masks in f32", "[cuda]") { check_masked<float>(1e-5, by_warps); }
TEST_CASE("attention's kernels with masks in bf16", "[cuda]") { check_masked<nk::bf16>(1.6e-2, by_warps); }
TEST_CASE("attention's kernels with masks in f16", "[cuda]") { check_masked<nk::f16>(2e-3, by_warps); }

/// What every kernel gives by a mask whose queries are `apart` elements apart, of sizes `s`.
template <class T>
std::vector<std::vector<T>> given_by(const nk::testing::attention::sizes& s, std::ptrdiff_t apart) {
  using enum attention_tensor;
  using A = nk::planning::register_type<nk::dtype_of<T>>;
  nk::testing::random_source random(11);
  attention_record r;
  r.type = nk::dtype_of<T>;
  r.extent = nk::testing::attention::extent_of(s);
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
  for (const attention_tensor t : nk::testing::attention::all_tensors) {
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
    nk::testing::attend_by_warps(r, at);
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
TEST_CASE("attention's masks may be of more elements than 32 bits count", "[cuda]") {
  const auto look = [](auto type, std::size_t width) {
    using T = decltype(type);
    const nk::testing::attention::sizes s{.queries = 300,
                                          .keys = 70,
                                          .hidden = width,
                                          .value = width,
                                          .mask = attention_mask::shows,
                                          .has = {0, 0, 0, 1, 1}};
    const std::ptrdiff_t far = 8'000'000;  // times 300: 2.4e9
    CHECK(given_by<T>(s, far) == given_by<T>(s, 70));
    const nk::testing::attention::sizes few{.queries = 100,
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
TEST_CASE("attention's kernels by warpgroups", "[cuda]") {
  check_warpgroups<nk::bf16>(1.6e-2);
  nk::testing::random_source random(8);
  check<nk::f16>({.queries = 100, .keys = 100, .hidden = 64, .value = 64, .causal = true}, random, 2e-3,
                 by_warpgroups);
}

/// Scores of the first 128 keys are below what f32 has: -inf, and weigh nothing.
template <class T>
void check_endless_scores(nk::testing::attention::way by) {
  using enum attention_tensor;
  const nk::testing::attention::sizes s{.queries = 4, .keys = 256, .hidden = 64, .value = 64};
  std::vector<T> of[nk::passes::attention_tensors];
  std::vector<float> log_sums(s.queries);
  std::byte* at[nk::passes::attention_tensors] = {};
  attention_record r;
  r.type = nk::dtype_of<T>;
  r.extent = nk::testing::attention::extent_of(s);
  const auto hand = [&](attention_tensor t, auto value) {
    auto& to = of[static_cast<std::size_t>(t)];
    for (std::size_t i = 0; i < elements_of(s, t); ++i)
      to.push_back(static_cast<T>(static_cast<float>(value(i / 64, i % 64))));
    at[static_cast<std::size_t>(t)] = reinterpret_cast<std::byte*>(to.data());
    r.of(t).there = true;
  };
  hand(query, [](std::size_t, std::size_t c) { return c == 0 ? 1e20 : 0.0; });
  hand(key, [](std::size_t j, std::size_t c) { return c == 0 && j < 128 ? -1e20 : 0.0; });
  hand(value, [](std::size_t j, std::size_t) { return j < 128 ? 7.0 : 3.0; });
  hand(output, [](std::size_t, std::size_t) { return 0.0; });
  at[static_cast<std::size_t>(log_sum)] = reinterpret_cast<std::byte*>(log_sums.data());
  r.of(log_sum).there = true;
  by.attend(r, at);
  double off = 0;
  for (const T x : of[static_cast<std::size_t>(output)])
    off = nk::testing::worst_of(off, std::fabs(static_cast<double>(static_cast<float>(x)) - 3));
  for (const float x : log_sums) off = nk::testing::worst_of(off, std::fabs(x - std::log(128.0)));
  CHECK(off <= 1e-5);
}
TEST_CASE("attention's keys whose scores are endlessly small weigh nothing", "[cuda]") {
  check_endless_scores<float>(by_warps);
  check_endless_scores<nk::bf16>(by_warps);
  check_endless_scores<nk::bf16>(by_warpgroups);
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
