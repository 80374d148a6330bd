// The functions of nn/ and their gradients against PyTorch's (tests/parity): in f64, and in f32 as a kernel
// would round them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "napkin/cpu/lower.hpp"
#include "napkin/nn/activation.hpp"
#include "napkin/nn/attention.hpp"
#include "napkin/nn/loss.hpp"
#include "napkin/nn/norm.hpp"
#include "napkin/nn/rotary.hpp"
#include "napkin/nn/softmax.hpp"
#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/grad.hpp"
#include "napkin/passes/interpret.hpp"
#include "napkin/passes/verify.hpp"
#include "napkin/tensor/create.hpp"
#include "support/parity_file.hpp"

namespace nk = napkin;
using nk::testing::relative_difference;
using values = std::vector<double>;

namespace {

template <nk::fixed_string Name, std::size_t N>
using d = nk::dim<Name, N>;

/// Outputs: sum(f(inputs) * weights), f(inputs), then the gradient of each floating input.
struct gradient_case {
  nk::graph g;
  std::vector<int> inputs;  // those that have a gradient
};

template <class... Xs, class F>
gradient_case gradient_of(const F& f) {
  nk::builder b;
  std::int32_t slot = 0;
  const std::int32_t xs[] = {
      b.input(slot++, nk::dtype_of<typename Xs::element>, nk::detail::shape_over<nk::axes_of<Xs>>)...};
  std::size_t k = 0;
  const auto y = [&]<std::size_t... I>(std::index_sequence<I...>) { return f(Xs(&b, xs[I])...); }
  (std::index_sequence_for<Xs...>{});
  const nk::shape of_y = b.shape_of(y.id);
  const int weights = b.input(slot, b.type_of(y.id), of_y);
  std::vector<std::int32_t> all;
  for (std::size_t i = 0; i < of_y.size(); ++i) all.push_back(static_cast<std::int32_t>(i));
  b.output(b.reduce(nk::op::sum, b.mul(y.id, weights), all));
  b.output(y.id);
  gradient_case c;
  std::vector<std::int32_t> wanted;
  for (const std::int32_t x : xs) {
    if (nk::is_floating(b.type_of(x))) {
      wanted.push_back(x);
      c.inputs.push_back(static_cast<int>(k));
    }
    ++k;
  }
  REQUIRE(nk::passes::verify(b.view()).sentence == "");
  c.g = nk::passes::differentiate(b.view(), wanted);
  REQUIRE(nk::passes::verify(c.g.view()).sentence == "");
  return c;
}

void compare(const std::string& name, const gradient_case& c, nk::rounding mode, double tolerance) {
  static const nk::testing::parity_file file("functions");
  std::vector<values> in;
  for (int k = 0; file.has(name + ".input." + std::to_string(k)); ++k)
    in.push_back(file[name + ".input." + std::to_string(k)]);
  in.push_back(file[name + ".weights"]);
  const std::vector<values> out = nk::interpret(c.g.view(), in, mode);
  const auto check = [&](const values& found, const std::string& key) {
    const double difference = relative_difference(found, file[key]);
    INFO(key << ": relative difference " << difference << ", at most " << tolerance);
    CHECK(difference <= tolerance);
  };
  check(out[1], name + ".output");
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    check(out[i + 2], name + ".gradient." + std::to_string(c.inputs[i]));
}

/// f(type_identity<T>{}) gives the case for inputs of T.
template <class F>
void against_torch(const std::string& name, const F& f, double f32_tolerance = 2e-6) {
  compare(name, f(std::type_identity<double>{}), nk::rounding::none, 1e-13);
  compare(name, f(std::type_identity<float>{}), nk::rounding::as_typed, f32_tolerance);
}

template <class T>
using rows = nk::traced<T, d<"a", 3>, d<"b", 4>, d<"c", 7>>;
template <class T>
using tails = nk::traced<T, d<"a", 4>, d<"b", 9>>;
template <class T>
using heads = nk::traced<T, d<"batch", 2>, d<"seq", 7>, d<"heads", 3>, d<"hidden", 8>>;
template <class T>
using logits = nk::traced<T, d<"batch", 2>, d<"seq", 3>, d<"vocab", 11>>;
using classes = nk::traced<nk::i32, d<"batch", 2>, d<"seq", 3>>;
template <class T>
using features = nk::traced<T, d<"embed", 8>>;

}  // namespace

TEST_CASE("nn: softmax and log_softmax, also where exponentials would overflow") {
  against_torch("softmax", []<class T>(std::type_identity<T>) {
    return gradient_of<rows<T>>([](auto x) { return nk::softmax<"c">(x); });
  });
  against_torch(
      "log_softmax",
      []<class T>(std::type_identity<T>) {
        return gradient_of<rows<T>>([](auto x) { return nk::log_softmax<"c">(x); });
      },
      1e-5);
}

TEST_CASE("nn: norms") {
  against_torch("layer_norm", []<class T>(std::type_identity<T>) {
    return gradient_of<nk::traced<T, d<"row", 5>, d<"embed", 8>>, features<T>, features<T>>(
        [](auto x, auto gain, auto bias) { return nk::layer_norm<"embed">(x, gain, bias); });
  });
  against_torch("rms_norm", []<class T>(std::type_identity<T>) {
    return gradient_of<nk::traced<T, d<"row", 5>, d<"embed", 8>>, features<T>>(
        [](auto x, auto gain) { return nk::rms_norm<"embed">(x, gain); });
  });
}

TEST_CASE("nn: activations") {
  against_torch("gelu_tanh", []<class T>(std::type_identity<T>) {
    return gradient_of<tails<T>>([](auto x) { return nk::gelu(x); });
  });
  against_torch("gelu_exact", []<class T>(std::type_identity<T>) {
    return gradient_of<tails<T>>([](auto x) { return nk::gelu_exact(x); });
  });
  against_torch("silu", []<class T>(std::type_identity<T>) {
    return gradient_of<tails<T>>([](auto x) { return nk::silu(x); });
  });
  against_torch("swiglu", []<class T>(std::type_identity<T>) {
    using up = nk::traced<T, d<"embed", 6>, d<"ffn", 10>>;
    return gradient_of<nk::traced<T, d<"row", 5>, d<"embed", 6>>, up, up,
                       nk::traced<T, d<"ffn", 10>, d<"embed", 6>>>(
        [](auto x, auto gate, auto wide, auto down) {
          return nk::dot<"ffn">(nk::swiglu(nk::dot<"embed">(x, gate), nk::dot<"embed">(x, wide)), down);
        });
  });
}

TEST_CASE("nn: sigmoid and its gradient are finite at the ends") {
  const auto ends = []<class T>(std::type_identity<T>, nk::rounding mode) {
    const gradient_case c = gradient_of<nk::traced<T, d<"x", 5>>>([](auto x) { return nk::sigmoid(x); });
    const std::vector<values> out =
        nk::interpret(c.g.view(), std::vector<values>{{-30000, -88, 0, 88, 30000}, values(5, 1.0)}, mode);
    CHECK(out[1][2] == 0.5);
    CHECK(out[2][2] == 0.25);
    CHECK(out[1][4] == 1);
    for (const std::size_t i : {0u, 1u, 3u, 4u}) {
      INFO("element " << i << ": " << out[1][i] << ", gradient " << out[2][i]);
      CHECK(out[2][i] >= 0);
      CHECK(out[2][i] < 1e-3);
    }
    CHECK(out[1][0] >= 0);
    CHECK(out[1][0] < 2e-4);
  };
  ends(std::type_identity<double>{}, nk::rounding::as_typed);
  ends(std::type_identity<float>{}, nk::rounding::as_typed);
  ends(std::type_identity<nk::f16>{}, nk::rounding::as_typed);
}

namespace {
template <class T, class F>
std::vector<double> of_each(const F& f, std::initializer_list<float> values) {
  using line = nk::dim<"x", 4>;
  nk::tensor<T, line> x;
  std::transform(values.begin(), values.end(), x.begin(), [](float v) { return static_cast<T>(v); });
  const nk::tensor<T, line> y = f(x);
  std::vector<double> found;
  for (const T v : y) found.push_back(static_cast<double>(v));
  return found;
}
template <class F>
std::vector<double> slopes(const F&, std::initializer_list<float> values) {
  return of_each<nk::f16>([](const auto& x) { return nk::grad([](auto z) { return nk::sum(F{}(z)); })(x); },
                          values);
}
/// What f16 has of f32's values.
template <class F>
void like_f32(const F& f, std::initializer_list<float> at) {
  const std::vector<double> found = of_each<nk::f16>(f, at), exact = of_each<float>(f, at);
  for (std::size_t i = 0; i < at.size(); ++i) {
    INFO("element " << i << ": " << found[i] << " for " << exact[i]);
    CHECK(found[i] == static_cast<double>(nk::f16(exact[i])));
  }
}
}  // namespace

TEST_CASE("nn: activations of small floats are computed in f32 and rounded once") {
  const auto sigmoid = [](const auto& x) { return nk::sigmoid(x); };
  const auto silu = [](const auto& x) { return nk::silu(x); };
  const auto gelu = [](const auto& x) { return nk::gelu(x); };
  const auto gelu_exact = [](const auto& x) { return nk::gelu_exact(x); };
  for (const auto& at : {std::initializer_list<float>{-12, -1000, 9.5f, 300},
                         std::initializer_list<float>{-8, -3, 0.125f, 60000}}) {
    like_f32(sigmoid, at);
    like_f32(silu, at);
    like_f32(gelu, at);
    like_f32(gelu_exact, at);
  }
  like_f32([](const auto& x) { return nk::swiglu(x, x); }, {-100, -8, 0.125f, 200});
  like_f32([](const auto& x) { return nk::swiglu(x, x); }, {-0.3125f, 0.75f, 1.375f, 3.1875f});
  CHECK(of_each<nk::f8e4m3>(silu, {-8, -20, 0, 20}) == values{-0x1p-9, 0, 0, 20});
  CHECK(of_each<nk::f8e4m3>(sigmoid, {-20, 0, 0, 20}) == values{0, 0.5, 0.5, 1});
  CHECK(slopes(gelu, {300, -300, 257, -60000}) == values{1, 0, 1, 0});
  CHECK(slopes(gelu_exact, {300, -300, 257, -60000}) == values{1, 0, 1, 0});
  CHECK(slopes(silu, {300, -300, 257, -60000}) == values{1, 0, 1, 0});
}

TEST_CASE("nn: norms of small floats take their statistics in f32") {
  const auto rms = [](const auto& x) { return nk::rms_norm<"x">(x, 0 * x + 1); };
  const auto layer = [](const auto& x) { return nk::layer_norm<"x">(x, 0 * x + 2, 0 * x + 1); };
  like_f32(rms, {300, -300, 100, -100});
  like_f32(layer, {300, -300, 100, -100});
  like_f32(rms, {60000, -60000, 0, 1});
  like_f32(layer, {1024, 1025, 1026, 1027});
  // an eps that f16 does not have
  const auto tiny = [](const auto& x) { return nk::rms_norm<"x">(x, 0 * x + 1, 1e-9); };
  like_f32(tiny, {0, 0, 0, 0});
  like_f32(tiny, {1e-4f, 0, 0, 0});
  const auto found =
      slopes([](const auto& x) { return nk::rms_norm<"x">(x, 0 * x + 1); }, {300, 300, 300, 0});
  for (const double slope : found) CHECK(std::isfinite(slope));
}

TEST_CASE("nn: softmaxes and losses of small floats are computed in f32 and rounded once") {
  const auto softmax = [](const auto& x) { return nk::softmax<"x">(x); };
  const auto log_softmax = [](const auto& x) { return nk::log_softmax<"x">(x); };
  const auto logsumexp = [](const auto& x) { return nk::logsumexp<"x">(x) + 0 * x; };
  for (const auto& at : {std::initializer_list<float>{-11.5f, 1.25f, 0.375f, 3},
                         std::initializer_list<float>{60000, 59968, -60000, 0.125f},
                         std::initializer_list<float>{-7.0625f, -7.125f, -6.9375f, -7}}) {
    like_f32(softmax, at);
    like_f32(log_softmax, at);
    like_f32(logsumexp, at);
    like_f32([](const auto& x) { return nk::mse(x, 0 * x + 1) + 0 * x; }, at);
    like_f32([](const auto& x) { return nk::z_loss<"x">(x) + 0 * x; }, at);
    like_f32([](const auto& x) { return nk::binary_cross_entropy(x, 0 * x + 1) + 0 * x; }, at);
  }
  CHECK(of_each<nk::f8e4m3>(softmax, {-8, -20, 0, 0}) == values{0, 0, 0.5, 0.5});
  // A difference of 300 is squared beyond f16, and their mean is not.
  like_f32([](const auto& x) { return nk::mse(x, 0 * x) + 0 * x; }, {300, 1, 1, 1});

  const nk::tensor<nk::i32> right{2};
  const auto entropies = [&](const auto& x) { return nk::cross_entropies<"x">(x, right) + 0 * x; };
  const auto smoothed = [&](const auto& x) { return nk::cross_entropies<"x">(x, right, 0.1) + 0 * x; };
  const auto mean = [&](const auto& x) { return nk::cross_entropy<"x">(x, right, 0.1) + 0 * x; };
  const auto counted = [&](const auto& x) { return nk::cross_entropy<"x", -1>(x, right, 0.1) + 0 * x; };
  const auto in_a_function = [&](const auto& x) {
    return nk::fn([](auto z, auto n) { return nk::cross_entropy<"x">(z, n, 0.1); })(x, right) + 0 * x;
  };
  for (const auto& at : {std::initializer_list<float>{-11.5f, 1.25f, 0.375f, 3},
                         std::initializer_list<float>{-7.0625f, -7.125f, -6.9375f, -7}}) {
    like_f32(entropies, at);
    like_f32(smoothed, at);
    like_f32(mean, at);
    like_f32(counted, at);
    like_f32(in_a_function, at);
  }
}

TEST_CASE("nn: losses against a number are those against a tensor of it") {
  const auto squared = [](const auto& x) { return nk::mse(x, 1.5) + 0 * x; };
  const auto entropy = [](const auto& x) { return nk::binary_cross_entropy(x, 0.25) + 0 * x; };
  const auto traced = [](const auto& x) {
    return nk::fn([](auto z) { return nk::mse(z, 2) + nk::binary_cross_entropy(z, 1); })(x) + 0 * x;
  };
  const std::initializer_list<float> at{-11.5f, 1.25f, 0.375f, 3};
  like_f32(squared, at);
  like_f32(entropy, at);
  CHECK(of_each<float>(squared, at) ==
        of_each<float>([](const auto& x) { return nk::mse(x, 0 * x + 1.5) + 0 * x; }, at));
  CHECK(of_each<float>(entropy, at) ==
        of_each<float>([](const auto& x) { return nk::binary_cross_entropy(x, 0 * x + 0.25) + 0 * x; }, at));
  CHECK(of_each<float>(traced, at) == of_each<float>(
                                          [](const auto& x) {
                                            return nk::mse(x, 0 * x + 2) +
                                                   nk::binary_cross_entropy(x, 0 * x + 1) + 0 * x;
                                          },
                                          at));
}

TEST_CASE("nn: without smoothing, a class that is ruled out leaves the others' losses finite") {
  using token = nk::dim<"token", 2>;
  using vocab = nk::dim<"vocab", 3>;
  const float out = -std::numeric_limits<float>::infinity();
  const nk::tensor<nk::f32, token, vocab> logits{{1, out, 2}, {0, 1, 2}};
  const nk::tensor<nk::i32, token> targets{2, 1};
  const nk::tensor plain = nk::cross_entropies<"vocab">(logits, targets);
  const nk::tensor smoothed = nk::cross_entropies<"vocab">(logits, targets, 0.0);
  const nk::tensor traced =
      nk::fn([](auto x, auto n) { return nk::cross_entropies<"vocab">(x, n, 0.0); })(logits, targets);
  const nk::tensor some = nk::cross_entropies<"vocab">(logits, targets, 0.1);
  const nk::tensor some_traced =
      nk::fn([](auto x, auto n) { return nk::cross_entropies<"vocab">(x, n, 0.1); })(logits, targets);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(std::isfinite(plain(i)));
    CHECK(smoothed(i) == plain(i));
    CHECK(traced(i) == plain(i));
    CHECK((i == 0 ? some(i) == -out : std::abs(some(i) - 1.4076059f) <= 1e-6f));
    CHECK((i == 0 ? some_traced(i) == -out : std::abs(some_traced(i) - some(i)) <= 1e-6f));
  }
}

TEST_CASE("nn: a cross entropy that ignores targets adds up and counts in f32") {
  struct token : nk::dim<"token", 8192> {};
  struct vocab : nk::dim<"vocab", 2> {};
  const auto mean_of = []<class T>(std::type_identity<T>, float wrong, std::size_t counted) {
    const nk::tensor<T, token, vocab> logits(
        [&](std::size_t, std::size_t i) { return i == 0 ? wrong : 0.f; });
    nk::tensor<nk::u8, token> targets;
    for (std::size_t i = counted; i < 8192; ++i) targets(i) = 255;
    const nk::tensor each = nk::cross_entropies<"vocab">(logits, targets);
    const nk::tensor mean = nk::cross_entropy<"vocab", 255>(logits, targets);
    return std::pair(static_cast<double>(static_cast<T>(mean)), static_cast<double>(each(0)));
  };
  const auto [of_f16, each_f16] = mean_of(std::type_identity<nk::f16>{}, -9, 8192);
  CHECK(of_f16 == each_f16);
  const auto [of_bf16, each_bf16] = mean_of(std::type_identity<nk::bf16>{}, 1, 257);
  CHECK(of_bf16 == each_bf16);
}

TEST_CASE("nn: rotary positions and causal attention") {
  against_torch("rotary", []<class T>(std::type_identity<T>) {
    return gradient_of<heads<T>>([](auto x) { return nk::rotary<"seq", "hidden">(x); });
  });
  against_torch("causal_attention", []<class T>(std::type_identity<T>) {
    return gradient_of<heads<T>, heads<T>, heads<T>>(
        [](auto q, auto k, auto v) { return nk::causal_attention<"seq", "hidden">(q, k, v); });
  });
}

TEST_CASE("nn: cross entropy") {
  against_torch("cross_entropy", []<class T>(std::type_identity<T>) {
    return gradient_of<logits<T>, classes>([](auto x, auto t) { return nk::cross_entropies<"vocab">(x, t); });
  });
  against_torch("cross_entropy_mean", []<class T>(std::type_identity<T>) {
    return gradient_of<logits<T>, classes>([](auto x, auto t) { return nk::cross_entropy<"vocab">(x, t); });
  });
}

TEST_CASE("nn: a group of queries shares its keys and values") {
  // The same as attention over every head with the keys and values repeated.
  using q = nk::traced<double, d<"seq", 5>, d<"kv_heads", 2>, d<"group", 3>, d<"hidden", 4>>;
  using kv = nk::traced<double, d<"seq", 5>, d<"kv_heads", 2>, d<"hidden", 4>>;
  const auto shared = [](auto a, auto b, auto c) { return nk::causal_attention<"seq", "hidden">(a, b, c); };
  const auto repeated = [](auto a, auto b, auto c) {
    const auto each = [](auto x) {
      return nk::broadcast_to<d<"seq", 5>, d<"kv_heads", 2>, d<"group", 3>, d<"hidden", 4>>(x);
    };
    return nk::causal_attention<"seq", "hidden">(a, each(b), each(c));
  };
  const gradient_case one = gradient_of<q, kv, kv>(shared), other = gradient_of<q, kv, kv>(repeated);
  std::vector<values> in;
  for (const std::size_t n : {120u, 40u, 40u, 120u}) {
    values v(n);
    for (std::size_t i = 0; i < n; ++i) v[i] = std::sin(static_cast<double>(i * i + 3 * n + 7 * in.size()));
    in.push_back(v);
  }
  const auto a = nk::interpret(one.g.view(), in), b = nk::interpret(other.g.view(), in);
  REQUIRE(a.size() == 5);
  for (std::size_t i = 0; i < a.size(); ++i) {
    INFO("output " << i);
    CHECK(relative_difference(a[i], b[i]) <= 1e-13);
  }
}
