// Batches made ahead are the sampler's; so is what a run goes on from, and so are errors. For ThreadSanitizer
// too.
#include "napkin/train/prefetch.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "napkin/core/error.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace nk = napkin;

namespace {

constexpr std::size_t rows = 3, time_steps = 20;

// Byte i of the text is i % 97, in files of 100 bytes; where `odd` says, one byte is 200.
nk::token_source make_source(const temporary_folder& folder, std::size_t bytes, std::size_t odd = ~0ull) {
  std::vector<nk::token_segment> segments;
  for (std::size_t first = 0; first < bytes; first += 100) {
    std::string text;
    for (std::size_t i = first; i < std::min(first + 100, bytes); ++i)
      text += i == odd ? static_cast<char>(200) : static_cast<char>(i % 97);
    segments.push_back(
        nk::find_bytes(nk::posix_file_system(), folder.write("f" + std::to_string(first), text)));
  }
  return nk::token_source(nk::posix_file_system(), "the text", segments, 200);
}

struct batch {
  std::vector<std::uint16_t> tokens = std::vector<std::uint16_t>(rows * time_steps);
  std::vector<std::uint16_t> targets = tokens;
};
bool equal(const nk::token_batch& a, const batch& b) {
  return std::ranges::equal(a.tokens, b.tokens) && std::ranges::equal(a.targets, b.targets);
}

}  // namespace

TEST_CASE("prefetch: the batches of the sampler, whatever is ahead, and its state") {
  const temporary_folder folder;
  const nk::token_source source = make_source(folder, 1000);
  for (const std::size_t ahead : {1u, 2u, 7u}) {
    nk::batch_sampler sampler(source, rows, time_steps, {5, 40});
    nk::batch_prefetcher batches(source, rows, time_steps, {5, 40}, ahead);
    std::size_t wrong = 0;
    batch expected, before;
    nk::token_batch held{};
    for (int n = 0; n < 300; ++n) {
      if (n > 0) wrong += !equal(held, before);  // what one holds stays until one asks for the next
      CHECK(batches.state() == sampler.state());
      sampler.next(expected.tokens, expected.targets);
      held = batches.next();
      wrong += !equal(held, expected);
      before = expected;
      if (n % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // let it run ahead
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("prefetch: goes on from the state of another, which is of batches handed out") {
  const temporary_folder folder;
  const nk::token_source source = make_source(folder, 1000);
  nk::batch_prefetcher first(source, rows, time_steps, {5, 0}, 4);
  for (int n = 0; n < 3; ++n) first.next();
  CHECK(first.state() == nk::sampler_state{5, 3});
  nk::batch_prefetcher second(source, rows, time_steps, first.state(), 1);
  const nk::token_batch of_second = second.next(), of_first = first.next();
  CHECK(std::ranges::equal(of_second.tokens, of_first.tokens));
}

TEST_CASE("prefetch: what making a batch threw is thrown at its turn, and from then on") {
  const temporary_folder folder;
  const nk::token_source source = make_source(folder, 3000, 1234);
  nk::batch_sampler sampler(source, rows, time_steps, {5, 0});
  nk::batch_prefetcher batches(source, rows, time_steps, {5, 0}, 3);
  batch expected;
  std::string message;
  int good = 0;
  for (; good < 1000; ++good) {
    message = message_of<nk::input_error>([&] { sampler.next(expected.tokens, expected.targets); });
    if (message != "nothing was thrown") break;
    REQUIRE(equal(batches.next(), expected));
  }
  REQUIRE(good > 3);
  REQUIRE(good < 1000);
  CHECK(message.find("token 200") != std::string::npos);
  for (int again = 0; again < 2; ++again)
    CHECK(message_of<nk::input_error>([&] { batches.next(); }) == message);
  CHECK(batches.state() == sampler.state());
}

TEST_CASE("prefetch: ends at once, asked for a batch or not; refused as the sampler is") {
  const temporary_folder folder;
  const nk::token_source source = make_source(folder, 1000);
  for (int n = 0; n < 50; ++n) {
    nk::batch_prefetcher batches(source, rows, time_steps, {5, 0}, 2);
    if (n % 2 == 0) batches.next();
  }
  CHECK_THROWS_AS(nk::batch_prefetcher(source, rows, 1000, {5, 0}), nk::input_error);
  CHECK_THROWS_AS(nk::batch_prefetcher(source, 0, 10, {5, 0}), nk::error);
  CHECK_THROWS_AS(nk::batch_prefetcher(source, rows, time_steps, {5, 0}, 0), nk::error);
}
