// A small model that is trained on a device that is the host: a gather and its scatter_add, products, a bias
// that does not decay.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "napkin/napkin.hpp"

namespace lookup_test {

namespace nk = napkin;

struct batch : nk::dim<"batch", 6> {};
struct vocab : nk::dim<"vocab", 9> {};
struct embed : nk::dim<"embed", 8> {};
struct hidden : nk::dim<"hidden", 12> {};

struct lookup {
  BOOST_HANA_DEFINE_STRUCT(lookup, (nk::param<vocab, embed>, table), (nk::param<embed, hidden>, up),
                           (nk::param<hidden>, down), (nk::param<>, bias));
  constexpr auto loss(nk::input<nk::u16, batch> tokens, nk::input<nk::f32, batch> wanted) const {
    const auto x = nk::tanh(
        nk::einsum<"batch embed, embed hidden -> batch hidden">(nk::gather<"vocab">(table, tokens), up));
    const auto error = nk::dot<"hidden">(x, down) + bias - wanted;
    return nk::mean(error * error);
  }
};

struct data {
  std::vector<std::uint16_t> tokens;
  std::vector<float> wanted;
};

/// What step n is given, in so many micro-batches, each of other numbers.
inline data data_of(std::size_t n, std::size_t micro_batches = 1) {
  data d;
  for (std::size_t b = 0; b < micro_batches * batch::size; ++b) {
    d.tokens.push_back(static_cast<std::uint16_t>((n * 5 + b * b) % vocab::size));
    d.wanted.push_back(std::sin(static_cast<float>(n + 3 * b)));
  }
  return d;
}

}  // namespace lookup_test
