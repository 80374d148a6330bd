// Planned products run by a fake cuBLASLt that reads their descriptors: the right sums, an algorithm chosen
// once and recorded, every failure told.
#include "napkin/cuda/blas.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "napkin/cuda/blas_plan.hpp"
#include "napkin/cuda/graph_capture.hpp"
#include "napkin/cuda/memory.hpp"
#include "napkin/cuda/transfer.hpp"
#include "support/ended_process.hpp"
#include "support/fake_blas.hpp"

namespace nk = napkin;
using namespace nk::on_cuda;

namespace {

using indices = std::vector<std::int32_t>;

/// A contraction of row-major f32 operands filled with small integers, by labels.
struct contraction {
  indices a, b, c;
  std::vector<std::size_t> sizes;  // by label

  nk::shape shape_of(const indices& axes) const {
    nk::shape s;
    for (std::int32_t l : axes) s.push_back(sizes[static_cast<std::size_t>(l)]);
    return s;
  }
  std::vector<float> fill(const indices& axes, int factor) const {
    std::vector<float> x(numel(shape_of(axes)));
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(static_cast<int>(i * static_cast<std::size_t>(factor)) % 7 - 3);
    return x;
  }
  contraction_operand operand(const indices& axes) const {
    return {axes, shape_of(axes), row_major_strides(shape_of(axes))};
  }
  blas_product plan() const { return plan_blas(nk::dtype::f32, operand(a), operand(b), operand(c)); }

  /// alpha * a b + beta * added
  std::vector<float> expected(float alpha, float beta, const std::vector<float>& added) const {
    const std::vector<float> x = fill(a, 3), y = fill(b, 5);
    std::vector<float> z(added);
    for (float& e : z) e = beta == 0 ? 0 : e * beta;
    std::vector<std::size_t> index(sizes.size(), 0);
    const auto at = [&](const indices& axes) {
      std::size_t o = 0;
      for (std::int32_t l : axes)
        o = o * sizes[static_cast<std::size_t>(l)] + index[static_cast<std::size_t>(l)];
      return o;
    };
    for (;;) {
      z[at(c)] += alpha * x[at(a)] * y[at(b)];
      std::size_t i = sizes.size();
      while (i > 0 && ++index[i - 1] == sizes[i - 1]) index[--i] = 0;
      if (i == 0) return z;
    }
  }
};

const contraction linear{{0, 1, 2}, {2, 3}, {0, 1, 3}, {2, 5, 4, 6}};
const contraction tied{{0, 1}, {2, 1}, {0, 2}, {7, 4, 9}};
const contraction weight_gradient{{0, 1, 2}, {0, 1, 3}, {2, 3}, {2, 5, 4, 6}};
const contraction scores{{0, 1, 2, 4}, {0, 3, 2, 4}, {0, 2, 1, 3}, {3, 5, 2, 6, 4}};  // bthd,bshd->bhts
const contraction two_sums{{0, 2, 3}, {3, 2, 1}, {0, 1}, {8, 8, 3, 8}};               // ixy,yxj->ij

constexpr std::size_t workspace_bytes = 1 << 16;

std::span<const std::byte> bytes_of(const std::vector<float>& x) { return std::as_bytes(std::span(x)); }

/// What a program does with one product: operands over, an algorithm by time, a captured call, the result
/// back.
std::vector<float> run(fake_cuda& cuda, fake_blas& blas, const contraction& x, blas_choices& choices,
                       float alpha, float beta, blas_choice* chosen = nullptr) {
  const std::vector<float> a = x.fill(x.a, 3), b = x.fill(x.b, 5), added = x.fill(x.c, 2);
  const std::size_t sizes[] = {a.size() * 4, b.size() * 4, added.size() * 4};
  const std::size_t operands = (sizes[0] + sizes[1] + 2 * sizes[2] + 255) / 256 * 256;
  const device_memory arena(cuda, operands + workspace_bytes);
  std::byte* const at = arena.data();
  const blas_operands with{at, at + sizes[0], at + sizes[0] + sizes[1], at + sizes[0] + sizes[1] + sizes[2]};
  std::byte* const workspace = at + operands;
  const stream s(cuda);
  copy_to_device(s, const_cast<void*>(with.a), bytes_of(a));
  copy_to_device(s, const_cast<void*>(with.b), bytes_of(b));
  copy_to_device(s, const_cast<void*>(with.added), bytes_of(added));

  const blas_library library(blas);
  blas_call call(library, x.plan(), {.align_a = 4, .align_b = 4, .align_c = 4});
  const blas_choice how =
      call.try_choose_by_time(choices, s, with, alpha, beta, workspace, workspace_bytes, 3);
  if (how == blas_choice::none) call.refuse(workspace_bytes);
  if (chosen != nullptr) *chosen = how;
  const captured_graph graph(s, [&] { call.run(s, with, alpha, beta, workspace); });
  graph.launch(s);
  std::vector<float> result(added.size());
  copy_to_host(s, std::as_writable_bytes(std::span(result)), with.result);
  return result;
}

}  // namespace

TEST_CASE("planned products give the sums of plain loops, scaled and added to", "[blas]") {
  for (const contraction* x : {&linear, &tied, &weight_gradient, &scores, &two_sums})
    for (const auto& [alpha, beta] : {std::pair{1.0f, 0.0f}, std::pair{0.5f, 1.0f}, std::pair{-2.0f, 3.0f}}) {
      fake_cuda cuda;
      fake_blas blas(cuda);
      blas_choices choices;
      CHECK(x->plan().possible);
      CHECK(run(cuda, blas, *x, choices, alpha, beta) == x->expected(alpha, beta, x->fill(x->c, 2)));
      CHECK(cuda.misuse.empty());
      CHECK(cuda.alive() + blas.alive() == 0);
    }
  CHECK(scores.plan().calls() == 2);
  CHECK(two_sums.plan().calls() == 3);
}

TEST_CASE("the fastest algorithm that runs is taken once, recorded, and taken again", "[blas]") {
  fake_cuda cuda;
  fake_blas blas(cuda);
  const auto time_by = [&](std::array<float, 4> milliseconds) {
    cuda.elapsed = [&blas, milliseconds] { return milliseconds[blas.ran.back()]; };
  };
  blas_choices choices;
  blas_choice how{};
  const auto algorithm = [&] { return blas.ran.back(); };  // of the call that was captured

  time_by({0, 3, 1, 2});
  run(cuda, blas, linear, choices, 1, 0, &how);
  CHECK(how == blas_choice::made);
  CHECK(algorithm() == 2);
  CHECK(blas.ran.size() > 10);
  CHECK(choices.size() == 1);

  time_by({0, 1, 2, 3});  // it would be another now
  blas.ran.clear();
  run(cuda, blas, linear, choices, 1, 0, &how);
  CHECK(how == blas_choice::recorded);
  CHECK(blas.ran == std::vector<std::uint64_t>{2});

  blas.unsupported = 2;
  run(cuda, blas, linear, choices, 1, 0, &how);
  CHECK(how == blas_choice::replaced);
  CHECK(algorithm() == 1);

  blas.version_number = 130100;  // another version's choices are not for it
  run(cuda, blas, linear, choices, 1, 0, &how);
  CHECK(how == blas_choice::made);
  CHECK(choices.size() == 2);
  run(cuda, blas, tied, choices, 1, 0);
  CHECK(choices.size() == 3);

  blas_choices without_timing;
  const blas_library library(blas);
  blas_call call(library, linear.plan());
  CHECK(call.choose(without_timing, workspace_bytes) == blas_choice::guessed);
  CHECK(call.algorithm() == blas.algorithms[0]);
  CHECK(without_timing.size() == 0);
  CHECK(without_timing.text().empty());
  const auto asked = [&] {
    return std::count(cuda.log.begin(), cuda.log.end(), "cublasLtMatmulAlgoGetHeuristic");
  };
  const std::ptrdiff_t before = asked();
  blas_call same(library, linear.plan());
  CHECK(same.choose(without_timing, workspace_bytes) == blas_choice::guessed);
  CHECK(asked() == before);
  CHECK(same.algorithm() == blas.algorithms[0]);

  // what was timed comes before a guess, and a guess in the place of what does not run
  without_timing.set(call.key(), blas.algorithms[2]);
  CHECK(same.choose(without_timing, 1 << 20) == blas_choice::recorded);
  CHECK(same.algorithm() == blas.algorithms[2]);
  CHECK(same.choose(without_timing, workspace_bytes) == blas_choice::replaced);
  CHECK(same.algorithm() == blas.algorithms[0]);
}

TEST_CASE("a guess does not keep a product from being timed", "[blas]") {
  fake_cuda cuda;
  fake_blas blas(cuda);
  cuda.elapsed = [&blas] { return blas.ran.back() == 2 ? 1.0f : 2.0f; };
  blas_choices choices;
  const blas_library library(blas);
  blas_call guessed(library, linear.plan(), {.align_a = 4, .align_b = 4, .align_c = 4});
  CHECK(guessed.choose(choices, workspace_bytes) == blas_choice::guessed);
  blas_choice how{};
  run(cuda, blas, linear, choices, 1, 0, &how);
  CHECK(how == blas_choice::made);
  CHECK(blas.ran.back() == 2);
  CHECK(choices.size() == 1);
}

TEST_CASE("of one candidate it is asked whether it runs", "[blas]") {
  fake_cuda cuda;
  fake_blas blas(cuda);
  blas.algorithms.resize(1);
  blas_choices choices;
  run(cuda, blas, linear, choices, 1, 0);
  CHECK(choices.size() == 1);
  CHECK(blas.ran.size() == 3);  // warm, timed, captured
  blas.unsupported = 1;
  choices = {};
  CHECK_THROWS_WITH(run(cuda, blas, linear, choices, 1, 0),
                    Catch::Contains("cuBLASLt runs no algorithm within"));
}

TEST_CASE("split-K of a weight's gradient fits the planned workspace, and is timed beside the others",
          "[blas]") {
  fake_cuda cuda;
  fake_blas blas(cuda);
  const blas_library library(blas);
  const blas_product p = weight_gradient.plan();
  const std::uint64_t partial_sum = p.m * p.n * 4;
  for (const std::uint64_t parts : {16u, 17u}) {
    blas.algorithms.resize(1);
    blas.algorithms.push_back({{2}, parts * partial_sum});
    cuda.elapsed = [&] { return blas.ran.back() == 2 ? 1.0f : 2.0f; };
    const device_memory arena(cuda, 4096 + p.workspace);
    std::byte* const at = arena.data();
    const stream s(cuda);
    blas_choices choices;
    blas_call call(library, p);
    REQUIRE(call.try_choose_by_time(choices, s, {at, at + 1024, at + 2048}, 1, 0, at + 4096, p.workspace) !=
            blas_choice::none);
    CHECK(call.algorithm().data[0] == (parts * partial_sum <= p.workspace ? 2 : 1));
    CHECK((parts == 16) == (parts * partial_sum <= p.workspace));
  }
}

TEST_CASE("choices survive as text; damage is told and never taken", "[blas]") {
  blas_choices choices;
  choices.set("130002\tNVIDIA H200\tbf16 to bf16 NN 8x8x8",
              {{1, 2, 3, ~std::uint64_t{0}, 5, 6, 7, 1ull << 63}, 4096});
  choices.set("130002\tNVIDIA H200\tanother", {{9}, 0});
  const std::string text = choices.text();
  std::vector<std::string> complaints;
  blas_choices again;
  again.add(text, complaints);
  CHECK(again == choices);
  CHECK(again.text() == text);
  CHECK(complaints.empty());

  int wrong = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    for (const char damage : {'\0', '\n', 'f', static_cast<char>(text[i] ^ 1)}) {
      std::string bad = text;
      bad[i] = damage;
      if (bad == text) continue;
      blas_choices left;
      complaints.clear();
      left.add(bad, complaints);
      // The end of a line may become anything: then both lines are lost.
      const blas_algorithm* first = left.find("130002\tNVIDIA H200\tanother");
      wrong += complaints.empty() || left.size() > 1 || (first != nullptr && first->data[0] != 9);
    }
  CHECK(wrong == 0);
  for (std::size_t length = 0; length < text.size(); ++length) {
    blas_choices left;
    complaints.clear();
    left.add(std::string_view(text).substr(0, length), complaints);
    wrong += left.size() > 1 + (length + 1 == text.size());
  }
  CHECK(wrong == 0);
  complaints.clear();
  again.add(std::string(100, '\n'), complaints);
  CHECK(complaints.size() == 10);
}

TEST_CASE("what our own kernels do instead survives as text; a way that is not known is damage", "[blas]") {
  for (const apart left : {apart::nothing, apart::sums, apart::all, apart::product, static_cast<apart>(4)})
    for (const bool by_addresses : {false, true}) {
      blas_choices choices, again;
      choices.set("130002\tNVIDIA H200\tbf16", {{1, 2}, 64, by_addresses, left});
      std::vector<std::string> complaints;
      again.add(choices.text(), complaints);
      const bool is_known = left != static_cast<apart>(4);
      CHECK((again == choices) == is_known);
      CHECK(complaints.empty() == is_known);
    }
}

TEST_CASE("each call to cuBLASLt or CUDA fails in turn: it is told with its name, nothing leaks", "[blas]") {
  blas_choices known;
  {
    fake_cuda cuda;
    fake_blas blas(cuda);
    run(cuda, blas, tied, known, 1, 0);
  }
  for (const bool recorded : {false, true}) {
    fake_cuda good;
    fake_blas good_blas(good);
    blas_choices choices = recorded ? known : blas_choices{};
    run(good, good_blas, tied, choices, 1, 0);
    REQUIRE(good.calls > 30);
    for (int k = 1; k <= good.calls; ++k) {
      fake_cuda cuda;
      fake_blas blas(cuda);
      cuda.fail_at = k;
      choices = recorded ? known : blas_choices{};
      std::string told = "nothing", text;
      try {
        run(cuda, blas, tied, choices, 1, 0);
      } catch (const cuda_error& e) {
        told = e.call();
        text = e.what();
      }
      CAPTURE(k, cuda.failed, told, text, cuda.misuse, cuda.reports);
      if (told == "nothing") {
        CHECK(cuda.reports.size() == 1);
        CHECK(cuda.reports[0].find(cuda.failed + " failed: CUBLAS_STATUS_INTERNAL_ERROR") +
                  cuda.reports[0].find(cuda.failed + " failed: cudaErrorFake") !=
              2 * std::string::npos);
      } else {
        CHECK(told == cuda.failed);
        CHECK(text.find(told.rfind("cublas", 0) == 0 ? "CUBLAS_STATUS_INTERNAL_ERROR" : "cudaErrorFake") !=
              text.npos);
        CHECK(text.find("blas.cpp:") != text.npos);
      }
      CHECK(cuda.misuse.empty());
      CHECK(cuda.alive() + blas.alive() == 0);
    }
  }
}

TEST_CASE("a sticky error behind cuBLASLt's words ends the process", "[blas]") {
  /// What cuBLASLt was told by CUDA, it tells by a status of its own.
  struct lost_cuda : fake_cuda {
    bool lost = false;
    int get_last_error() override { return lost ? 700 : fake_cuda::get_last_error(); }
  };
  fake_cuda good;
  fake_blas good_blas(good);
  blas_choices choices;
  run(good, good_blas, tied, choices, 1, 0);
  std::size_t ended = 0, of_the_library = 0;
  for (int k = 1; k <= good.calls; ++k) {
    const std::string& call = good.log[static_cast<std::size_t>(k - 1)];
    if (call.rfind("cublas", 0) != 0) continue;
    ++of_the_library;
    const nk::testing::ended_process p = nk::testing::in_a_process([k] {
      lost_cuda cuda;
      fake_blas blas(cuda);
      cuda.fail_at = k;
      cuda.lost = true;
      blas_choices none;
      run(cuda, blas, tied, none, 1, 0);
    });
    CAPTURE(k, call, p.said);
    // A launch before it may have been asked first.
    CHECK(p.code == device_exit_code);
    ended += p.said.find("napkin: " + call) == 0;
  }
  CHECK(of_the_library > 10);
  CHECK(ended > 5);
}

TEST_CASE("what cannot be run is refused in words", "[blas]") {
  fake_cuda cuda;
  fake_blas blas(cuda);
  const blas_library library(blas);
  blas_product p = linear.plan();
  p.possible = false;
  p.reason = blas_refusal::calls;
  CHECK_THROWS_WITH(blas_call(library, p), Catch::Contains("it takes too many calls"));
  CHECK_THROWS_WITH(blas_call(library, scores.plan(), {blas_epilogue::bias}),
                    Catch::Contains("no such epilogue"));

  blas_call call(library, linear.plan());
  const stream s(cuda);
  CHECK_THROWS_WITH(call.run(s, {}, 1, 0, nullptr), Catch::Contains("choose an algorithm before"));
  blas_choices choices;
  blas.algorithms.erase(blas.algorithms.begin());
  CHECK_THROWS_WITH(call.choose(choices, 16), Catch::Contains("no algorithm within 16 bytes"));
  CHECK(choices.size() == 0);

  // Nothing to compute needs none of this.
  const contraction empty{{0, 1}, {1, 2}, {0, 2}, {0, 4, 4}};
  blas_call none(library, empty.plan());
  CHECK(none.choose(choices, 0) == blas_choice::recorded);
  none.run(s, {}, 1, 0, nullptr);
  CHECK(std::count(cuda.log.begin(), cuda.log.end(), "cublasLtMatmul") == 0);
}

TEST_CASE("algorithms are asked for that all calls' addresses suit", "[blas]") {
  fake_cuda cuda;
  fake_blas blas(cuda);
  const blas_library library(blas);
  blas_choices choices;
  blas_call whole(library, linear.plan(), {.align_b = 32});
  CHECK(whole.choose(choices, 0) == blas_choice::guessed);
  const auto asked = [&](preference_attribute x) { return blas.alignment[static_cast<int>(x)]; };
  REQUIRE(linear.plan().swapped);
  CHECK(asked(preference_attribute::align_a) == 32);  // BLAS's A is the second operand
  CHECK(asked(preference_attribute::align_b) == 256);
  CHECK(asked(preference_attribute::align_d) == 256);
  // heads lie 4 floats apart, their results 30
  blas_call by_heads(library, scores.plan());
  by_heads.choose(choices, 0);
  CHECK(asked(preference_attribute::align_a) == 16);
  CHECK(asked(preference_attribute::align_c) == 8);

  const device_memory memory(cuda, 4096);
  const stream s(cuda);
  std::byte* const at = memory.data();
  CHECK_THROWS_WITH(whole.run(s, {at, at + 16, at + 2048}, 1, 0, nullptr),
                    Catch::Contains("not lie at a multiple of 32 bytes"));
  CHECK_THROWS_WITH(whole.run(s, {at, at + 32, at + 2048, at + 4}, 1, 0, nullptr),
                    Catch::Contains("not lie at a multiple of 256 bytes"));
}

TEST_CASE("a bias is added in the same call", "[blas]") {
  fake_cuda cuda;
  fake_blas blas(cuda);
  const blas_library library(blas);
  const std::vector<float> a = linear.fill(linear.a, 3), b = linear.fill(linear.b, 5), bias{1, 2, 3, 4, 5, 6};
  const std::size_t elements = linear.fill(linear.c, 1).size();
  const device_memory arena(cuda, 4096);
  const blas_operands with{arena.data(), arena.data() + 1024, arena.data() + 2048, nullptr,
                           arena.data() + 3072};
  const stream s(cuda);
  copy_to_device(s, arena.data(), bytes_of(a));
  copy_to_device(s, arena.data() + 1024, bytes_of(b));
  copy_to_device(s, arena.data() + 3072, bytes_of(bias));
  blas_call call(library, linear.plan(), {blas_epilogue::bias});
  blas_choices choices;
  call.choose(choices, 0);
  call.run(s, with, 1, 0, nullptr);
  std::vector<float> result(elements);
  copy_to_host(s, std::as_writable_bytes(std::span(result)), with.result);
  std::vector<float> expected = linear.expected(1, 0, std::vector<float>(elements));
  for (std::size_t i = 0; i < elements; ++i) expected[i] += bias[i % 6];
  CHECK(result == expected);
}
