// Trainers and tensors as a program on a GPU has them; training.cpp compares with the CPU.
#include <napkin/cuda.hpp>

#include "support/compare.hpp"
#include "support/device_images.hpp"
#include "support/device_training.hpp"
#include "support/start_of.hpp"

namespace napkin::testing {

training train_llama_on_gpu(std::size_t steps, launch_order order) {
  trainer<llama_step, cuda> t(seed{5}, {.order = order, .start = start_of(order)});
  return train_small(t, steps);
}
training train_gpt_in_two_on_gpu(std::size_t steps, launch_order order) {
  trainer<gpt_step_in_two, cuda> t(seed{5}, {.order = order, .start = start_of(order)});
  return train_small(t, steps);
}

images::training images::train_on_gpu(int steps, launch_order order) {
  trainer<step, cuda> t(seed{3}, {.order = order, .start = start_of(order)});
  return train(t, steps);
}

namespace {
struct rows : dim<"rows", 33> {};
struct columns : dim<"columns", 70> {};
struct inner : dim<"inner", 45> {};
struct picks : dim<"picks", 3> {};
}  // namespace

std::string check_tensors_on_gpu() {
  std::string wrong;
  const auto check = [&wrong](const char* what, double found, double most) {
    if (!(found <= most)) wrong += std::string(what) + " is off by " + std::to_string(found) + "; ";
  };
  const auto x = randn<f64, rows, inner>(seed{1});
  const auto y = randn<f64, inner, rows>(seed{2});
  const auto w = randn<f64, inner, columns>(seed{3});
  const auto a = to_cuda(x);
  const auto b = to_cuda(y);
  const auto c = to_cuda(w);
  check("a copy there and back", largest_difference(to_host(a), x), 0);
  check("a copy on the device", largest_difference(to_host(clone(b)), y), 0);

  const auto product = [](const auto& p, const auto& q) {
    return softmax<"columns">(einsum<"rows inner, inner columns -> rows columns">(p, q) * 0.25);
  };
  const cuda::tensor on_device = product(a, c);
  const tensor on_host = product(x, w);
  check("a product and its softmax", largest_difference(to_host(on_device), on_host), 1e-13);

  const cuda::tensor turned = permute<"rows", "inner">(b) + a * 2;
  const tensor expected = permute<"rows", "inner">(y) + x * 2;
  check("elementwise over a transposed operand", largest_difference(to_host(turned), expected), 0);

  const auto slope = value_and_grad<0, 1>([](auto p, auto q) {
    const auto y = softmax<"columns">(einsum<"rows inner, inner columns -> rows columns">(p, q));
    return sum(y * y);
  });
  const auto [value, of_a, of_c] = slope(a, c);
  const auto [value_here, of_x, of_w] = slope(x, w);
  check("a value", largest_difference(to_host(value), value_here), 1e-12);
  check("a gradient", largest_difference(to_host(of_a), of_x), 1e-12);
  check("the other gradient", largest_difference(to_host(of_c), of_w), 1e-12);

  const auto index = to_cuda(tensor<i32, picks>{4, 0, 4});
  check("a gather",
        largest_difference(to_host(gather<"rows">(a, index)),
                           eval(gather<"rows">(x, tensor<i32, picks>{4, 0, 4}))),
        0);
  try {
    (void)eval(gather<"rows">(a, to_cuda(tensor<i32, picks>{0, 33, 1})));
    wrong += "an index outside its axis went unnoticed; ";
  } catch (const input_error&) {
  }
  return wrong;
}

}  // namespace napkin::testing
