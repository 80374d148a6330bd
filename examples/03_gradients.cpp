// Gradients outside any training step: grad and value_and_grad take a function of tensors without captures,
// trace it in the compiler, and give the function that computes its gradient.
#include <cmath>
#include <iostream>
#include <napkin/napkin.hpp>

namespace nk = napkin;

namespace {

struct three : nk::dim<"three", 3> {};
struct sample : nk::dim<"sample", 8> {};
struct input : nk::dim<"input", 2> {};

bool failed = false;
void expect(bool condition, const char* what) {
  if (condition) return;
  std::cout << "not as expected: " << what << '\n';
  failed = true;
}

}  // namespace

int main() {
  // d/dx (x^2 + 3x) = 2x + 3.
  const auto slope = nk::grad([](auto x) { return x * x + 3 * x; });
  const nk::tensor at_two = slope(2.0);
  std::cout << "the slope of x^2 + 3x at 2: " << at_two << '\n';
  expect(at_two() == 7.0, "2 * 2 + 3");

  // Arguments are chosen by number, or by name once they have names.
  const auto half_squared_error = nk::fn<"x", "w">([](auto x, auto w) {
    const auto error = nk::dot<"three">(x, w) - 5;
    return 0.5 * error * error;
  });
  auto x = nk::arange<nk::f32, three>(1);  // 1, 2, 3
  auto w = nk::ones<nk::f32, three>();
  const nk::tensor of_w = nk::grad<"w">(half_squared_error)(x, w);
  std::cout << "the gradient of (x w - 5)^2 / 2: " << of_w << '\n';
  for (std::size_t i = 0; i < 3; ++i) expect(of_w(i) == x(i), "(x w - 5) x, and x w - 5 is 1");

  // Both at once: gradient descent on y = 2 a - 3 b. Nothing here is more than the library's operations.
  auto data = nk::randn<nk::f64, sample, input>(nk::seed{1});
  auto truth = nk::zeros<nk::f64, input>();
  truth(0) = 2, truth(1) = -3;
  const nk::tensor target = nk::dot<"input">(data, truth);
  const auto step = nk::value_and_grad<0>([](auto weight, auto a, auto y) {
    const auto error = nk::dot<"input">(a, weight) - y;  // [sample]
    return nk::mean(error * error);
  });
  auto weight = nk::zeros<nk::f64, input>();
  double loss = 0;
  for (int i = 0; i < 200; ++i) {
    const auto [value, gradient] = step(weight, data, target);
    weight = weight - 0.2 * gradient;
    loss = value();
  }
  std::cout << "after 200 steps: loss " << loss << ", weight " << weight << '\n';
  expect(std::abs(weight(0) - 2) < 1e-6 && std::abs(weight(1) + 3) < 1e-6, "the weights that made the data");
  return failed ? 1 : 0;
}
