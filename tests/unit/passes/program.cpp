// A kernel's steps as the numbers that its type is made of, and back.
#include "napkin/plan/program.hpp"

#include <catch2/catch.hpp>
#include <stdexcept>

namespace nk = napkin;
using nk::passes::kernel_step;
using nk::planning::packed;
using nk::planning::unpacked;

namespace {

constexpr int most = nk::planning::detail::most_steps - 1;

kernel_step some_step() {
  return {nk::passes::action::compute,
          nk::op::mul,
          nk::dtype::bf16,
          nk::passes::place::element,
          nk::passes::pace::strided,
          3,
          most,
          -1,
          17};
}

}  // namespace

TEST_CASE("a step is the number that stands for it, whatever its fields") {
  kernel_step s = some_step();
  CHECK(unpacked(packed(s)) == s);
  CHECK(unpacked(packed(kernel_step{})) == kernel_step{});
  for (std::size_t o = 0; o < nk::op_count; ++o) {
    s.kind = static_cast<nk::op>(o);
    CHECK(unpacked(packed(s)) == s);
  }
  for (const nk::detail::dtype_row& row : nk::detail::dtype_table) {
    s.type = row.type;
    CHECK(unpacked(packed(s)) == s);
  }
  for (int what = 0; what <= static_cast<int>(nk::passes::action::store); ++what)
    for (int along = 0; along <= static_cast<int>(nk::passes::pace::scratch); ++along)
      for (const auto at : {nk::passes::place::row, nk::passes::place::element}) {
        s.what = static_cast<nk::passes::action>(what);
        s.along = static_cast<nk::passes::pace>(along);
        s.at = at;
        CHECK(unpacked(packed(s)) == s);
      }
  for (int phase = 0; phase < 256; ++phase) {
    s.phase = static_cast<std::uint8_t>(phase);
    CHECK(unpacked(packed(s)) == s);
  }
}

TEST_CASE("operands reach as far as a number does, and no further") {
  for (const auto field : {&kernel_step::a, &kernel_step::b, &kernel_step::c}) {
    kernel_step s = some_step();
    for (int x = -1; x <= most; ++x) {
      s.*field = static_cast<std::int16_t>(x);
      if (!(unpacked(packed(s)) == s)) FAIL(x);
    }
    s.*field = most + 1;
    CHECK_THROWS_AS(packed(s), std::length_error);
  }
}
