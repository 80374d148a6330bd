// The functions of nn/ and their gradients, compiled for the CPU, against PyTorch's. That the graphs are
// right is shown by tests/unit/nn/functions.cpp, by the interpreter; here it is the kernels that are asked.
#pragma once

#include <algorithm>
#include <cstdio>

#include "catch.hpp"
#include "napkin/cpu/lower.hpp"
#include "napkin/nn/activation.hpp"
#include "napkin/nn/attention.hpp"
#include "napkin/nn/loss.hpp"
#include "napkin/nn/norm.hpp"
#include "napkin/nn/pooling.hpp"
#include "napkin/nn/rotary.hpp"
#include "napkin/nn/softmax.hpp"
#include "napkin/passes/grad.hpp"
#include "napkin/tensor/create.hpp"
#include "support/compare.hpp"
#include "support/parity_file.hpp"

namespace napkin::testing::functions {

template <fixed_string Name, std::size_t N>
using d = dim<Name, N>;

/// |found - expected| <= absolute + relative |expected|. f32: the tolerances of torch.testing.assert_close.
/// f64: tighter than its 1e-7, which only a wrong formula would exceed.
template <class T>
inline constexpr double relative = std::same_as<T, float> ? 1.3e-6 : 1e-13;
template <class T>
inline constexpr double absolute = std::same_as<T, float> ? 1e-6 : 1e-14;

/// The file that has the key: functions or layers.
inline const parity_file& reference(const std::string& key) {
  static const parity_file functions("functions"), layers("layers");
  return functions.has(key) ? functions : layers;
}

template <class X>
X read(const std::string& key) {
  std::vector<typename X::element> typed;
  for (const double v : reference(key)[key]) typed.push_back(static_cast<typename X::element>(v));
  return X(std::span<const typename X::element>(typed));
}

/// The largest error as a share of what is allowed; infinity where one is NaN.
template <class X>
double share_of_tolerance(const X& found, const std::string& key) {
  using T = typename X::element;
  const std::vector<double> expected = reference(key)[key];
  REQUIRE(found.numel() == expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(static_cast<double>(found.data()[i]) - expected[i]);
    worst = worst_of(worst, error / (absolute<T> + relative<T> * std::abs(expected[i])));
  }
  return worst;
}

/// f(xs...), and the gradient of sum(f(xs...) * weights) by each of the xs that are floating: the first ones.
template <class F, class... Xs, std::size_t... All, std::size_t... Floating>
void check(const std::string& name, std::index_sequence<All...>, std::index_sequence<Floating...>) {
  using T = typename std::tuple_element_t<0, std::tuple<Xs...>>::element;
  const std::tuple<Xs...> xs(read<Xs>(name + ".input." + std::to_string(All))...);
  double worst = 0;
  const auto compare = [&](const auto& found, const std::string& key) {
    const double share = share_of_tolerance(found, name + key);
    INFO(name << key << ", f" << 8 * sizeof(T) << ": the error is " << share << " of what is allowed");
    CHECK(share <= 1);
    worst = std::max(worst, share);
  };

  const tensor y = fn(F{})(std::get<All>(xs)...);
  compare(y, ".output");

  const auto weighted = [](auto weights, auto... traced) { return sum(F{}(traced...) * weights); };
  const auto results = value_and_grad<Floating + 1 ...>(weighted)(
      read<std::remove_cv_t<decltype(y)>>(name + ".weights"), std::get<All>(xs)...);
  (compare(std::get<Floating + 1>(results), ".gradient." + std::to_string(Floating)), ...);
  std::printf("%-18s f%zu: error at most %.2g of the tolerance\n", name.c_str(), 8 * sizeof(T), worst);
}

/// Xs: tensors over T of the function's inputs.
template <class... Xs, class F>
void against_torch(const std::string& name, const F&) {
  constexpr std::size_t floating = (std::size_t{is_floating(dtype_of<typename Xs::element>)} + ...);
  check<F, Xs...>(name, std::index_sequence_for<Xs...>{}, std::make_index_sequence<floating>{});
}

template <class T>
using rows = tensor<T, d<"a", 3>, d<"b", 4>, d<"c", 7>>;
template <class T>
using tails = tensor<T, d<"a", 4>, d<"b", 9>>;
template <class T>
using heads = tensor<T, d<"batch", 2>, d<"seq", 7>, d<"heads", 3>, d<"hidden", 8>>;
template <class T>
using logits = tensor<T, d<"batch", 2>, d<"seq", 3>, d<"vocab", 11>>;
using classes = tensor<i32, d<"batch", 2>, d<"seq", 3>>;
template <class T>
using lines = tensor<T, d<"row", 5>, d<"embed", 8>>;
template <class T>
using features = tensor<T, d<"embed", 8>>;

/// Within a test case. Each section is one of the functions' families.
template <class T>
void check_all() {
  SECTION("softmax and log_softmax") {
    against_torch<rows<T>>("softmax", [](auto x) { return softmax<"c">(x); });
    against_torch<rows<T>>("log_softmax", [](auto x) { return log_softmax<"c">(x); });
  }

  SECTION("norms") {
    against_torch<lines<T>, features<T>, features<T>>(
        "layer_norm", [](auto x, auto gain, auto bias) { return layer_norm<"embed">(x, gain, bias); });
    against_torch<lines<T>, features<T>>("rms_norm",
                                         [](auto x, auto gain) { return rms_norm<"embed">(x, gain); });
  }

  SECTION("activations") {
    against_torch<tails<T>>("gelu_tanh", [](auto x) { return gelu(x); });
    against_torch<tails<T>>("gelu_exact", [](auto x) { return gelu_exact(x); });
    against_torch<tails<T>>("silu", [](auto x) { return silu(x); });
    using wide = tensor<T, d<"embed", 6>, d<"ffn", 10>>;
    using back = tensor<T, d<"ffn", 10>, d<"embed", 6>>;
    against_torch<tensor<T, d<"row", 5>, d<"embed", 6>>, wide, wide, back>(
        "swiglu", [](auto x, auto gate, auto up, auto down) {
          return dot<"ffn">(swiglu(dot<"embed">(x, gate), dot<"embed">(x, up)), down);
        });
  }

  SECTION("rotary positions and causal attention") {
    using x = heads<T>;
    against_torch<x>("rotary", [](auto v) { return rotary<"seq", "hidden">(v); });
    against_torch<x, x, x>("causal_attention", [](auto query, auto key, auto value) {
      return causal_attention<"seq", "hidden">(query, key, value);
    });
  }

  SECTION("attention of grouped heads") {
    using q = tensor<T, d<"batch", 2>, d<"seq", 7>, d<"kv_heads", 2>, d<"group", 3>, d<"hidden", 4>>;
    using kv = tensor<T, d<"batch", 2>, d<"seq", 7>, d<"kv_heads", 2>, d<"hidden", 4>>;
    against_torch<q, kv, kv>("full_attention", [](auto query, auto key, auto value) {
      return full_attention<"seq", "hidden">(query, key, value);
    });
    against_torch<q, kv, kv>("grouped_causal_attention", [](auto query, auto key, auto value) {
      return causal_attention<"seq", "hidden">(query, key, value);
    });
  }

  SECTION("convolution and pooling") {
    using taps = d<"taps", 3>;
    using line = tensor<T, d<"batch", 2>, d<"seq", 9>, d<"in", 3>>;
    using filter = tensor<T, taps, d<"in", 3>, d<"out", 4>>;
    against_torch<line, filter>("conv1d", [](auto x, auto weight) {
      return dot<"taps", "in">(window<"seq", taps, 1, 1>(x), weight);
    });
    against_torch<line, filter>("conv1d_causal", [](auto x, auto weight) {
      return dot<"taps", "in">(window<"seq", taps, 1, 4, 0, 2>(x), weight);
    });
    using down = d<"down", 3>;
    using across = d<"across", 2>;
    using image = tensor<T, d<"batch", 2>, d<"height", 7>, d<"width", 8>, d<"in", 3>>;
    against_torch<image, tensor<T, down, across, d<"in", 3>, d<"out", 4>>>("conv2d", [](auto x, auto weight) {
      const auto windows = window<"width", across>(window<"height", down, 2, 1>(x));
      return dot<"down", "across", "in">(windows, weight);
    });
    against_torch<image>("max_pool", [](auto x) { return max_pool<2, "height", "width">(x); });
    against_torch<image>("max_pool_overlapping", [](auto x) {
      return max<"down", "wide">(window<"width", d<"wide", 3>, 2>(window<"height", down, 2>(x)));
    });
    against_torch<image>("mean_pool", [](auto x) { return mean_pool<2, "height", "width">(x); });
  }

  SECTION("losses") {
    against_torch<logits<T>, classes>("smoothed_entropy",
                                      [](auto x, auto t) { return cross_entropy<"vocab">(x, t, 0.1); });
    against_torch<logits<T>, classes>("counted_entropy",
                                      [](auto x, auto t) { return cross_entropy<"vocab", 255>(x, t); });
    against_torch<logits<T>, classes>("counted_smoothed_entropy",
                                      [](auto x, auto t) { return cross_entropy<"vocab", 255>(x, t, 0.2); });
    against_torch<logits<T>>("z_loss", [](auto x) { return z_loss<"vocab">(x); });
    using table = tensor<T, d<"row", 4>, d<"column", 5>>;
    against_torch<table, table>("mse", [](auto x, auto y) { return mse(x, y); });
  }

  SECTION("cross entropies") {
    against_torch<logits<T>, classes>("cross_entropy",
                                      [](auto x, auto t) { return cross_entropies<"vocab">(x, t); });
    against_torch<logits<T>, classes>("cross_entropy_mean",
                                      [](auto x, auto t) { return cross_entropy<"vocab">(x, t); });
  }
}

}  // namespace napkin::testing::functions
