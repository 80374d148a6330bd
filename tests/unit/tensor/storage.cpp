#include "napkin/tensor/storage.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "napkin/core/error.hpp"

namespace nk = napkin;

TEST_CASE("storage is aligned, shared, counted and freed by its last owner") {
  const std::size_t before = nk::memory_allocated();
  {
    nk::storage a(1000);
    REQUIRE(nk::memory_allocated() == before + 1000);
    REQUIRE(reinterpret_cast<std::uintptr_t>(a.data()) % 64 == 0);
    REQUIRE(a.bytes() == 1000);
    REQUIRE(a.use_count() == 1);
    std::memset(a.data(), 1, 1000);

    nk::storage b = a;
    REQUIRE(a == b);
    REQUIRE(a.use_count() == 2);
    nk::storage c = std::move(b);
    REQUIRE(a.use_count() == 2);
    REQUIRE_FALSE(static_cast<bool>(b));
    b = c;
    b = *&b;
    REQUIRE(a.use_count() == 3);
    c = nk::storage(24);
    REQUIRE(a.use_count() == 2);
    REQUIRE_FALSE(a == c);
    REQUIRE(nk::memory_allocated() == before + 1024);
  }
  REQUIRE(nk::memory_allocated() == before);
}

TEST_CASE("the peak is kept until it is reset") {
  nk::reset_max_memory_allocated();
  const std::size_t before = nk::memory_allocated();
  {
    nk::storage a(4096), b(4096);
    REQUIRE(a.data() != b.data());
  }
  REQUIRE(nk::max_memory_allocated() == before + 8192);
  nk::reset_max_memory_allocated();
  REQUIRE(nk::max_memory_allocated() == before);
}

TEST_CASE("no bytes are storage too") {
  nk::storage none, empty(0);
  REQUIRE(none.data() == nullptr);
  REQUIRE(none.use_count() == 0);
  REQUIRE(empty.data() != nullptr);
  REQUIRE(empty.bytes() == 0);
}

TEST_CASE("more than there is, is a system_error that says how much") {
  REQUIRE_THROWS_AS(nk::storage(static_cast<std::size_t>(-1)), nk::system_error);
  REQUIRE_THROWS_AS(nk::storage(std::size_t{1} << 62), nk::system_error);
  REQUIRE_THROWS_WITH(nk::storage(std::size_t{1} << 62), Catch::Contains("4611686018427387904 bytes"));
}

TEST_CASE("adopted memory is released once, by the last owner, and not counted") {
  static int released;
  released = 0;
  int values[3] = {1, 2, 3};
  const std::size_t before = nk::memory_allocated();
  {
    nk::storage a = nk::storage::adopt(
        values, sizeof values, [](void* context) noexcept { released += *static_cast<int*>(context); },
        values + 1);
    nk::storage b = a;
    REQUIRE(a.data() == values);
    REQUIRE(nk::memory_allocated() == before);
    REQUIRE(released == 0);
  }
  REQUIRE(released == 2);
}

TEST_CASE("threads may copy and drop handles at once") {
  const std::size_t before = nk::memory_allocated();
  {
    nk::storage shared(64);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([shared] {
        for (int i = 0; i < 10'000; ++i) nk::storage copy = shared;
      });
    for (std::thread& t : threads) t.join();
    threads.clear();
    REQUIRE(shared.use_count() == 1);
  }
  REQUIRE(nk::memory_allocated() == before);
}
