// Random graphs of products of matrices and of what stands before and behind them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "napkin/passes/fusion.hpp"
#include "support/random_graph.hpp"

namespace napkin::testing {

/// Products of matrices, what is added to them, what is summed of them and of their operands, in every order:
/// what epilogues, prologues and accumulations are found in. The first output is there half-way, as a loss
/// is.
class product_graphs {
 public:
  product_graphs(std::uint64_t seed, dtype type, std::size_t width = 16)
      : random_(seed), type_(type), square_{width, width}, row_{width} {}

  graph run() {
    for (int slot = 0; slot < 3; ++slot) matrices_.push_back(b_.input(slot, type_, square_));
    for (int slot = 3; slot < 5; ++slot) vectors_.push_back(b_.input(slot, type_, row_));
    for (int n = 2 + random_.below(8); n > 0; --n) draw();
    const std::int32_t all[] = {0, 1};
    b_.output(b_.reduce(op::sum, pick(matrices_), all));
    for (int n = 4 + random_.below(10); n > 0; --n) draw();
    std::vector<bool> used(static_cast<std::size_t>(b_.size()), false);
    for (int id = 0; id < b_.size(); ++id)
      for (const std::int32_t x : b_.view().operands(id)) used[static_cast<std::size_t>(x)] = true;
    for (int id = 5; id < b_.size(); ++id)
      if (is_result(id) && (!used[static_cast<std::size_t>(id)] || random_.chance(0.15))) b_.output(id);
    return b_.take();
  }

 private:
  random_source random_;
  dtype type_;
  builder b_;
  const shape square_, row_;
  std::vector<std::int32_t> matrices_, vectors_;

  bool is_result(int id) const {
    const shape& s = b_.shape_of(id);
    return (s == square_ || s == row_) && !passes::is_view(b_[id].kind) && b_[id].kind != op::input &&
           b_[id].kind != op::constant;
  }
  std::int32_t pick(const std::vector<std::int32_t>& from) {
    const std::size_t recent = from.size() < 3 ? from.size() : 3;
    return random_.chance(0.6) ? from[from.size() - 1 - static_cast<std::size_t>(random_.below(recent))]
                               : from[static_cast<std::size_t>(random_.below(from.size()))];
  }
  std::int32_t product(std::int32_t x, std::int32_t y) {
    const std::int32_t labels[4][4] = {{0, 1, 1, 2}, {1, 0, 1, 2}, {0, 1, 2, 1}, {1, 0, 2, 1}};
    const std::int32_t xs[] = {x, y}, result[] = {0, 2};
    return b_.einsum(xs, labels[random_.below(4)], result);
  }
  std::int32_t sum_of(std::int32_t x) {
    const std::int32_t axes[] = {random_.chance(0.8) ? 0 : 1};
    if (!is_small_float(type_) || random_.chance(0.5)) return b_.reduce(op::sum, x, axes);
    return b_.cast(b_.reduce(op::sum, b_.cast(x, dtype::f32), axes), type_);
  }
  /// A vector for each row, or each column.
  std::int32_t spread(std::int32_t v) {
    const std::int32_t along[] = {-1, 0}, across[] = {0, -1};
    return random_.chance(0.8) ? b_.expand(v, square_, along) : b_.expand(v, square_, across);
  }
  std::int32_t gelu(std::int32_t x) {
    const auto inner = b_.scale(b_.add(x, b_.scale(b_.mul(x, b_.mul(x, x)), 0.044715)), 0.7978845608028654);
    const auto one = b_.constant_like(1, b_.type_of(x), b_[x].shape_id);
    return b_.mul(b_.scale(x, 0.5), b_.add(b_.unary(op::tanh, inner), one));
  }
  void draw() {
    const std::int32_t x = pick(matrices_), y = pick(matrices_);
    switch (random_.below(10)) {
      case 0:
      case 1:
      case 2:
        return matrices_.push_back(product(b_.unary(op::tanh, x), y));
      case 3:
        return matrices_.push_back(product(x, random_.chance(0.5) ? x : y));
      case 4:
        return matrices_.push_back(random_.chance(0.5) ? b_.add(x, y) : b_.mul(x, b_.unary(op::sin, y)));
      case 5:
        return matrices_.push_back(b_.add(x, spread(pick(vectors_))));
      case 6:
        return matrices_.push_back(random_.chance(0.5) ? b_.scale(x, 0.25) : gelu(x));
      case 7:
        return vectors_.push_back(b_.add(pick(vectors_), pick(vectors_)));
      case 8: {  // a product that multiplies a vector
        const std::int32_t v = b_.expand(pick(vectors_), square_, std::array<std::int32_t, 2>{-1, 0});
        return matrices_.push_back(product(random_.chance(0.5) ? v : x, v));
      }
      default:
        return vectors_.push_back(sum_of(random_.chance(0.5) ? x : b_.unary(op::cos, x)));
    }
  }
};

}  // namespace napkin::testing
