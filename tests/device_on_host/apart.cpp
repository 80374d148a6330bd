// Epilogues by the product's call, or by kernels behind it where the clock prefers those, and products by a
// kernel of our own where it prefers that: what is recorded, what a run by the record does, and that each
// call on the way may fail.
#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "napkin/cuda/executor.hpp"
#include "napkin/cuda/memory.hpp"
#include "napkin/cuda/transfer.hpp"
#include "support/device_graphs.hpp"
#include "support/host_device.hpp"
#include "support/planned.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::dtype;
using nk::testing::host_device;
using on_cuda::apart;
using on_cuda::blas_choices;
using on_cuda::blas_epilogue;

namespace {

constexpr std::size_t rows = 200, inner = 16, columns = 24;

/// x[t, i] y[t, j], summed over t, and y's sums: no kernel of the plan's, one product with an epilogue.
const on_cuda::plan& gradients() {
  static const on_cuda::plan p = [] {
    nk::builder b;
    b.simplify = true;
    const std::int32_t both[] = {b.input(0, dtype::f32, {rows, inner}),
                                 b.input(1, dtype::f32, {rows, columns})},
                       labels[] = {0, 1, 0, 2}, to[] = {1, 2}, leading[] = {0};
    b.output(b.einsum(both, labels, to));
    b.output(b.reduce(nk::op::sum, both[1], leading));
    return nk::testing::planned<on_cuda::target>(nk::testing::lowered(b.take().view()).view());
  }();
  return p;
}

struct made {
  std::vector<float> product, sums;
  std::size_t apart = 0, small = 0;
  on_cuda::blas_fallbacks fallbacks;
  bool operator==(const made&) const = default;
};

/// By an executor that chooses by time, if it does.
made run(host_device& d, blas_choices& choices, bool by_time = true) {
  const on_cuda::plan_view plan = view_of(gradients());
  const on_cuda::stream on(d.cuda);
  const on_cuda::blas_library blas(d.blas);
  const on_cuda::device_memory arena(d.cuda, plan.peak + 256), x(d.cuda, rows * inner * 4),
      y(d.cuda, rows * columns * 4), product(d.cuda, inner * columns * 4), sums(d.cuda, columns * 4);
  const auto put = [&](const on_cuda::device_memory& to, std::size_t count) {
    std::vector<float> values;
    for (std::size_t i = 0; i < count; ++i)
      values.push_back(static_cast<float>(static_cast<int>(i % 13) - 6) / 4);
    on_cuda::copy_to_device(on, to.data(), std::as_bytes(std::span(values)));
  };
  put(x, rows * inner), put(y, rows * columns);
  on_cuda::executor executor(plan, nullptr, arena.data(), nullptr, blas, choices);
  const void* const from[] = {x.data(), y.data()};
  void* const to[] = {product.data(), sums.data()};
  executor.bind(from, to);
  if (by_time) executor.choose_by_time(on, choices);
  d.blas.epilogues.clear();
  executor.replay(on);
  made m{std::vector<float>(inner * columns), std::vector<float>(columns), executor.epilogues_apart(),
         executor.small_products(), executor.fallbacks()};
  on_cuda::copy_to_host(on, std::as_writable_bytes(std::span(m.product)), product.data());
  on_cuda::copy_to_host(on, std::as_writable_bytes(std::span(m.sums)), sums.data());
  return m;
}

bool sums_in_call(const host_device& d) { return d.blas.epilogues.contains(blas_epilogue::bias_gradient_a); }

/// The clock's milliseconds are fewer of that way to come to the product and its sums.
void prefer(host_device& d, apart way) {
  d.cuda.elapsed = [&d, way, before = nk::testing::small_products_run]() mutable {
    const bool is_own = std::exchange(before, nk::testing::small_products_run) != before;
    const apart ran = is_own                               ? apart::product
                      : d.blas.last == blas_epilogue::none ? apart::all
                                                           : apart::nothing;
    return ran == way ? 20.0f : 30.0f;
  };
}
constexpr apart ways[] = {apart::nothing, apart::all, apart::product};
apart another_than(apart way) { return way == apart::all ? apart::nothing : apart::all; }

}  // namespace

TEST_CASE("what the clock prefers is recorded and done again: all by the call, or by kernels of our own",
          "[cuda]") {
  REQUIRE(view_of(gradients()).count.kernels == 0);
  REQUIRE(view_of(gradients()).count.contractions == 1);
  std::vector<made> all;
  for (const apart way : ways) {
    CAPTURE(way);
    host_device d;
    prefer(d, way);
    blas_choices choices;
    all.push_back(run(d, choices));
    CHECK(all.back().apart == (way != apart::nothing));
    CHECK(all.back().small == (way == apart::product));
    CHECK(all.back().fallbacks == on_cuda::blas_fallbacks{});
    CHECK(sums_in_call(d) == (way == apart::nothing));
    CHECK(d.blas.epilogues.empty() == (way == apart::product));
    CHECK(choices.size() == 2);  // with and without

    blas_choices read;
    read.add(choices.text());
    CHECK(read == choices);
    for (const bool by_time : {true, false}) {  // a clock that would choose otherwise now is not asked
      host_device other;
      prefer(other, another_than(way));
      CHECK(run(other, read, by_time) == all.back());
      CHECK(sums_in_call(other) == (way == apart::nothing));
      CHECK(read == choices);
      CHECK(other.cuda.misuse.empty());
    }
    CHECK(d.cuda.misuse.empty());
    CHECK(d.cuda.alive() + d.blas.alive() == 0);
  }
  for (const made& m : all) {
    CHECK(m.product == all[0].product);
    CHECK(m.sums == all[0].sums);  // of eighths, which f32 holds
  }
}

TEST_CASE("a record of before, of the call's algorithm alone, is taken as it is", "[cuda]") {
  host_device before;
  prefer(before, apart::nothing);
  blas_choices choices;
  const made expected = run(before, choices);
  const std::string text = choices.text();
  blas_choices old;  // only the line of the product with its epilogue
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    if (text.substr(at, end - at).find(" epilogue ") != text.npos) old.add(text.substr(at, end - at));
    at = end;
  }
  REQUIRE(old.size() == 1);
  host_device d;
  prefer(d, apart::all);
  CHECK(run(d, old) == expected);
  CHECK(sums_in_call(d));
  CHECK(old.size() == 1);
}

TEST_CASE("a record that cannot be had is timed anew, and a way that an epilogue has not is none", "[cuda]") {
  host_device first;
  prefer(first, apart::all);
  blas_choices choices;
  run(first, choices);
  SECTION("the product without its epilogue is not recorded") {
    std::string text = choices.text(), kept;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at) + 1;
      if (text.substr(at, end - at).find(" epilogue ") != text.npos) kept += text.substr(at, end - at);
      at = end;
    }
    blas_choices left;
    left.add(kept);
    REQUIRE(left.size() == 1);
    host_device d;
    prefer(d, apart::nothing);
    CHECK(run(d, left).apart == 0);
    CHECK(left.size() == 2);
  }
  SECTION("sums alone, of an epilogue that is nothing else") {
    const on_cuda::plan_view plan = view_of(gradients());
    host_device d;
    const on_cuda::blas_library blas(d.blas);
    prefer(d, apart::nothing);
    const std::string text = choices.text(), key = text.substr(0, text.find('\t', text.find(" epilogue ")));
    on_cuda::blas_algorithm wrong;
    wrong.left = apart::sums;
    blas_choices damaged;
    damaged.set(key.substr(key.find_last_of('\n') + 1), wrong);
    CHECK(run(d, damaged).apart == 0);
    CHECK(sums_in_call(d));
    CHECK(plan.count.contractions == 1);
  }
}

namespace {

/// The same product twice, of other operands: once alone, once with sums. Their calls without an epilogue are
/// one.
const on_cuda::plan& two_of_a_kind(bool plain_first) {
  const auto make = [](bool plain) {
    nk::builder b;
    b.simplify = true;
    std::int32_t x[4];
    for (std::int32_t i = 0; i < 4; ++i) x[i] = b.input(i, dtype::f32, {rows, i % 2 == 0 ? inner : columns});
    const std::int32_t labels[] = {0, 1, 0, 2}, to[] = {1, 2}, leading[] = {0};
    for (const bool with_sums : {!plain, plain}) {
      const std::int32_t both[] = {x[with_sums ? 2 : 0], x[with_sums ? 3 : 1]};
      b.output(b.einsum(both, labels, to));
      if (with_sums) b.output(b.reduce(nk::op::sum, both[1], leading));
    }
    return nk::testing::planned<on_cuda::target>(nk::testing::lowered(b.take().view()).view());
  };
  static const on_cuda::plan plans[] = {make(false), make(true)};
  return plans[plain_first];
}

}  // namespace

TEST_CASE("a product's way and the algorithm of one like it, whose epilogue is done apart, are two records",
          "[cuda]") {
  for (const bool plain_first : {false, true}) {
    CAPTURE(plain_first);
    const on_cuda::plan_view plan = view_of(two_of_a_kind(plain_first));
    REQUIRE(plan.count.contractions == 2);
    blas_choices choices;
    std::vector<std::size_t> small;
    for (const bool again : {false, true}) {
      host_device d;
      // our own kernel is fast at first, and slow when it is not to be asked
      d.cuda.elapsed = [&d, again, before = nk::testing::small_products_run]() mutable {
        const bool is_own = std::exchange(before, nk::testing::small_products_run) != before;
        return (is_own ? 20.0f : d.blas.last == blas_epilogue::none ? 25.0f : 30.0f) * (again ? -1 : 1) + 100;
      };
      const on_cuda::stream on(d.cuda);
      const on_cuda::blas_library blas(d.blas);
      const on_cuda::device_memory arena(d.cuda, plan.peak + 256), x(d.cuda, rows * columns * 4),
          y(d.cuda, rows * columns * 4);
      std::vector<on_cuda::device_memory> results;
      std::vector<void*> to;
      for (int i = 0; i < 3; ++i) to.push_back(results.emplace_back(d.cuda, inner * columns * 4).data());
      on_cuda::fill_with_zeros(on, x.data(), x.size());
      on_cuda::fill_with_zeros(on, y.data(), y.size());
      const void* const from[] = {x.data(), y.data(), x.data(), y.data()};
      on_cuda::executor executor(plan, nullptr, arena.data(), nullptr, blas, choices);
      executor.bind(from, to);
      executor.choose_by_time(on, choices);
      executor.replay(on);
      on.synchronize();
      small.push_back(executor.small_products());
      CHECK(d.cuda.misuse.empty());
    }
    CHECK(small[0] == 2);
    CHECK(small[0] == small[1]);  // by the record, whatever the clock says now
  }
}

TEST_CASE("of a device without the epilogue it is said; of a choice it is not", "[cuda]") {
  host_device d;
  d.blas.has_epilogues = false;
  blas_choices choices;
  const made m = run(d, choices);
  CHECK(m.fallbacks == on_cuda::blas_fallbacks{0, 1});
  CHECK(m.apart == 0);
  CHECK(choices.size() == 2);  // the product without it, and that this was the faster way
}

TEST_CASE("each call on the way to a choice fails in turn: told with its name, nothing leaks", "[cuda]") {
  for (const auto& [way, recorded] :
       {std::pair{apart::all, false}, {apart::all, true}, {apart::product, false}, {apart::product, true}}) {
    blas_choices known;
    if (recorded) {
      host_device d;
      prefer(d, way);
      run(d, known);
    }
    host_device good;
    prefer(good, way);
    blas_choices choices = known;
    run(good, choices);
    REQUIRE(good.cuda.calls > 50);
    int wrong = 0;
    for (int k = 1; k <= good.cuda.calls; ++k) {
      host_device d;
      prefer(d, way);
      d.cuda.fail_at = k;
      choices = known;
      std::string told;
      try {
        run(d, choices);
      } catch (const nk::error& e) {
        told = e.what();
      }
      const bool said = told.find(d.cuda.failed) != told.npos || d.cuda.reports.size() == 1;
      const bool clean = d.cuda.misuse.empty() && d.cuda.alive() == 0 && d.blas.alive() == 0;
      if (said && clean) continue;
      CAPTURE(way, recorded, k, d.cuda.failed, told, d.cuda.misuse, d.cuda.reports);
      CHECK((said && clean));
      ++wrong;
    }
    CHECK(wrong == 0);
  }
}
