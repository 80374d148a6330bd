// The functions of nn/ and their gradients against PyTorch's (tests/parity): in f64, and in f32 as a kernel
// would round them.
#include <catch2/catch.hpp>

#include "napkin/nn/activation.hpp"
#include "napkin/nn/attention.hpp"
#include "napkin/nn/loss.hpp"
#include "napkin/nn/norm.hpp"
#include "napkin/nn/rotary.hpp"
#include "napkin/nn/softmax.hpp"
#include "napkin/passes/differentiate.hpp"
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
