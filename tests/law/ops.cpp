// Operations by name against plain loops over indices; laws that hold whatever the sizes; what is a view
// shares its elements.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "napkin/ops/concat.hpp"
#include "napkin/ops/einsum.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/function.hpp"
#include "napkin/ops/indexing.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/ops/movement.hpp"
#include "napkin/ops/pattern.hpp"
#include "napkin/ops/reshape.hpp"
#include "napkin/passes/interpret.hpp"
#include "napkin/passes/verify.hpp"
#include "napkin/tensor/create.hpp"

namespace nk = napkin;
using nk::dim;
using nk::f64;
using nk::i32;
using nk::tensor;

namespace {

struct batch : dim<"batch", 2> {};
struct seq : dim<"seq", 6> {};
struct heads : dim<"heads", 2> {};
struct width : dim<"width", 4> {};
struct vocab : dim<"vocab", 5> {};

using values = std::vector<double>;

// ---- the value of anything: a tensor's own elements, an expression's by the interpreter
template <class X>
void collect(const X& x, std::vector<values>& leaves) {
  if constexpr (nk::TensorLike<X>) {
    values v;
    for (const auto& each : x) v.push_back(static_cast<double>(each));
    leaves.push_back(v);
  } else if constexpr (nk::Scalar<X>) {
    leaves.push_back({static_cast<double>(x.value)});
  } else {
    x.operands.each([&](const auto& each) { collect(each, leaves); });
  }
}
template <class X>
values value_of(const X& x) {
  std::vector<values> leaves;
  collect(x, leaves);
  if constexpr (nk::TensorLike<X>) {
    return leaves[0];
  } else {
    const nk::graph g = nk::expression_graph<X>::make();
    REQUIRE(nk::passes::verify(g.view()).sentence == "");
    return nk::interpret(g.view(), leaves)[0];
  }
}

/// f at every index of these sizes, in row-major order.
template <class F, std::size_t Rank>
values table(const std::array<std::size_t, Rank>& sizes, const F& f) {
  values v;
  std::array<std::size_t, Rank> at{};
  std::size_t count = 1;
  for (const std::size_t s : sizes) count *= s;
  for (std::size_t n = 0; n < count; ++n) {
    v.push_back([&]<std::size_t... I>(std::index_sequence<I...>) {
      return static_cast<double>(f(at[I]...));
    }(std::make_index_sequence<Rank>{}));
    for (std::size_t i = Rank; i-- > 0 && ++at[i] == sizes[i];) at[i] = 0;
  }
  return v;
}
template <class X, class F>
values table_of(const X&, const F& f) {
  return table(nk::shape_of<X>, f);
}

bool close(const values& a, const values& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= 1e-12 * (1 + std::abs(b[i])))) return false;
  return true;
}

/// Movement f gives `expected` of a tensor, where it must be a view, of a view, and of an expression.
template <class X, class F, class G>
void check_movement(const X& x, const F& f, const G& expected) {
  const auto moved = f(x);
  STATIC_REQUIRE(nk::is_view<decltype(moved)>);
  const values wanted = table_of(moved, expected);
  CHECK(value_of(moved) == wanted);
  CHECK(value_of(f(nk::as_view(x))) == wanted);
  CHECK(value_of(f(x + 0)) == wanted);

  // The elements are shared: what is written through the view is seen in the tensor, and the reverse.
  CHECK(nk::same_storage(moved, x));
  if (moved.numel() == 0) return;
  auto& there = *moved.begin();
  const auto before = there;
  there = 1234.5;
  CHECK(std::count(x.begin(), x.end(), 1234.5) == 1);
  for (auto& each : x)
    if (each == 1234.5) each = before;
  CHECK(*moved.begin() == before);
}

}  // namespace

TEST_CASE("movement by name") {
  const auto x = nk::randn<f64, batch, seq, width>(nk::seed{1});
  check_movement(
      x, [](const auto& y) { return nk::slice<"seq", 1, 6, 2>(y); },
      [&](auto b, auto s, auto w) { return x(b, 1 + 2 * s, w); });
  check_movement(
      x, [](const auto& y) { return nk::slice<"width", 3, 3>(y); }, [](auto, auto, auto) { return 0; });
  check_movement(
      x, [](const auto& y) { return nk::index<"seq", 4>(y); }, [&](auto b, auto w) { return x(b, 4, w); });
  check_movement(
      x, [](const auto& y) { return nk::flip<"seq">(y); },
      [&](auto b, auto s, auto w) { return x(b, 5 - s, w); });
  check_movement(
      x, [](const auto& y) { return nk::slice<"seq", 0, 2>(nk::flip<"seq">(y)); },
      [&](auto b, auto s, auto w) { return x(b, 5 - s, w); });
  check_movement(
      x, [](const auto& y) { return nk::transpose<"batch", "width">(y); },
      [&](auto w, auto s, auto b) { return x(b, s, w); });
  check_movement(
      x, [](const auto& y) { return nk::permute<"width", "batch", "seq">(y); },
      [&](auto w, auto b, auto s) { return x(b, s, w); });
  check_movement(
      x, [](const auto& y) { return nk::rename<"seq", "seq'">(y); },
      [&](auto b, auto s, auto w) { return x(b, s, w); });
  check_movement(
      x, [](const auto& y) { return nk::split<"seq", dim<"p", 3>, dim<"q", 2>>(y); },
      [&](auto b, auto p, auto q, auto w) { return x(b, 2 * p + q, w); });
  check_movement(
      x, [](const auto& y) { return nk::as<"both">(nk::merge<"seq", "width">(y)); },
      [&](auto b, auto sw) { return x(b, sw / 4, sw % 4); });
  check_movement(
      x, [](const auto& y) { return nk::unsqueeze<1>(y); },
      [&](auto b, auto, auto s, auto w) { return x(b, s, w); });
  check_movement(
      x, [](const auto& y) { return nk::diagonal<"width", "seq">(nk::slice<"seq", 2, 6>(y)); },
      [&](auto b, auto w) { return x(b, 2 + w, w); });
  check_movement(
      x,
      [](const auto& y) {
        return nk::diagonal<"two", "batch">(nk::rename<"seq", "two">(nk::slice<"seq", 4, 6>(y)));
      },
      [&](auto t, auto w) { return x(t, 4 + t, w); });
}

TEST_CASE("movement: an index known at run time") {
  const auto x = nk::randn<f64, batch, seq, width>(nk::seed{2});
  for (int i = 0; i < 6; ++i)
    CHECK(value_of(nk::index<"seq">(x, i)) ==
          table(std::array<std::size_t, 2>{2, 4}, [&](auto b, auto w) { return x(b, i, w); }));
  CHECK_THROWS_AS(nk::index<"seq">(x, 6), nk::input_error);
  CHECK_THROWS_AS(nk::index<"seq">(x, -1), nk::input_error);
  nk::index<"seq">(x, 3) = nk::index<"seq">(x, 0);
  CHECK(value_of(nk::index<"seq">(x, 3)) == value_of(nk::index<"seq">(x, 0)));
  const f64 one = nk::index<"width">(nk::index<"seq">(nk::index<"batch">(x, 1), 2), 3);
  CHECK(one == x(1, 2, 3));
}

TEST_CASE("movement: axes sized at run time") {
  struct rows : dim<"rows", nk::up_to<8>> {};
  tensor<f64, rows, width> x(nk::sized{3});
  double next = 0;
  for (auto& each : x) each = next++;
  CHECK(value_of(nk::flip<"rows">(x)) == values{8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3});
  CHECK(value_of(nk::slice<"rows", 1, 3>(x)) == values{4, 5, 6, 7, 8, 9, 10, 11});
  CHECK_THROWS_AS((nk::slice<"rows", 1, 4>(x)), nk::input_error);
  CHECK_THROWS_AS((nk::index<"rows", 3>(x)), nk::input_error);
  CHECK_THROWS_AS((nk::index<"rows">(x, 3)), nk::input_error);
  const auto t = nk::transpose<"rows", "width">(nk::slice<"width", 0, 2>(x));
  CHECK(t.sizes() == std::array<std::size_t, 2>{2, 3});
  CHECK(value_of(t) == values{0, 4, 8, 1, 5, 9});
  CHECK(nk::split<"width", heads, dim<"half", 2>>(x).sizes() == std::array<std::size_t, 3>{3, 2, 2});
  CHECK(nk::rename<"rows", "lines">(x).sizes() == std::array<std::size_t, 2>{3, 4});
}

TEST_CASE("movement: broadcast_to repeats, and each element is one") {
  const auto x = nk::randn<f64, seq>(nk::seed{3});
  const auto f = [](const auto& y) { return nk::broadcast_to<batch, seq, width>(y); };
  const auto wanted = table_of(f(x), [&](auto, auto s, auto) { return x(s); });
  CHECK(value_of(f(x)) == wanted);
  CHECK(value_of(f(x * 1)) == wanted);
  CHECK(nk::same_storage(f(x), x));
}

TEST_CASE("what no strides can say is copied") {
  const tensor<f64, heads, dim<"three", 3>> x{{1, 2, 3}, {4, 5, 6}};
  const auto t = nk::transpose<"heads", "three">(x);
  const auto merged = nk::merge<"three", "heads">(t);
  STATIC_REQUIRE(nk::is_view<decltype(t)>);
  STATIC_REQUIRE(nk::LazyExpression<decltype(merged)>);
  CHECK(value_of(merged) == values{1, 4, 2, 5, 3, 6});
  const auto again = nk::split<"(three heads)", dim<"two", 2>, dim<"rest", 3>>(merged);
  STATIC_REQUIRE(nk::shape_of<decltype(again)> == std::array<std::size_t, 2>{2, 3});
  CHECK(value_of(again) == values{1, 4, 2, 5, 3, 6});
  // Copied first, the same reading is a view of the copy.
  const auto copied = nk::contiguous(t);
  const auto seen = nk::view_as<dim<"two", 2>, dim<"rest", 3>>(copied);
  CHECK(value_of(seen) == values{1, 4, 2, 5, 3, 6});
  CHECK(nk::same_storage(seen, copied));
  CHECK_FALSE(nk::same_storage(seen, x));
  // An axis that splits across what lay behind one another is a view too.
  const auto y = nk::randn<f64, batch, seq>(nk::seed{4});
  CHECK(value_of(nk::view_as<dim<"p", 4>, dim<"q", 3>>(y)) == value_of(y));
}

TEST_CASE("a rearrangement and its inverse are the identity") {
  const auto x = nk::randn<f64, batch, seq, heads, width>(nk::seed{5});
  const auto there = [](const auto& y) {
    return nk::rearrange<"batch seq heads width -> seq (heads batch) width">(y);
  };
  const auto back = [](const auto& y) {
    return nk::rearrange<"seq (heads batch) width -> batch seq heads width">(y);
  };
  CHECK(value_of(back(there(x))) == value_of(x));
  CHECK(value_of(back(there(nk::as_view(x) * 1))) == value_of(x));
  STATIC_REQUIRE(std::same_as<nk::axes_of<decltype(back(there(x)))>, nk::axes_of<decltype(x)>>);
  CHECK(value_of(nk::permute<"batch", "seq", "heads", "width">(
            nk::permute<"width", "heads", "seq", "batch">(x))) == value_of(x));
  CHECK(value_of(nk::flip<"seq">(nk::flip<"seq">(x))) == value_of(x));
  CHECK(value_of(nk::split<"(heads width)">(nk::merge<"heads", "width">(x))) == value_of(x));
  CHECK(value_of(nk::concat<"seq">(nk::slice<"seq", 0, 2>(x), nk::slice<"seq", 2, 6>(x))) == value_of(x));
}

TEST_CASE("elementwise operations broadcast by name") {
  const auto x = nk::randn<f64, batch, seq, width>(nk::seed{6});
  const auto row = nk::randn<f64, width>(nk::seed{7});
  const auto mat = nk::randn<f64, seq, batch>(nk::seed{8});
  const auto check = [&](const auto& e, const auto& f) { CHECK(close(value_of(e), table_of(x, f))); };
  check(x + row, [&](auto b, auto s, auto w) { return x(b, s, w) + row(w); });
  check(row - x, [&](auto b, auto s, auto w) { return row(w) - x(b, s, w); });
  check(mat * x / 2, [&](auto b, auto s, auto w) { return mat(s, b) * x(b, s, w) / 2; });
  check(nk::exp(-x) + 1, [&](auto b, auto s, auto w) { return std::exp(-x(b, s, w)) + 1; });
  check(nk::relu(x), [&](auto b, auto s, auto w) { return x(b, s, w) > 0 ? x(b, s, w) : 0; });
  check(nk::where(x > row, x, 0),
        [&](auto b, auto s, auto w) { return x(b, s, w) > row(w) ? x(b, s, w) : 0; });
  check(nk::where(x != 0 && mat >= 0, 1, x),
        [&](auto b, auto s, auto w) { return mat(s, b) >= 0 ? 1 : x(b, s, w); });
  check(nk::fma(x, mat, row),
        [&](auto b, auto s, auto w) { return std::fma(x(b, s, w), mat(s, b), row(w)); });
  check(nk::fma(x, 0.1, row), [&](auto b, auto s, auto w) { return std::fma(x(b, s, w), 0.1, row(w)); });
  check(nk::fma(3, x, 0.5), [&](auto b, auto s, auto w) { return std::fma(3.0, x(b, s, w), 0.5); });
  check(nk::fma(0.1, 3, x), [&](auto b, auto s, auto w) { return std::fma(0.1, 3.0, x(b, s, w)); });
  check(nk::transpose<"batch", "width">(nk::transpose<"batch", "width">(x) + row),
        [&](auto b, auto s, auto w) { return x(b, s, w) + row(w); });
}

TEST_CASE("reductions by name") {
  const auto x = nk::randn<f64, batch, seq, width>(nk::seed{9});
  const auto fold = [&](auto b, auto w, double start, auto&& f) {
    for (std::size_t s = 0; s < 6; ++s) start = f(start, x(b, s, w));
    return start;
  };
  const std::array<std::size_t, 2> left{2, 4};
  const auto plus = [](double a, double b) { return a + b; };
  CHECK(close(value_of(nk::sum<"seq">(x)), table(left, [&](auto b, auto w) { return fold(b, w, 0, plus); })));
  CHECK(close(value_of(nk::mean<"seq">(x)),
              table(left, [&](auto b, auto w) { return fold(b, w, 0, plus) / 6; })));
  CHECK(value_of(nk::max<"seq">(x)) == table(left, [&](auto b, auto w) {
          return fold(b, w, -1e9, [](double a, double c) { return a > c ? a : c; });
        }));
  CHECK(close(value_of(nk::prod<"seq">(x)), table(left, [&](auto b, auto w) {
                return fold(b, w, 1, [](double a, double c) { return a * c; });
              })));
  CHECK(close(value_of(nk::logsumexp<"seq">(x)), table(left, [&](auto b, auto w) {
                return std::log(fold(b, w, 0, [](double a, double c) { return a + std::exp(c); }));
              })));
  CHECK(close(value_of(nk::sum(x)), value_of(nk::sum<"width">(nk::sum<"batch", "seq">(x)))));
  CHECK(value_of(nk::any<"seq">(x > 0)) == table(left, [&](auto b, auto w) {
          return fold(b, w, 0, [](double a, double c) { return a > 0 || c > 0 ? 1 : 0; });
        }));
  CHECK(close(value_of(nk::reduce<"batch (two seq) width -> two width", "sum", dim<"two", 2>>(
                  nk::rename<"seq", "long">(x))),
              table(std::array<std::size_t, 2>{2, 4}, [&](auto t, auto w) {
                double sum = 0;
                for (std::size_t b = 0; b < 2; ++b)
                  for (std::size_t s = 0; s < 3; ++s) sum += x(b, 3 * t + s, w);
                return sum;
              })));
}

TEST_CASE("products by name equal loops and each other") {
  const auto q = nk::randn<f64, batch, seq, width>(nk::seed{10});
  const auto k = nk::randn<f64, vocab, batch, width>(nk::seed{11});
  const auto w = nk::randn<f64, vocab, width>(nk::seed{12});
  const auto wanted = table(std::array<std::size_t, 3>{2, 6, 5}, [&](auto b, auto s, auto v) {
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) sum += q(b, s, i) * k(v, b, i);
    return sum;
  });
  CHECK(close(value_of(nk::dot<"width">(q, k)), wanted));
  CHECK(close(value_of(nk::matmul(q, k)), wanted));
  CHECK(close(value_of(nk::einsum<"batch seq width, vocab batch width -> batch seq vocab">(q, k)), wanted));
  // an axis that the pattern splits, by a size that the call gives
  const auto halves = table(std::array<std::size_t, 3>{2, 5, 2}, [&](auto b, auto v, auto h) {
    double sum = 0;
    for (std::size_t s = 0; s < 6; ++s)
      for (std::size_t i = 0; i < 2; ++i) sum += q(b, s, 2 * h + i) * k(v, b, 2 * h + i);
    return sum;
  });
  CHECK(
      close(value_of(nk::einsum_summing<"batch seq (half part), vocab batch (half part) -> batch vocab half",
                                        nk::summed<"seq">, dim<"half", 2>>(q, k)),
            halves));
  CHECK(close(
      value_of(nk::einsum_least_flops<"batch seq (half part), vocab batch (half part) -> batch vocab half",
                                      nk::summed<"seq">, dim<"half", 2>>(q, k)),
      halves));
  const auto along_seq = nk::fn([](auto x, auto y) {
    return nk::einsum<"batch seq (half part), vocab batch (half part) -> batch seq vocab half",
                      dim<"half", 2>>(x, y);
  });
  CHECK(close(value_of(nk::sum<"seq">(along_seq(q, k))), halves));
  // one that is summed as a whole, of an axis and of a product of axes: no size is needed
  const tensor<f64, width, vocab> turned([&](auto i, auto v) { return w(v, i); });
  const auto product = table(std::array<std::size_t, 3>{2, 6, 5}, [&](auto b, auto s, auto v) {
    double sum = 0;
    for (std::size_t i = 0; i < 4; ++i) sum += q(b, s, i) * w(v, i);
    return sum;
  });
  CHECK(close(value_of(nk::einsum<"b s (h d), (h d) e -> b s e">(q, turned)), product));
  const tensor<f64, batch, seq, dim<"h", 2>, dim<"d", 2>> apart(
      [&](auto b, auto s, auto h, auto d) { return q(b, s, 2 * h + d); });
  const tensor<f64, dim<"h", 2>, dim<"d", 2>, vocab> beside(
      [&](auto h, auto d, auto v) { return w(v, 2 * h + d); });
  CHECK(close(value_of(nk::einsum<"b s (h d), (h d) e -> b s e">(nk::rearrange<"b s h d -> b s (h d)">(apart),
                                                                 nk::rearrange<"h d e -> (h d) e">(beside))),
              product));
  CHECK(close(value_of(nk::matmul(q, w)), value_of(nk::matmul(q, nk::transpose<"vocab", "width">(w)))));
  const auto wide = table(std::array<std::size_t, 2>{6, 5}, [&](auto s, auto v) {
    double sum = 0;
    for (std::size_t b = 0; b < 2; ++b)
      for (std::size_t i = 0; i < 4; ++i) sum += q(b, s, i) * k(v, b, i);
    return sum;
  });
  CHECK(close(value_of(nk::dot<"batch", "width">(q, k)), wide));
  CHECK(close(value_of(nk::sum<"batch">(nk::dot<"width">(q, k))), wide));
  const auto a = nk::randn<f64, batch, seq>(nk::seed{13});
  const auto o = nk::outer(a, w);
  CHECK(value_of(o) == table_of(o, [&](auto b, auto s, auto v, auto i) { return a(b, s) * w(v, i); }));
}

TEST_CASE("reading and adding by index") {
  const auto words = nk::randn<f64, vocab, width>(nk::seed{14});
  const tensor<i32, batch, seq> tokens([](auto b, auto s) { return (3 * b + 2 * s) % 5; });
  const auto x = nk::gather<"vocab">(words, tokens);
  CHECK(value_of(x) == table_of(x, [&](auto b, auto s, auto w) { return words(tokens(b, s), w); }));
  const auto inner = nk::gather<"width">(words, tensor<nk::u8, seq>([](auto s) { return 3 - s / 2; }));
  CHECK(value_of(inner) == table_of(inner, [&](auto v, auto s) { return words(v, 3 - s / 2); }));

  const auto dx = nk::randn<f64, batch, seq, width>(nk::seed{15});
  const auto wanted = table(std::array<std::size_t, 2>{5, 4}, [&](auto v, auto w) {
    double sum = 0;
    for (std::size_t b = 0; b < 2; ++b)
      for (std::size_t s = 0; s < 6; ++s)
        sum += static_cast<std::size_t>(tokens(b, s)) == v ? dx(b, s, w) : 0;
    return sum;
  });
  CHECK(close(value_of(nk::scatter_add<vocab>(dx, tokens)), wanted));
  // The indices' axes may lie in another order and place in the values.
  CHECK(close(value_of(nk::transpose<"width", "vocab">(
                  nk::scatter_add<vocab>(nk::permute<"width", "seq", "batch">(dx), tokens))),
              wanted));
  // Both are contractions with the one-hot matrix.
  const auto hot = nk::cast<f64>(nk::one_hot<vocab>(tokens));
  CHECK(close(value_of(nk::dot<"vocab">(hot, words)), value_of(x)));
  CHECK(close(value_of(nk::dot<"batch", "seq">(hot, dx)), wanted));
}

TEST_CASE("concat lines up the other axes by name") {
  const auto x = nk::randn<f64, batch, seq>(nk::seed{16});
  const auto y = nk::randn<f64, dim<"seq", 3>, batch>(nk::seed{17});
  const auto both = nk::concat<"seq">(x, y, x);
  CHECK(value_of(both) == table(std::array<std::size_t, 2>{2, 15}, [&](auto b, auto s) {
          return s < 6 ? x(b, s) : s < 9 ? y(s - 6, b) : x(b, s - 9);
        }));
  CHECK(value_of(nk::slice<"seq", 6, 9>(both)) == value_of(nk::transpose<"seq", "batch">(y)));
}

TEST_CASE("traced values build the nodes that expressions do") {
  nk::builder b;
  const nk::traced<f64, batch, seq> x(&b, b.input(0, nk::dtype::f64, {2, 6}));
  const nk::traced<f64, seq> row(&b, b.input(1, nk::dtype::f64, {6}));
  const auto f = [](const auto& u, const auto& v) {
    return nk::sum<"key">(nk::rename<"seq", "key">(nk::flip<"seq">(u) * v)) + nk::dot<"seq">(u, v);
  };
  b.output(f(x, row).id);
  REQUIRE(nk::passes::verify(b.view()).sentence == "");
  const auto a = nk::randn<f64, batch, seq>(nk::seed{18});
  const auto c = nk::randn<f64, seq>(nk::seed{19});
  const std::vector<values> in{value_of(a), value_of(c)};
  CHECK(nk::interpret(b.view(), in)[0] == value_of(f(a, c)));
}

namespace {
struct images : dim<"image", nk::up_to<40>> {};
}  // namespace

TEST_CASE("a slice of known size from an index on that is known at run time is a view") {
  const tensor<f64, seq, width> x(
      [](auto i, auto j) { return 10.0 * static_cast<double>(i) + static_cast<double>(j); });
  for (std::size_t at = 0; at + 2 <= seq::size; at += 2) {
    const auto part = nk::slice<"seq", 2>(x, at);
    static_assert(nk::is_view<decltype(part)> &&
                  nk::shape_of<decltype(part)> == std::array<std::size_t, 2>{2, 4});
    CHECK(part.data() == x.data() + at * width::size);
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < width::size; ++j) CHECK(part(i, j) == x(at + i, j));
  }
  const auto columns = nk::slice<"width", 3>(nk::transpose<"seq", "width">(x), 1);
  CHECK(columns(2, 5) == x(5, 3));
  CHECK(nk::slice<"seq", 0>(x, 6).numel() == 0);
  CHECK(nk::slice<"seq", 6>(x, 0).numel() == x.numel());
  for (const int wrong : {-1, 5, 6, 1000})
    CHECK_THROWS_WITH((nk::slice<"seq", 2>(x, wrong)), Catch::StartsWith("slice: axis 'seq' has 6 elements"));
  CHECK_THROWS_AS((nk::slice<"seq", 6>(x, 1)), nk::input_error);
  CHECK_THROWS_AS((nk::slice<"seq", 2>(x, ~std::uint64_t{0})), nk::input_error);

  const tensor<f64, images, width> some = nk::arange<f64, images, width>(0, 1, nk::sized{10});
  CHECK(nk::slice<"image", 4>(some, 6)(3, 1) == 37);
  CHECK_THROWS_AS((nk::slice<"image", 4>(some, 7)), nk::input_error);
  CHECK_THROWS_AS((nk::slice<"image", 11>(some, 0)), nk::input_error);
}
