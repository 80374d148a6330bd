// TensorBoard's event files: the bytes that its own writer makes.
#include "napkin/train/event_file.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "napkin/core/error.hpp"
#include "support/temporary_folder.hpp"

namespace nk = napkin;

TEST_CASE("event file: the bytes of TensorBoard's own writer") {
  constexpr double begin = 1.75e9;  // as tests/parity/generate_events.py has them
  const std::array<nk::event_scalar, 2> first = {{{"loss/training", 2.5f}, {"speed/mfu", 0.415f}}};
  const std::array<nk::event_scalar, 1> second = {
      {{"loss/validation", std::numeric_limits<float>::quiet_NaN()}}};
  const std::string found = nk::event_of_version(begin + 0.125) + nk::event_of_start(begin + 0.125, 301) +
                            nk::event_of_scalars(begin + 1, 301, first) +
                            nk::event_of_scalars(begin + 2, std::int64_t{1} << 40, second);
  const std::string expected = read_whole(NAPKIN_SOURCE_DIR "/tests/parity/data/events.tfevents");
  REQUIRE(expected.size() == 200);
  CHECK(found == expected);
}

TEST_CASE("event file: each run writes one of its own, in a folder that is made") {
  const temporary_folder folder;
  const std::string curves = folder / "a/curves";
  const std::array<nk::event_scalar, 1> point = {{{"loss/training", 1}}};
  std::string first_path;
  {
    nk::event_file first(nk::posix_file_system(), curves, 1.75e9, 1);
    nk::event_file second(nk::posix_file_system(), curves, 1.75e9, 1);  // in the same second
    first_path = first.path();
    CHECK(first_path.find("/events.out.tfevents.1750000000.") != std::string::npos);
    CHECK(second.path() > first_path);
    first.append(1.75e9, 1, point);
  }
  CHECK(files_in(curves) == 2);
  CHECK(read_whole(first_path) == nk::event_of_version(1.75e9) + nk::event_of_start(1.75e9, 1) +
                                      nk::event_of_scalars(1.75e9, 1, point));
  folder.write("file", "");
  CHECK_THROWS_AS(nk::event_file(nk::posix_file_system(), folder / "file", 0, 1), nk::input_error);
}
