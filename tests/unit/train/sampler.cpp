// Batches repeat from two integers, lie within the text, and reach all of it.
#include "napkin/train/sampler.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace nk = napkin;

namespace {

struct batch {
  std::vector<std::uint16_t> tokens;
  std::vector<std::uint16_t> targets;
  bool operator==(const batch&) const = default;
};

batch next(nk::batch_sampler& sampler, std::size_t size) {
  batch result{std::vector<std::uint16_t>(size), std::vector<std::uint16_t>(size)};
  sampler.next(result.tokens, result.targets);
  return result;
}

// Byte i of the text is i % 251; 100 bytes a file, so that windows cross borders.
nk::token_source make_source(const temporary_folder& folder, int bytes) {
  std::vector<nk::token_segment> segments;
  for (int first = 0; first < bytes; first += 100) {
    std::string text;
    for (int i = first; i < std::min(first + 100, bytes); ++i) text += static_cast<char>(i % 251);
    segments.push_back(
        nk::find_bytes(nk::posix_file_system(), folder.write("f" + std::to_string(first), text)));
  }
  return nk::token_source(nk::posix_file_system(), "the text", segments, 256);
}

}  // namespace

TEST_CASE("sampler: windows of the joined text, targets one further") {
  const temporary_folder folder;
  const nk::token_source source = make_source(folder, 1000);
  nk::batch_sampler sampler(source, 3, 150, {7, 0});
  for (std::uint64_t step = 0; step < 20; ++step) {
    const batch found = next(sampler, 450);
    for (std::size_t row = 0; row < 3; ++row) {
      const std::uint64_t start = sampler.start(step, row);
      CHECK(start <= 1000 - 150 - 1);
      std::size_t wrong = 0;
      for (std::size_t t = 0; t < 150; ++t) {
        wrong += found.tokens[row * 150 + t] != (start + t) % 251;
        wrong += found.targets[row * 150 + t] != (start + t + 1) % 251;
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("sampler: the same from the same state, another from another seed") {
  const temporary_folder folder;
  const nk::token_source source = make_source(folder, 1000);
  nk::batch_sampler first(source, 4, 16, {7, 0});
  std::vector<batch> batches;
  for (int i = 0; i < 10; ++i) batches.push_back(next(first, 64));
  CHECK(first.state() == nk::sampler_state{7, 10});
  for (std::uint64_t from = 0; from < 10; ++from) {
    nk::batch_sampler resumed(source, 4, 16, {7, from});
    for (std::uint64_t i = from; i < 10; ++i) CHECK(next(resumed, 64) == batches[i]);
  }
  nk::batch_sampler other(source, 4, 16, {8, 0});
  CHECK_FALSE(next(other, 64) == batches[0]);
  CHECK_FALSE(batches[1] == batches[0]);
}

TEST_CASE("sampler: every start is drawn, about equally often") {
  const temporary_folder folder;
  const nk::token_source source = make_source(folder, 50);
  const nk::batch_sampler sampler(source, 10, 9, {1, 0});
  std::vector<int> drawn(50 - 9);  // the last window's last target is the last byte
  for (std::uint64_t step = 0; step < 4100; ++step)
    for (std::size_t row = 0; row < 10; ++row) ++drawn.at(sampler.start(step, row));
  double chi_squared =
      0;  // 40 degrees of freedom: above 80.1 in 1 of 5,000 sound generators, and fixed by the seed
  for (const int count : drawn) chi_squared += (count - 1000.0) * (count - 1000.0) / 1000.0;
  CHECK(chi_squared < 80.1);
}

TEST_CASE("sampler: the shortest text that will do, and one byte less") {
  const temporary_folder folder;
  const nk::token_source source = make_source(folder, 17);
  nk::batch_sampler sampler(source, 1, 16, {7, 0});
  CHECK(next(sampler, 16).targets.back() == 16);
  CHECK_THAT(message_of<nk::input_error>([&] {
               nk::batch_sampler(source, 1, 17, {7, 0});
             }),
             Catch::Contains("the text has 17 tokens") && Catch::Contains("a sequence of 17") &&
                 Catch::Contains("takes 18"));
  CHECK_THROWS_AS(next(sampler, 15), nk::error);
}

TEST_CASE("sampler: a text of more than 2^32 tokens is reached beyond them") {
  const temporary_folder folder;
  const std::string path = folder.write("sparse", "");
  std::filesystem::resize_file(path, 9'000'000'000);
  const nk::token_source source(nk::posix_file_system(), "sparse",
                                {nk::find_bytes(nk::posix_file_system(), path)}, 256);
  const nk::batch_sampler sampler(source, 100, 8, {7, 0});
  int beyond = 0;
  for (std::size_t row = 0; row < 100; ++row) beyond += sampler.start(0, row) > 0xffffffffu;
  CHECK(beyond > 25);  // 52 of 100 are expected
  CHECK(beyond < 80);
}
