#include "napkin/core/box.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <utility>

namespace nk = napkin;

namespace {

struct counted {
  counted(int& alive, const char* called) : count(&alive), name(called) { ++*count; }
  counted(const counted&) = delete;
  ~counted() { --*count; }
  int* count;
  std::string name;
};

}  // namespace

TEST_CASE("a box has one owner, and its object goes with it") {
  int alive = 0;
  {
    nk::box<counted> a(std::in_place, alive, "first");
    CHECK(a->name == "first");
    nk::box<counted> b = std::move(a);
    CHECK_FALSE(a);
    REQUIRE(b);
    CHECK((*b).name == "first");
    CHECK(alive == 1);
    b = nk::box<counted>(std::in_place, alive, "second");
    CHECK(alive == 1);
    CHECK(b->name == "second");
    nk::box<counted>& same = b;
    b = std::move(same);
    REQUIRE(b);
    CHECK(b->name == "second");
    b = {};
    CHECK_FALSE(b);
    CHECK(alive == 0);
    a = nk::box<counted>(std::in_place, alive, "third");
    CHECK(alive == 1);
  }
  CHECK(alive == 0);
}
