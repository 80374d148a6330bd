// expect: the tensor has no axis of this name: the likely one stands in perhaps<...>
// facts: embedd | embed
#include <algorithm>
#include <cmath>
#include <iostream>
#include <napkin/napkin.hpp>
#include <numeric>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct embed : nk::dim<"embed", 8> {};
struct hidden : nk::dim<"hidden", 16> {};

int main() {
  const auto x = nk::ones<nk::f32, batch, embed>();
  const auto weight = nk::ones<nk::f32, embed, hidden>();
#ifdef MISTAKE
  nk::tensor y = nk::dot<"embedd">(x, weight);
#else
  nk::tensor y = nk::dot<"embed">(x, weight);
#endif
  y(0, 0) = 2;
  y(0, 1) += 1;
  y[1][0] = 3;
  const float* first = &y(0, 0);
  const double distance = std::abs(y(0, 0) - 1.0f) + std::max(0.0f, y.at(0, 1)) + std::sqrt(*first);
  std::cout << nk::type_text<decltype(y)>() << y << y(0, 0) << distance
            << std::accumulate(y.begin(), y.end(), 0.0f) << *std::max_element(y.begin(), y.end());
  y = nk::exp(y);
}
