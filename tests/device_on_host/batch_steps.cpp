// The loop of a training program on the device: the next batch goes over while one is computed, and
// validation, timed steps, checkpoints and errors come out as if it did not; algorithms are chosen once for
// all programs.
#include "napkin/train/batch_steps.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "napkin/napkin.hpp"
#include "napkin/train/blas_cache.hpp"
#include "napkin/train/cuda_trainer.hpp"
#include "napkin/train/validation.hpp"
#include "support/compare.hpp"
#include "support/host_kernels.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"
#include "support/trained_numbers.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::testing::everything_of;
using nk::testing::largest_difference;

namespace batch_steps_test {

struct batch : nk::dim<"batch", 3> {};
struct seq : nk::dim<"seq", 5> {};
struct vocab : nk::dim<"vocab", 11> {};
struct embed : nk::dim<"embed", 6> {};

/// What follows a token, by that token alone.
struct bigram {
  BOOST_HANA_DEFINE_STRUCT(bigram, (nk::param<vocab, embed>, table), (nk::param<embed, vocab>, head));
  constexpr auto loss(nk::input<nk::u16, batch, seq> tokens, nk::input<nk::u16, batch, seq> targets) const {
    const auto x = nk::gather<"vocab">(table, tokens);
    return nk::cross_entropy<"vocab">(
        nk::einsum<"batch seq embed, embed vocab -> batch seq vocab">(nk::tanh(x), head), targets);
  }
};
using step = nk::train_step<bigram, nk::adamw>;
using trainer = nk::trainer<step, nk::cuda>;

/// Tokens in files of 40 bytes, so that what is wrong with one is found where its turn comes.
nk::token_source text_in(const temporary_folder& folder, std::size_t bytes, std::size_t odd = ~0ull,
                         std::size_t tokens = vocab::size) {
  std::vector<nk::token_segment> segments;
  for (std::size_t first = 0; first < bytes; first += 40) {
    std::string text;
    for (std::size_t i = first; i < first + 40; ++i)
      text += i == odd ? '\xff' : static_cast<char>(i * i % 7 + i % 4);
    segments.push_back(
        nk::find_bytes(nk::posix_file_system(), folder.write("f" + std::to_string(first), text)));
  }
  return nk::token_source(nk::posix_file_system(), "the text", segments, tokens);
}

using machine = nk::testing::device_with_session;
constexpr auto nothing = [] {};

}  // namespace batch_steps_test

using namespace batch_steps_test;

TEST_CASE("steps with the next batch on its way are those of one batch after another", "[cuda]") {
  const temporary_folder folder;
  const nk::token_source text = text_in(folder, 400);
  const nk::validation_set validation(text, 2, batch::size, seq::size);
  machine one, ahead;
  nk::trainer<step> cpu(nk::seed{3});
  trainer plain(nk::seed{3}, {}, one.session), t(nk::seed{3}, {}, ahead.session);
  nk::batch_prefetcher for_cpu(text, batch::size, seq::size, {9, 4}),
      for_plain(text, batch::size, seq::size, {9, 4}), batches(text, batch::size, seq::size, {9, 4});
  nk::batch_steps steps(t, batches);
  nk::batch_steps cpu_steps(cpu, for_cpu);
  std::vector<double> kernels(trainer::timed_kernels);
  std::vector<float> losses, expected, on_cpu;
  CHECK(steps.state() == nk::sampler_state{9, 4});
  for (std::uint64_t n = 0; n < 9; ++n) {
    const double rate = 0.02 / static_cast<double>(n + 1);
    const nk::token_batch b = for_plain.next();
    expected.push_back(plain.step(rate, b.tokens, b.targets).loss);
    on_cpu.push_back(cpu_steps.step(rate, {}, nothing).loss);
    bool asked = false, was_on_its_way = false;
    ahead.cuda.log.clear();
    const nk::step_result r = steps.step(rate, n == 4 ? std::span(kernels) : std::span<double>(), [&] {
      asked = true;
      const auto launch = std::find(ahead.cuda.log.begin(), ahead.cuda.log.end(), "cudaGraphLaunch");
      was_on_its_way = std::find(launch, ahead.cuda.log.end(), "cudaMemcpyAsync") != ahead.cuda.log.end();
    });
    losses.push_back(r.loss);
    CHECK(asked);
    CHECK((was_on_its_way || n == 4));  // a timed step is no captured one
    CHECK(steps.state() == nk::sampler_state{9, 5 + n});
    CHECK(steps.state() == cpu_steps.state());
    if (n % 3 == 1) CHECK(validation.loss(t) == validation.loss(plain));
  }
  CHECK(losses == expected);
  CHECK(largest_difference(losses, on_cpu) <= 1e-5);
  CHECK(everything_of(t) == everything_of(plain));
  CHECK(*std::max_element(kernels.begin(), kernels.end()) > 0);
  CHECK(ahead.cuda.misuse.empty());
}

TEST_CASE("a batch that is none of the model's is refused at its turn, as on the CPU, and the next is taken",
          "[cuda]") {
  const temporary_folder folder;
  const nk::token_source text = text_in(folder, 120, 57, 256);  // one byte is no token of the model's
  machine m;
  nk::trainer<step> cpu(nk::seed{3});
  trainer t(nk::seed{3}, {}, m.session);
  nk::batch_prefetcher for_cpu(text, batch::size, seq::size, {9, 0}),
      batches(text, batch::size, seq::size, {9, 0});
  nk::batch_steps steps(t, batches);
  nk::batch_steps cpu_steps(cpu, for_cpu);
  int refused = 0;
  for (int n = 0; n < 24; ++n) {
    CAPTURE(n);
    float loss = 0, on_cpu = 0;
    const std::string said = message_of<nk::input_error>([&] { loss = steps.step(0.02, {}, nothing).loss; });
    CHECK(said == message_of<nk::input_error>([&] { on_cpu = cpu_steps.step(0.02, {}, nothing).loss; }));
    CHECK(std::fabs(loss - on_cpu) <= 1e-5f);
    refused += loss == 0;
  }
  CHECK(refused > 0);
  CHECK(refused < 20);
  CHECK(t.steps() == 24 - refused);
  CHECK(m.cuda.misuse.empty());
}

TEST_CASE("a step during which the host throws is made, and the next one too", "[cuda]") {
  const temporary_folder folder;
  const nk::token_source text = text_in(folder, 400);
  machine m, other;
  trainer t(nk::seed{3}, {}, m.session), plain(nk::seed{3}, {}, other.session);
  nk::batch_prefetcher batches(text, batch::size, seq::size, {9, 0}),
      for_plain(text, batch::size, seq::size, {9, 0});
  nk::batch_steps steps(t, batches), plain_steps(plain, for_plain);
  CHECK_THROWS_WITH(steps.step(0.02, {}, [] { throw std::runtime_error("the disk is full"); }),
                    "the disk is full");
  plain_steps.step(0.02, {}, nothing);
  CHECK(t.steps() == 1);
  CHECK(steps.state() == plain_steps.state());
  CHECK(steps.step(0.02, {}, nothing).loss == plain_steps.step(0.02, {}, nothing).loss);
  CHECK(everything_of(t) == everything_of(plain));
}

TEST_CASE("nothing is saved or loaded between a launch and its end", "[cuda]") {
  const temporary_folder folder;
  nk::file_system& files = nk::posix_file_system();
  machine m;
  trainer t(nk::seed{3}, {}, m.session);
  nk::save_checkpoint(files, folder / "c", t, {});
  const std::vector<std::uint16_t> tokens(batch::size * seq::size, 1);
  t.stage(tokens, tokens);
  t.launch(0.02);
  CHECK_THROWS_WITH(nk::save_checkpoint(files, folder / "d", t, {}),
                    "trainer: wait() for the launched step before save_checkpoint");
  CHECK_THROWS_WITH(nk::load_checkpoint(files, folder / "c", t),
                    "trainer: wait() for the launched step before load_checkpoint");
  CHECK(t.wait().applied);
  CHECK(t.steps() == 1);
  nk::save_checkpoint(files, folder / "d", t, {});
}

TEST_CASE("a trainer's algorithms are those it runs by, whatever another of its session is told", "[cuda]") {
  machine m;
  trainer t(nk::seed{3}, {}, m.session), other(nk::seed{4}, {}, m.session);
  const std::string ran = t.algorithms();
  CHECK(!ran.empty());
  m.session.choices() = {};
  CHECK(t.algorithms() == ran);
  CHECK(t.use_algorithms(ran));
  CHECK(t.algorithms() == ran);
}

TEST_CASE("a run saved between such steps goes on to the same bits", "[cuda]") {
  const temporary_folder folder;
  nk::file_system& files = nk::posix_file_system();
  const nk::token_source text = text_in(folder, 400);
  machine m, other;
  trainer t(nk::seed{3}, {}, m.session), resumed(nk::seed{8}, {}, other.session);
  nk::batch_prefetcher batches(text, batch::size, seq::size, {9, 0});
  nk::batch_steps steps(t, batches);
  for (int n = 0; n < 3; ++n) steps.step(0.02, {}, nothing);
  nk::save_checkpoint(files, folder / "c", t, steps.state());
  for (int n = 0; n < 3; ++n) steps.step(0.02, {}, nothing);

  const nk::run_state state = nk::load_checkpoint(files, folder / "c", resumed);
  CHECK(state.same_algorithms);
  CHECK(state.sampler == nk::sampler_state{9, 3});
  nk::batch_prefetcher later(text, batch::size, seq::size, state.sampler);
  nk::batch_steps on(resumed, later);
  for (int n = 0; n < 3; ++n) on.step(0.02, {}, nothing);
  CHECK(everything_of(resumed) == everything_of(t));
}

TEST_CASE("a batch that cannot be made is told at its turn", "[cuda]") {
  const temporary_folder folder;
  const nk::token_source text = text_in(folder, 1200, 777);
  machine m;
  nk::trainer<step> cpu(nk::seed{3});
  trainer t(nk::seed{3}, {}, m.session);
  nk::batch_prefetcher for_cpu(text, batch::size, seq::size, {2, 0}),
      batches(text, batch::size, seq::size, {2, 0});
  nk::batch_steps steps(t, batches);
  nk::batch_steps cpu_steps(cpu, for_cpu);
  const auto steps_before = [](auto& with, std::string& message) {
    int good = 0;
    for (message = "nothing was thrown"; good < 1000 && message == "nothing was thrown"; ++good)
      message = message_of<nk::input_error>([&] { with.step(0.02, {}, nothing); });
    return good - 1;
  };
  std::string told, expected;
  const int good = steps_before(steps, told), good_on_cpu = steps_before(cpu_steps, expected);
  CHECK(good == good_on_cpu);
  CHECK(good > 2);
  CHECK(told == expected);
  CHECK(told.find("token 255") != std::string::npos);
  CHECK(t.steps() == good);
  CHECK(steps.state() == cpu_steps.state());
}

TEST_CASE("what one program timed, the next one takes from the cache: nothing is asked of cuBLASLt",
          "[cuda]") {
  const temporary_folder folder;
  nk::file_system& files = nk::posix_file_system();
  std::vector<std::string> complaints;
  std::string algorithms;
  const auto asked = [](const machine& m) {
    return std::count(m.cuda.log.begin(), m.cuda.log.end(), "cublasLtMatmulAlgoGetHeuristic");
  };
  {
    machine m;
    m.blas.algorithms.push_back({{2}, 0});
    m.cuda.elapsed = [&] { return m.blas.ran.back() == 2 ? 1.0f : 2.0f; };
    nk::load_blas_cache(files, folder / "caches/cublaslt", m.session.choices(), complaints);
    trainer t(nk::seed{3}, {}, m.session);
    CHECK(asked(m) > 0);
    algorithms = t.algorithms();
    nk::save_blas_cache(files, folder / "caches/cublaslt", m.session.choices(), complaints);
  }
  machine m;
  m.blas.algorithms.push_back({{2}, 0});
  nk::load_blas_cache(files, folder / "caches/cublaslt", m.session.choices(), complaints);
  trainer t(nk::seed{3}, {}, m.session);
  CHECK(asked(m) == 0);
  CHECK(t.algorithms() == algorithms);
  CHECK(m.blas.ran.back() == 2);
  CHECK(complaints.empty());
  nk::save_blas_cache(files, "", m.session.choices(), complaints);
  nk::load_blas_cache(files, "", m.session.choices(), complaints);
  CHECK(complaints.empty());
}
