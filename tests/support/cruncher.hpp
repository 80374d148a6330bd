// The lecture's model: L square layers and a head of one output, without biases, B points of D features.
#pragma once

#include <napkin/ops/matmul.hpp>
#include <napkin/ops/movement.hpp>
#include <napkin/ops/reduce.hpp>
#include <napkin/ops/reflect.hpp>
#include <napkin/ops/reshape.hpp>

namespace lecture {

template <std::size_t B, std::size_t D, std::size_t L>
struct cruncher {
  struct batch : napkin::dim<"batch", B> {};
  using in = napkin::dim<"in", D>;  // what rename gives
  using out = napkin::dim<"out", D>;
  struct one : napkin::dim<"one", 1> {};
  struct layer {
    BOOST_HANA_DEFINE_STRUCT(layer, (napkin::param<in, out>, weight));
  };
  using layers = std::array<layer, L>;
  static constexpr std::size_t hidden_values = L * B * D;  // what the layers give

  BOOST_HANA_DEFINE_STRUCT(cruncher, (layers, hidden), (napkin::param<in, one>, head));

  constexpr cruncher() {
    for (layer& l : hidden) l.weight.initial = napkin::init::fan_in(D);
    head.initial = napkin::init::fan_in(D);
  }
  /// [batch]
  constexpr auto predict(napkin::input<napkin::f32, batch, in> x) const {
    auto h = x;  // [batch, in]
    for (const layer& l : hidden) h = napkin::rename<"out", "in">(napkin::dot<"in">(h, l.weight));
    return napkin::index<"one", 0>(napkin::dot<"in">(h, head));
  }

  constexpr auto loss(napkin::input<napkin::f32, batch, in> x, napkin::input<napkin::f32, batch> y) const {
    const auto error = predict(x) - y;
    return napkin::mean(error * error);
  }
};

template <class Model>
using prediction_of = decltype(std::declval<Model>().predict(
    std::declval<napkin::input<napkin::f32, typename Model::batch, typename Model::in>>()));

}  // namespace lecture
