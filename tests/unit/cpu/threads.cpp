// The pool: every task once, whatever the number of threads; exceptions; nesting; two callers at a time.
#include "napkin/cpu/threads.hpp"

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "napkin/core/error.hpp"

namespace nk = napkin;

namespace {
struct restore_threads {
  std::size_t before = nk::on_cpu::threads();
  ~restore_threads() { nk::on_cpu::set_threads(before); }
};
}  // namespace

TEST_CASE("parallel_for calls each task once", "[threads]") {
  restore_threads restore;
  for (std::size_t n : {1u, 2u, 3u, 4u, 7u}) {
    nk::on_cpu::set_threads(n);
    REQUIRE(nk::on_cpu::threads() == n);
    for (std::size_t tasks : {0u, 1u, 2u, 3u, 16u, 1000u}) {
      std::vector<std::atomic<int>> calls(tasks);
      for (int repeat = 0; repeat < 20; ++repeat)
        nk::on_cpu::parallel_for(tasks, [&](std::size_t i) { ++calls.at(i); });
      bool once_each = true;
      for (const auto& c : calls) once_each = once_each && c == 20;
      CHECK(once_each);
    }
  }
}

TEST_CASE("parallel_for returns after its tasks' writes", "[threads]") {
  restore_threads restore;
  nk::on_cpu::set_threads(4);
  std::array<std::size_t, 9> written{};
  std::size_t wrong = 0;
  for (std::size_t round = 1; round <= 20000; ++round) {
    nk::on_cpu::parallel_for(written.size(), [&](std::size_t i) { written[i] = round + i; });
    for (std::size_t i = 0; i < written.size(); ++i) wrong += written[i] != round + i;
  }
  CHECK(wrong == 0);
}

TEST_CASE("the first task's exception reaches the caller, and the pool lives on", "[threads]") {
  restore_threads restore;
  for (std::size_t n : {1u, 2u, 4u}) {
    nk::on_cpu::set_threads(n);
    for (int repeat = 0; repeat < 50; ++repeat) {
      std::string caught;
      try {
        nk::on_cpu::parallel_for(20, [](std::size_t i) {
          if (i % 7 == 3) throw std::runtime_error("task " + std::to_string(i));
        });
      } catch (const std::runtime_error& e) {
        caught = e.what();
      }
      REQUIRE(caught == "task 3");
    }
    std::atomic<int> calls = 0;
    nk::on_cpu::parallel_for(20, [&](std::size_t) { ++calls; });
    CHECK(calls == 20);
  }
}

TEST_CASE("a call inside a task runs inline", "[threads]") {
  restore_threads restore;
  nk::on_cpu::set_threads(3);
  std::atomic<int> calls = 0, elsewhere = 0, refused = 0;
  nk::on_cpu::parallel_for(8, [&](std::size_t) {
    const auto me = std::this_thread::get_id();
    nk::on_cpu::parallel_for(5, [&](std::size_t) {
      ++calls;
      elsewhere += std::this_thread::get_id() != me;
    });
    try {
      nk::on_cpu::set_threads(2);
    } catch (const nk::input_error&) {
      ++refused;
    }
  });
  CHECK(calls == 40);
  CHECK(elsewhere == 0);
  CHECK(refused == 8);
}

TEST_CASE("two threads may call at once", "[threads]") {
  restore_threads restore;
  nk::on_cpu::set_threads(2);
  std::atomic<int> calls = 0;
  const auto caller = [&] {
    for (int i = 0; i < 500; ++i) nk::on_cpu::parallel_for(8, [&](std::size_t) { ++calls; });
  };
  std::thread other(caller);
  caller();
  other.join();
  CHECK(calls == 8000);
}

TEST_CASE("set_threads refuses what is no number of threads", "[threads]") {
  CHECK_THROWS_AS(nk::on_cpu::set_threads(0), nk::input_error);
  CHECK_THROWS_AS(nk::on_cpu::set_threads(1025), nk::input_error);
}
