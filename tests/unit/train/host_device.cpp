// The host's peaks: measured once, read afterwards, and never taken from a file that is not right.
#include "napkin/train/host_device.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "napkin/cost/time.hpp"
#include "napkin/train/cache_path.hpp"
#include "support/temporary_folder.hpp"

namespace nk = napkin;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}
void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::uint64_t f32_of(const nk::device& d) { return d.peak(nk::arithmetic::f32).per_second; }

}  // namespace

TEST_CASE("the host is measured once and read from its cache", "[host]") {
  const temporary_folder folder;
  const std::string path = folder.path() + "/new/folder/host";
  nk::file_system& files = nk::posix_file_system();
  const nk::device measured = nk::host_device(files, path);
  CHECK(f32_of(measured) > 100'000'000);  // some processor's
  CHECK(measured.peak(nk::arithmetic::f64).per_second > 50'000'000);
  CHECK(measured.bandwidth > 100'000'000);
  CHECK(measured.memory > (1u << 20));
  CHECK(measured.peak(nk::arithmetic::bf16).per_second > 100'000'000);
  CHECK(measured.peak(nk::arithmetic::f16) == measured.peak(nk::arithmetic::f32));
  CHECK(measured.peak(nk::arithmetic::f8).per_second == 0);  // not measured, so not known
  CHECK(nk::host_device(files, path) == measured);

  // What stands in the file is what is taken.
  std::string text = text_of(path);
  const std::size_t at = text.find("\nf32 ");
  REQUIRE(at != std::string::npos);
  text = text.substr(0, at) + "\nf32 2.5e9\nf64 1e9\nbf16 4e9\nbandwidth 1e10\n";
  write(path, text);
  CHECK(f32_of(nk::host_device(files, path)) == 2'500'000'000);
  CHECK(nk::host_device(files, path).peak(nk::arithmetic::bf16).per_second == 4'000'000'000);
}

TEST_CASE("a cache of another machine, or a damaged one, is measured anew and replaced", "[host]") {
  const temporary_folder folder;
  const std::string path = folder.path() + "/host";
  nk::file_system& files = nk::posix_file_system();
  nk::host_device(files, path);
  const std::string good = text_of(path);
  const std::size_t rates = good.find("f32 ");
  REQUIRE(rates != std::string::npos);
  const std::string whose = good.substr(0, rates);
  const std::string cases[] = {
      std::string("\0\1\2", 3),
      whose,
      whose + "f32 nan\nf64 1e9\nbf16 1e9\nbandwidth 1e9\n",
      whose + "f32 1e7\nf64 1e9\nbandwidth 1e9\n",
      whose + "f32 1e30\nf64 1e9\nbf16 1e9\nbandwidth 1e9\n",
      "napkin host 4\nprocessor another\nthreads 1\nf32 1e7\nf64 1e9\nbf16 1e9\nbandwidth 1e9\n"};
  for (const std::string& wrong : cases) {
    write(path, wrong);
    INFO(wrong.substr(0, 100));
    CHECK(f32_of(nk::host_device(files, path)) > 100'000'000);
    const std::string now = text_of(path);
    CHECK(now.substr(0, rates) == whose);
    CHECK(now.size() > rates);
  }
}

TEST_CASE("where nothing can be kept the host is measured all the same", "[host]") {
  nk::file_system& files = nk::posix_file_system();
  CHECK(f32_of(nk::host_device(files, "")) > 100'000'000);
  CHECK(f32_of(nk::host_device(files, "/proc/no/such/folder/host")) > 100'000'000);
}

TEST_CASE("the cache lies where the user's caches lie", "[host]") {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  const std::string old_cache = cache == nullptr ? "" : cache, old_home = home == nullptr ? "" : home;
  setenv("HOME", "/home/someone", 1);
  setenv("XDG_CACHE_HOME", "/caches", 1);
  CHECK(nk::cache_path("host") == "/caches/napkin/host");
  setenv("XDG_CACHE_HOME", "relative", 1);
  CHECK(nk::cache_path("host") == "/home/someone/.cache/napkin/host");
  unsetenv("XDG_CACHE_HOME");
  CHECK(nk::cache_path("host") == "/home/someone/.cache/napkin/host");
  unsetenv("HOME");
  CHECK(nk::cache_path("host").empty());
  if (cache != nullptr) setenv("XDG_CACHE_HOME", old_cache.c_str(), 1);
  if (home != nullptr) setenv("HOME", old_home.c_str(), 1);
}
