// Which checkpoints a folder keeps, what they are called, and who may write there. Its faults:
// tests/checkpoint.
#include "napkin/train/checkpoint_folder.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <limits>

#include "napkin/core/error.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace nk = napkin;

namespace {

float number = 1;

void save(nk::checkpoint_folder& folder, std::uint64_t step, float value = 1) {
  number = value;
  folder.save({{{"w", nk::dtype::f32, {1}, &number}}, "sgd", 1}, {step, {}, {}});
}
std::vector<std::uint64_t> numbers(const nk::checkpoint_folder& folder) {
  std::vector<std::uint64_t> all;
  for (const nk::checkpoint_name& name : folder.list()) all.push_back(name.number);
  return all;
}

}  // namespace

TEST_CASE("checkpoint folder: names") {
  const nk::checkpoint_name name{12, 3400};
  CHECK(name.text() == "checkpoint-000012-step-3400.safetensors");
  CHECK(nk::checkpoint_name::parse(name.text()) == name);
  const nk::checkpoint_name large{1'234'567, 18'446'744'073'709'551'615u};
  CHECK(nk::checkpoint_name::parse(large.text()) == large);
  for (const char* other :
       {"", "checkpoint", "checkpoint-12-step-3400.safetensors", "checkpoint-000012-step-.safetensors",
        "checkpoint-000012-step-3400.safetensors.tmp.7.0", "checkpoint-000012-step-03400.safetensors",
        "checkpoint-000012-step--3.safetensors", "Checkpoint-000012-step-3400.safetensors",
        "checkpoint-000012-step-18446744073709551616.safetensors",
        "checkpoint-1000000000000000-step-1.safetensors",
        "checkpoint-18446744073709551615-step-1.safetensors", "checkpoint-000012-step-3400.safetensors "})
    CHECK_FALSE(nk::checkpoint_name::parse(other).has_value());
}

TEST_CASE("checkpoint folder: the last two are kept, and the last whose numbers are finite") {
  const temporary_folder place;
  nk::checkpoint_folder folder(nk::posix_file_system(), place / "a/b");
  save(folder, 10);
  CHECK(read_whole(place / "a/b/LATEST") == "checkpoint-000001-step-10.safetensors\n");
  save(folder, 20);
  save(folder, 5);  // another run: the last saved counts, not the highest step
  CHECK(numbers(folder) == std::vector<std::uint64_t>{2, 3});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  save(folder, 30, nan);
  save(folder, 40, nan);
  save(folder, 50, -std::numeric_limits<float>::infinity());
  CHECK(numbers(folder) == std::vector<std::uint64_t>{3, 5, 6});
  const nk::resumed_run run = folder.load({{{"w", nk::dtype::f32, {1}, &number}}, "sgd", 1});
  CHECK(run.state.step == 5);
  CHECK(run.passed_over.size() == 2);
  save(folder, 6);
  save(folder, 7);
  CHECK(numbers(folder) == std::vector<std::uint64_t>{7, 8});
  CHECK(files_in(place / "a/b") == 4);  // with LATEST and lock
}

TEST_CASE("checkpoint folder: one writer, whose process is named to the next") {
  const temporary_folder place;
  place.write("a/checkpoint-000003-step-7.safetensors.tmp.1.0", "left over");
  place.write("a/LATEST.tmp.1.0", "left over");
  place.write("a/notes.txt.tmp.1.0", "somebody's");
  {
    nk::checkpoint_folder first(nk::posix_file_system(), place / "a");
    first.prepare(100);
    CHECK(nk::list_folder(nk::posix_file_system(), place / "a") ==
          std::vector<std::string>{"lock", "notes.txt.tmp.1.0"});
    nk::checkpoint_folder second(nk::posix_file_system(), place / "a");
    CHECK_THAT(message_of<nk::input_error>([&] { second.prepare(100); }),
               Catch::Contains(place / "a") &&
                   Catch::Contains("in use by process " + std::to_string(::getpid()) + ":"));
    save(first, 1);
    CHECK(second.list().size() == 1);  // reading is for everybody
  }
  nk::checkpoint_folder third(nk::posix_file_system(), place / "a");
  CHECK_NOTHROW(third.prepare(100));
  CHECK_THAT(message_of<nk::system_error>([&] { third.prepare(std::uint64_t{1} << 60); }),
             Catch::Contains("the disk has"));
}

TEST_CASE("checkpoint folder: a lock is taken from no file of somebody's") {
  const temporary_folder place;
  for (const char* text :
       {"my padlock's number: 7\n", "7", "\n", "7\n8\n", "-7\n", "11111111111111111111111111111111\n"}) {
    place.write("lock", text);
    nk::checkpoint_folder folder(nk::posix_file_system(), place.path());
    CHECK_THAT(message_of<nk::input_error>([&] { folder.prepare(100); }),
               Catch::Contains("\"" + (place / "lock") + "\" is not the lock of a process"));
    CHECK(read_whole(place / "lock") == text);
  }
  const std::string lost_power(7, '\0');
  for (const std::string& text :
       {std::string(), std::string("7\n"), std::string("2147483647\n"), lost_power}) {
    place.write("lock", text);
    nk::checkpoint_folder folder(nk::posix_file_system(), place.path());
    CHECK_NOTHROW(folder.prepare(100));
    CHECK(read_whole(place / "lock") == std::to_string(::getpid()) + "\n");
  }
}

TEST_CASE("checkpoint folder: what bears a checkpoint's name and is none stops no save") {
  const temporary_folder place;
  for (const int i : {1, 2, 3, 7})
    std::filesystem::create_directories(place / nk::checkpoint_name{static_cast<std::uint64_t>(i), 1}.text());
  nk::checkpoint_folder folder(nk::posix_file_system(), place.path());
  CHECK(folder.list().empty());
  for (const std::uint64_t step : {1u, 2u, 3u, 4u}) save(folder, step);
  CHECK(numbers(folder) == std::vector<std::uint64_t>{10, 11});  // behind all names
  CHECK(folder.load({{{"w", nk::dtype::f32, {1}, &number}}, "sgd", 1}).state.step == 4);
  CHECK(std::filesystem::is_directory(place / "checkpoint-000007-step-1.safetensors"));
}

TEST_CASE("checkpoint folder: behind the highest number nothing is saved under a lower one") {
  const temporary_folder place;
  place.write("checkpoint-999999999999999-step-1.safetensors", "");
  nk::checkpoint_folder folder(nk::posix_file_system(), place.path());
  for (int twice = 0; twice < 2; ++twice)
    CHECK_THAT(message_of<nk::input_error>([&] { twice == 0 ? folder.prepare(1) : save(folder, 1); }),
               Catch::Contains("checkpoint-999999999999999-step-1.safetensors\" has the highest number"));
  CHECK(files_in(place.path()) == 2);  // with the lock
}

TEST_CASE("checkpoint folder: of those whose numbers are finite one is kept that can be loaded") {
  const temporary_folder place;
  nk::checkpoint_folder folder(nk::posix_file_system(), place.path());
  save(folder, 1);
  save(folder, 2);
  const std::string second = nk::checkpoint_name{2, 2}.text();
  std::string bytes = read_whole(place / second);
  bytes[bytes.find("sampler.step")] ^= 0x20;  // only the header's own checksum tells
  place.write(second, bytes);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  save(folder, 3, nan);
  save(folder, 4, nan);
  CHECK(numbers(folder) == std::vector<std::uint64_t>{1, 3, 4});
  CHECK(folder.load({{{"w", nk::dtype::f32, {1}, &number}}, "sgd", 1}).state.step == 1);
}
