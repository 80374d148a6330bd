// pack and unpack by value: elements in einops's order, the way back, and gradients.
#include <algorithm>
#include <catch2/catch.hpp>
#include <napkin/cpu/lower.hpp>
#include <napkin/ops/elementwise.hpp>
#include <napkin/ops/pack.hpp>
#include <napkin/passes/grad.hpp>
#include <napkin/tensor/create.hpp>

namespace {

namespace nk = napkin;

struct i : nk::dim<"i", 2> {};
struct j : nk::dim<"j", 3> {};
struct k : nk::dim<"k", 5> {};
struct p : nk::dim<"p", 7> {};
struct q : nk::dim<"q", 2> {};

template <class X>
X counted(double first) {
  X x(nk::uninitialized);
  for (std::size_t n = 0; n < x.numel(); ++n) x.data()[n] = first + static_cast<double>(n);
  return x;
}
template <class A, class B>
bool same_elements(const A& a, const B& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

// The example of einops's documentation: [(i j k), (i j p k), (i j p q k)] -> (i j 22 k).
TEST_CASE("pack lays what was flattened side by side", "[pattern][pack]") {
  const auto x = counted<nk::tensor<nk::f64, i, j, k>>(0);
  const auto y = counted<nk::tensor<nk::f64, i, j, p, k>>(1000);
  const auto z = counted<nk::tensor<nk::f64, i, j, p, q, k>>(2000);
  auto [packed, shapes] = nk::pack<"i j * k">(x, y, z);
  const nk::tensor all = packed;
  REQUIRE(nk::shape_of<decltype(all)> == std::array<std::size_t, 4>{2, 3, 22, 5});
  std::size_t wrong = 0;
  for (std::size_t a = 0; a < 2; ++a)
    for (std::size_t b = 0; b < 3; ++b)
      for (std::size_t n = 0; n < 22; ++n)
        for (std::size_t c = 0; c < 5; ++c) {
          const double expected = n == 0  ? x(a, b, c)
                                  : n < 8 ? y(a, b, n - 1, c)
                                          : z(a, b, (n - 8) / 2, (n - 8) % 2, c);
          wrong += all(a, b, n, c) == expected ? 0 : 1;
        }
  CHECK(wrong == 0);

  const auto [x2, y2, z2] = nk::unpack<"i j * k">(all, shapes);
  CHECK(same_elements(x2, x));
  CHECK(same_elements(y2, y));
  CHECK(same_elements(z2, z));
  CHECK(y2.data() == all.data() + k::size);  // a view: nothing is copied
}

TEST_CASE("pack of one tensor, of scalars and of no elements", "[pattern][pack]") {
  const auto x = counted<nk::tensor<nk::f64, i, j>>(1);
  CHECK(same_elements(nk::eval(nk::pack<"i *">(x).packed), x));
  nk::tensor<nk::f64> one(nk::uninitialized);
  one.data()[0] = 7;
  auto [packed, shapes] = nk::pack<"*">(one, x, one);
  const nk::tensor all = packed;
  CHECK(all(0) == 7);
  CHECK(all(1) == 1);
  CHECK(all(7) == 7);
  const auto [a, b, c] = nk::unpack<"*">(all, shapes);
  CHECK(same_elements(b, x));
  CHECK(*a.begin() == 7);
  CHECK(*c.begin() == 7);
  const nk::tensor<nk::f64, nk::dim<"none", 0>, j> empty(nk::uninitialized);
  CHECK(same_elements(nk::eval(nk::pack<"* j">(empty, counted<nk::tensor<nk::f64, j>>(3)).packed),
                      counted<nk::tensor<nk::f64, j>>(3)));
}

TEST_CASE("unpack of views and expressions, with an inferred axis", "[pattern][pack]") {
  const auto x = counted<nk::tensor<nk::f64, i, p, k>>(0);
  using open = nk::packed_shapes<nk::axes<>, nk::axes<nk::inferred<"rows">, q>>;
  const auto [one, rows] = nk::unpack<"i * k">(x, open{});
  CHECK(nk::shape_of<decltype(rows)> == std::array<std::size_t, 4>{2, 3, 2, 5});
  CHECK(rows(1, 2, 1, 4) == x(1, 6, 4));
  CHECK(one(1, 3) == x(1, 0, 3));

  const auto turned = nk::rearrange<"i p k -> k p i">(x);
  const auto [first, rest] = nk::unpack<"k * i">(turned, open{});
  CHECK(rest(4, 0, 1, 1) == x(1, 2, 4));
  CHECK(first(2, 1) == x(1, 0, 2));
  const auto [f, r] = nk::unpack<"k * i">(turned * 2.0, open{});
  CHECK(nk::eval(r)(4, 0, 1, 1) == 2 * x(1, 2, 4));
  CHECK(nk::eval(f)(2, 1) == 2 * x(1, 0, 2));
}

TEST_CASE("pack and unpack within a traced function, differentiated", "[pattern][pack]") {
  const auto x = counted<nk::tensor<nk::f64, i, k>>(1);
  const auto y = counted<nk::tensor<nk::f64, i, j, k>>(100);
  // sum(a^2) + 3 sum(b^3) through one packed tensor
  const auto f = [](auto u, auto v) {
    auto [packed, shapes] = nk::pack<"i * k">(u, v);
    auto [a, b] = nk::unpack<"i * k">(packed * packed, shapes);
    return nk::sum(a) + 3.0 * nk::sum(b * v);
  };
  const auto [value, dx, dy] = nk::value_and_grad<0, 1>(f)(x, y);
  double expected = 0;
  for (const double e : x) expected += e * e;
  for (const double e : y) expected += 3 * e * e * e;
  CHECK(static_cast<double>(*value.begin()) == Approx(expected).epsilon(1e-14));
  std::size_t wrong = 0;
  for (std::size_t n = 0; n < x.numel(); ++n) wrong += dx.data()[n] == 2 * x.data()[n] ? 0 : 1;
  for (std::size_t n = 0; n < y.numel(); ++n) {
    const double e = y.data()[n];
    wrong += !(std::abs(dy.data()[n] - 9 * e * e) <= 1e-12 * 9 * e * e) ? 1 : 0;
  }
  CHECK(wrong == 0);
}
