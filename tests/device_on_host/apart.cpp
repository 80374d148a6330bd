// Epilogues by the product's call, or by kernels behind it where the clock prefers those: what is recorded, what a run
// by the record does, and that each call on the way may fail.
#include <catch2/catch.hpp>
#include <string>
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
  std::size_t apart = 0;
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
         executor.fallbacks()};
  on_cuda::copy_to_host(on, std::as_writable_bytes(std::span(m.product)), product.data());
  on_cuda::copy_to_host(on, std::as_writable_bytes(std::span(m.sums)), sums.data());
  return m;
}

bool sums_in_call(const host_device& d) { return d.blas.epilogues.contains(blas_epilogue::bias_gradient_a); }

/// Milliseconds of what ran last.
void prefer(host_device& d, bool is_apart) {
  d.cuda.elapsed = [&d, is_apart] {
    return (d.blas.last == blas_epilogue::none) == is_apart ? 20.0f : 30.0f;
  };
}

}  // namespace

TEST_CASE("what the clock prefers is recorded and done again: the epilogue by the call, or behind it",
          "[cuda]") {
  REQUIRE(view_of(gradients()).count.kernels == 0);
  REQUIRE(view_of(gradients()).count.contractions == 1);
  std::vector<made> all;
  for (const bool is_apart : {false, true}) {
    CAPTURE(is_apart);
    host_device d;
    prefer(d, is_apart);
    blas_choices choices;
    all.push_back(run(d, choices));
    CHECK(all.back().apart == is_apart);
    CHECK(all.back().fallbacks == on_cuda::blas_fallbacks{});
    CHECK(sums_in_call(d) == !is_apart);
    CHECK(choices.size() == 2);  // with and without

    blas_choices read;
    read.add(choices.text());
    CHECK(read == choices);
    for (const bool by_time : {true, false}) {  // a clock that would choose otherwise now is not asked
      host_device other;
      prefer(other, !is_apart);
      CHECK(run(other, read, by_time) == all.back());
      CHECK(sums_in_call(other) == !is_apart);
      CHECK(read == choices);
      CHECK(other.cuda.misuse.empty());
    }
    CHECK(d.cuda.misuse.empty());
    CHECK(d.cuda.alive() + d.blas.alive() == 0);
  }
  CHECK(all[0].product == all[1].product);
  CHECK(all[0].sums == all[1].sums);  // of eighths, which f32 holds
}

TEST_CASE("a record of before, of the call's algorithm alone, is taken as it is", "[cuda]") {
  host_device before;
  prefer(before, false);
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
  prefer(d, true);
  CHECK(run(d, old) == expected);
  CHECK(sums_in_call(d));
  CHECK(old.size() == 1);
}

TEST_CASE("a record that cannot be had is timed anew, and a way that an epilogue has not is none", "[cuda]") {
  host_device first;
  prefer(first, true);
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
    prefer(d, false);
    CHECK(run(d, left).apart == 0);
    CHECK(left.size() == 2);
  }
  SECTION("sums alone, of an epilogue that is nothing else") {
    const on_cuda::plan_view plan = view_of(gradients());
    host_device d;
    const on_cuda::blas_library blas(d.blas);
    prefer(d, false);
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

TEST_CASE("of a device without the epilogue it is said; of a choice it is not", "[cuda]") {
  host_device d;
  d.blas.has_epilogues = false;
  blas_choices choices;
  const made m = run(d, choices);
  CHECK(m.fallbacks == on_cuda::blas_fallbacks{0, 1});
  CHECK(m.apart == 0);
  CHECK(choices.size() == 1);
}

TEST_CASE("each call on the way to a choice fails in turn: told with its name, nothing leaks", "[cuda]") {
  for (const bool recorded : {false, true}) {
    blas_choices known;
    if (recorded) {
      host_device d;
      prefer(d, true);
      run(d, known);
    }
    host_device good;
    prefer(good, true);
    blas_choices choices = known;
    run(good, choices);
    REQUIRE(good.cuda.calls > 50);
    int wrong = 0;
    for (int k = 1; k <= good.cuda.calls; ++k) {
      host_device d;
      prefer(d, true);
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
      CAPTURE(recorded, k, d.cuda.failed, told, d.cuda.misuse, d.cuda.reports);
      CHECK((said && clean));
      ++wrong;
    }
    CHECK(wrong == 0);
  }
}
