// One seed makes a run repeat, bit for bit: again, at any number of threads, and across a checkpoint.
#include <catch2/catch.hpp>

#include "napkin/core/error.hpp"
#include "napkin/cpu/threads.hpp"
#include "support/compare.hpp"
#include "support/temporary_folder.hpp"
#include "tiny.hpp"

namespace nk = napkin;
using nk::testing::same_bits;

namespace {

struct outcome {
  std::vector<float> losses, everything;
};
outcome run_of(const std::string& text, std::uint64_t seed, int steps) {
  tiny::run run(text, seed);
  std::vector<float> losses = run.train(steps);
  return {losses, run.everything()};
}

}  // namespace

TEST_CASE("training: a seed repeats at 1, 2 and 3 threads, another seed differs") {
  const temporary_folder folder;
  const std::string text = folder.write("text", tiny::text());
  const std::size_t before = nk::on_cpu::threads();
  const outcome first = run_of(text, 5, 6);
  for (const std::size_t threads : {1u, 2u, 3u}) {
    nk::on_cpu::set_threads(threads);
    const outcome again = run_of(text, 5, 6);
    INFO(threads << " threads");
    CHECK(same_bits(again.losses, first.losses));
    CHECK(same_bits(again.everything, first.everything));
  }
  nk::on_cpu::set_threads(before);
  CHECK_FALSE(same_bits(run_of(text, 6, 6).everything, first.everything));
}

TEST_CASE("training: three steps, a checkpoint and three more are six steps") {
  const temporary_folder folder;
  const std::string text = folder.write("text", tiny::text()), path = folder / "c.safetensors";
  nk::file_system& files = nk::posix_file_system();
  const outcome straight = run_of(text, 5, 6);

  tiny::run first(text, 5);
  std::vector<float> losses = first.train(3);
  first.save(files, path);
  tiny::run second(text, 999);  // whose own parameters and batches must not matter
  second.train(1);
  second.load(files, path);
  CHECK(same_bits(second.everything(), first.everything()));
  for (const float loss : second.train(3)) losses.push_back(loss);
  CHECK(same_bits(losses, straight.losses));
  CHECK(same_bits(second.everything(), straight.everything));
}

TEST_CASE("training: a damaged checkpoint is refused and leaves the run as it was") {
  const temporary_folder folder;
  const std::string text = folder.write("text", tiny::text()), path = folder / "c.safetensors";
  tiny::run run(text, 5);
  run.train(2);
  run.save(nk::posix_file_system(), path);
  const std::string bytes = read_whole(path);
  run.train(1);
  const std::vector<float> before = run.everything();
  for (const std::size_t at : {std::size_t{3}, bytes.size() / 10, bytes.size() / 2, bytes.size() - 1}) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    folder.write("c.safetensors", damaged);
    CHECK_THROWS_AS(run.load(nk::posix_file_system(), path), nk::input_error);
    CHECK(same_bits(run.everything(), before));
  }
}
