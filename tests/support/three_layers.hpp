// A model of three layers, no two alike, of whose values a budget of memory has some made again.
#pragma once

#include "napkin/nn/activation.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/ops/reduce.hpp"
#include "napkin/ops/reflect.hpp"

namespace napkin::testing {

struct three_layers {
  struct rows : dim<"rows", 256> {};
  struct narrow : dim<"narrow", 64> {};
  struct wide : dim<"wide", 96> {};
  BOOST_HANA_DEFINE_STRUCT(three_layers, (param<narrow, wide>, first), (param<wide, narrow>, second),
                           (param<narrow, wide>, third), (param<wide>, last));
  constexpr auto loss(input<f32, rows, narrow> x) const {
    const auto a = gelu(dot<"narrow">(x, first));
    const auto b = gelu(dot<"wide">(a, second));
    const auto y = dot<"wide">(gelu(dot<"narrow">(b, third)), last);
    return mean(y * y);
  }
};

}  // namespace napkin::testing
