#include "napkin/tensor/print.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <sstream>

#include "napkin/tensor/create.hpp"

namespace nk = napkin;

namespace {

struct batch : nk::dim<"batch", 2> {};
struct seq : nk::dim<"seq", 3> {};
struct hidden : nk::dim<"hidden", 1001> {};
struct rows : nk::dim<"rows", nk::up_to<5>> {};

}  // namespace

TEST_CASE("the type reads as a person writes it") {
  REQUIRE(nk::type_text<nk::tensor<nk::f32, batch, seq>>() == "f32[batch 2, seq 3]");
  REQUIRE(nk::type_text<nk::tensor<nk::bf16>>() == "bf16[]");
  REQUIRE(nk::type_text<nk::tensor<nk::u8, rows, nk::unnamed<1>>>() == "u8[rows <=5, 1]");
  REQUIRE(nk::type_text<nk::tensor<nk::f32, nk::product<batch, seq>, nk::primed<seq>>>() ==
          "f32[(batch seq) 6, seq' 3]");
  const nk::tensor<nk::f32, batch, seq> x;
  REQUIRE(nk::type_text<decltype(x[0])>() == "f32[seq 3] view");
}

TEST_CASE("values stand in nested brackets, in columns") {
  REQUIRE(nk::values_text(nk::tensor<nk::i32, batch, seq>{{1, -20, 3}, {4, 5, 6}}) ==
          "[[  1, -20,   3],\n"
          " [  4,   5,   6]]");
  REQUIRE(nk::values_text(nk::tensor<nk::f32, seq>{1, 0.5, -2e10f}) == "[    1.,    0.5, -2e+10]");
  REQUIRE(nk::values_text(nk::tensor<nk::f32>(3.f)) == "3.");
  REQUIRE(nk::values_text(nk::tensor<nk::b8, batch>{true, false}) == "[ true, false]");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  REQUIRE(nk::values_text(nk::tensor<nk::f32, batch>{nan, -nan}) == "[nan, nan]");
  REQUIRE(nk::values_text(nk::tensor<nk::c64, batch>([](std::size_t i) {
            return nk::c64{1, static_cast<float>(i) - 0.5f};
          })) == "[1.-0.5i, 1.+0.5i]");
}

TEST_CASE("many values are abbreviated at both ends") {
  REQUIRE(nk::values_text(nk::arange<nk::i32, hidden>()) == "[   0,    1,    2, ...,  998,  999, 1000]");
  const std::string text = nk::values_text(nk::arange<nk::i32, hidden, batch>());
  REQUIRE(text ==
          "[[   0,    1],\n"
          " [   2,    3],\n"
          " [   4,    5],\n"
          " ...,\n"
          " [1996, 1997],\n"
          " [1998, 1999],\n"
          " [2000, 2001]]");
}

TEST_CASE("views print what they show, and run-time sizes what there is") {
  const nk::tensor<nk::i32, batch, seq> x{{1, 2, 3}, {4, 5, 6}};
  std::ostringstream out;
  out << nk::make_view<nk::strides<1, 3>, seq, batch>(x);
  REQUIRE(out.str() == "i32[seq 3, batch 2] view\n[[1, 4],\n [2, 5],\n [3, 6]]");
  REQUIRE(nk::values_text(nk::arange<nk::i32, rows>(0, 1, nk::sized{2})) == "[0, 1]");
  REQUIRE(nk::values_text(nk::zeros<nk::i32, rows>(nk::sized{0})) == "[]");
  REQUIRE(nk::values_text(nk::zeros<nk::i32, batch, rows>(nk::sized{0})) == "[[],\n []]");
}
