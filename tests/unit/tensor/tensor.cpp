#include "napkin/tensor/tensor.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "napkin/tensor/create.hpp"

namespace nk = napkin;

namespace {

struct a : nk::dim<"a", 2> {};
struct b : nk::dim<"b", 3> {};
struct c : nk::dim<"c", 4> {};
struct rows : nk::dim<"rows", nk::up_to<5>> {};

template <class X>
std::vector<typename X::element> values(const X& x) {
  return {x.begin(), x.end()};
}
using floats = std::vector<float>;

// A lazy expression and what a backend defines for it: x of [a b] plus one.
struct plus_one : nk::lazy_expression<nk::f32, a, b> {
  nk::tensor<nk::f32, a, b> x;
  explicit plus_one(nk::tensor<nk::f32, a, b> of) : x(std::move(of)) {}
};
int lowered = 0;

}  // namespace

template <class E>
void nk::lower(const E& e, void* destination) {
  ++lowered;
  auto* out = static_cast<float*>(destination);
  for (const float value : e.x) *out++ = value + 1;
}
template <class E>
bool nk::reads_storage(const E& e, const nk::storage& s) {
  return e.x.shared_storage() == s;
}

TEST_CASE("a tensor holds zeros, a list, a span, or a function of indices") {
  REQUIRE(values(nk::tensor<nk::f32, a, b>{}) == floats{0, 0, 0, 0, 0, 0});
  REQUIRE(values(nk::tensor<nk::f32, a, b>{{1, 2, 3}, {4, 5, 6}}) == floats{1, 2, 3, 4, 5, 6});
  const floats source{6, 5, 4, 3, 2, 1};
  REQUIRE(values(nk::tensor<nk::f32, a, b>(source)) == source);
  const nk::tensor<nk::f32, a, b> f([](std::size_t i, std::size_t j) { return 10 * i + j; });
  REQUIRE(values(f) == floats{0, 1, 2, 10, 11, 12});
  const nk::tensor<nk::bf16, b> small{1.5f, 2, 3};
  REQUIRE(static_cast<float>(small(0)) == 1.5f);
  const nk::tensor<nk::b8, b> truth{true, false, true};
  REQUIRE(truth(2));
  REQUIRE_FALSE(truth(1));
}

TEST_CASE("lists and spans of another size are refused, in words") {
  REQUIRE_THROWS_WITH((nk::tensor<nk::f32, a, b>{{1, 2, 3}, {4, 5}}),
                      "tensor: axis 'b' has 3 elements, the list gives 2");
  REQUIRE_THROWS_AS((nk::tensor<nk::f32, a, b>{{1, 2, 3}}), nk::input_error);
  const floats five(5);
  REQUIRE_THROWS_WITH((nk::tensor<nk::f32, a, b>(five)), "tensor: 5 values given for 6 elements");
}

TEST_CASE("a tensor of no axes is a number") {
  nk::tensor<nk::f32> x = 3.5f;
  const float value = x;
  REQUIRE(value == 3.5f);
  x() = 2;
  REQUIRE(static_cast<float>(x) == 2);
  REQUIRE(values(x) == floats{2});
}

TEST_CASE("a tensor of no axes that is true or false is a bool, and no other number") {
  const auto taken = [](bool yes) { return yes; };
  const auto given = [](const nk::tensor<nk::b8>& x) -> bool { return x; };
  nk::tensor<nk::b8> yes = true;
  const nk::tensor<nk::b8> no = false;
  bool value = yes;
  REQUIRE(value);
  value = no;
  REQUIRE_FALSE(value);
  REQUIRE(taken(yes));
  REQUIRE_FALSE(given(no));
  REQUIRE((yes ? 1 : 2) == 1);
  REQUIRE(bool(yes));
  const nk::b8 element(yes), same = yes;
  REQUIRE(element);
  REQUIRE(same);
  REQUIRE(taken(nk::as_view(yes)));
  yes = no;  // and shares what it shows
  REQUIRE_FALSE(taken(yes));
  yes() = true;
  REQUIRE(taken(no));
  STATIC_REQUIRE_FALSE(std::is_convertible_v<nk::tensor<nk::b8>, int>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<nk::tensor<nk::b8, a>, bool>);
}

TEST_CASE("a copy shares, a clone does not") {
  nk::tensor<nk::f32, a, b> x{{1, 2, 3}, {4, 5, 6}};
  nk::tensor<nk::f32, a, b> same = x;
  const auto apart = nk::clone(x);
  x(0, 1) = 100;
  REQUIRE(same(0, 1) == 100);
  REQUIRE(apart(0, 1) == 2);
  REQUIRE(nk::same_storage(x, same));
  REQUIRE_FALSE(nk::same_storage(x, apart));
  struct other_b : nk::dim<"b", 3> {};
  nk::tensor<nk::f32, a, other_b> renamed = x;
  REQUIRE(nk::same_storage(x, renamed));
  same = apart;
  REQUIRE(nk::same_storage(same, apart));
  REQUIRE(x(0, 1) == 100);
}

TEST_CASE("views share the storage and keep it alive") {
  const std::size_t before = nk::memory_allocated();
  {
    auto row = [] {
      nk::tensor<nk::f32, a, b> x{{1, 2, 3}, {4, 5, 6}};
      auto view = x[1];
      x[0][0] = 100;
      REQUIRE(x(0, 0) == 100);
      x[1][2] = 7;
      return view;
    }();
    REQUIRE(values(row) == floats{4, 5, 7});
  }
  REQUIRE(nk::memory_allocated() == before);
}

TEST_CASE("at checks every index") {
  const nk::tensor<nk::f32, a, b> x{{1, 2, 3}, {4, 5, 6}};
  REQUIRE(x.at(1, 2) == 6);
  REQUIRE_THROWS_WITH(x.at(1, 3), "at: index 3 of axis 'b' is not below its size, 3");
  REQUIRE_THROWS_WITH(x.at(-1, 0), "at: index -1 of axis 'a' is not below its size, 2");
  REQUIRE_THROWS_AS(x.at(2u, 0), nk::input_error);
}

TEST_CASE("iteration is in order of the indices, whatever the strides") {
  const nk::tensor<nk::f32, a, b> x{{1, 2, 3}, {4, 5, 6}};
  const auto transposed = nk::make_view<nk::strides<1, 3>, b, a>(x);
  REQUIRE(values(transposed) == floats{1, 4, 2, 5, 3, 6});
  const auto column = nk::make_view<nk::strides<3>, a>(x, 2);
  REQUIRE(values(column) == floats{3, 6});
  const auto reversed = nk::make_view<nk::strides<-1>, b>(x, 5);
  REQUIRE(values(reversed) == floats{6, 5, 4});
  const auto repeated = nk::make_view<nk::strides<0, 1>, a, b>(x, 3);
  REQUIRE(values(repeated) == floats{4, 5, 6, 4, 5, 6});
  REQUIRE(values(nk::as_view(x)) == values(x));
}

TEST_CASE("contiguous copies only what is not") {
  const nk::tensor<nk::f32, a, b> x{{1, 2, 3}, {4, 5, 6}};
  REQUIRE(nk::same_storage(nk::contiguous(x), x));
  const auto row = nk::contiguous(x[1]);
  REQUIRE(nk::same_storage(row, x));
  REQUIRE(values(row) == floats{4, 5, 6});
  const auto transposed = nk::contiguous(nk::make_view<nk::strides<1, 3>, b, a>(x));
  REQUIRE_FALSE(nk::same_storage(transposed, x));
  REQUIRE(values(transposed) == floats{1, 4, 2, 5, 3, 6});
  const nk::tensor copied = x[1];
  REQUIRE_FALSE(nk::same_storage(copied, x));
  REQUIRE(values(copied) == floats{4, 5, 6});
}

TEST_CASE("assigning to a view writes through it") {
  nk::tensor<nk::f32, a, b> x{{1, 2, 3}, {4, 5, 6}};
  x[0] = x[1];
  REQUIRE(values(x) == floats{4, 5, 6, 4, 5, 6});
  x[1] = 9;
  REQUIRE(values(x) == floats{4, 5, 6, 9, 9, 9});
  x[1] = nk::tensor<nk::f32, b>{1, 2, 3};
  REQUIRE(values(x) == floats{4, 5, 6, 1, 2, 3});
  nk::make_view<nk::strides<3>, a>(x, 1) = 0.5;
  REQUIRE(values(x) == floats{4, 0.5f, 6, 1, 0.5f, 3});
}

TEST_CASE("views that are swapped exchange their elements") {
  const auto x = nk::arange<nk::f32, a, b>();
  auto first = x[0], second = x[1];
  using std::swap;
  swap(first, second);
  REQUIRE(values(x) == floats{3, 4, 5, 0, 1, 2});
  std::ranges::swap(first, second);
  REQUIRE(values(x) == floats{0, 1, 2, 3, 4, 5});
  std::vector views{first, second};
  std::reverse(views.begin(), views.end());  // by iter_swap
  REQUIRE(values(x) == floats{3, 4, 5, 0, 1, 2});
}

TEST_CASE("copy is elementwise for any strides, and right where the two overlap") {
  // Every pair of layouts of [a b c] made by permuting a larger tensor's axes.
  const auto source = nk::arange<nk::f32, a, b, c>();
  const auto by_columns = nk::make_view<nk::strides<1, 2, 6>, a, b, c>(source);
  const auto target = nk::zeros<nk::f32, a, b, c>();
  nk::copy(by_columns, target);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) REQUIRE(target(i, j, k) == static_cast<float>(i + 2 * j + 6 * k));
  const auto back = nk::zeros<nk::f32, a, b, c>();
  nk::copy(target, nk::make_view<nk::strides<1, 2, 6>, a, b, c>(back));
  REQUIRE(values(back) == values(source));

  struct line : nk::dim<"line", 6> {};
  struct part : nk::dim<"part", 5> {};
  for (const int shift : {0, 1}) {
    const auto x = nk::arange<nk::f32, line>();
    nk::copy(nk::make_view<nk::strides<1>, part>(x, 1 - shift),
             nk::make_view<nk::strides<1>, part>(x, shift));
    REQUIRE(values(x) == (shift == 1 ? floats{0, 0, 1, 2, 3, 4} : floats{1, 2, 3, 4, 5, 5}));
  }
  const auto reversed = nk::arange<nk::f32, line>();
  nk::copy(nk::make_view<nk::strides<-1>, line>(reversed, 5), reversed);
  REQUIRE(values(reversed) == floats{5, 4, 3, 2, 1, 0});
}

TEST_CASE("copy handles every width of element") {
  const auto check = []<class T>(T) {
    nk::tensor<T, a, b> x([](std::size_t i, std::size_t j) { return static_cast<T>(3 * i + j); });
    const auto transposed = nk::clone(nk::make_view<nk::strides<1, 3>, b, a>(x));
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        REQUIRE(static_cast<double>(transposed(j, i)) == static_cast<double>(3 * i + j));
  };
  check(nk::u8{});
  check(nk::bf16{});
  check(nk::i32{});
  check(nk::f64{});
  const nk::tensor<nk::c128, b> z([](std::size_t i) { return nk::c128{static_cast<double>(i), 1}; });
  const auto every_other = nk::clone(nk::make_view<nk::strides<2>, a>(z));
  REQUIRE(every_other(1) == nk::c128{2, 1});
}

TEST_CASE("elements are walked by a forward iterator, of the algorithms before ranges too") {
  const nk::tensor<nk::f32, a, b> dense(
      [](std::size_t i, std::size_t j) { return static_cast<float>(3 * i + j); });
  const auto x = nk::make_view<nk::strides<1, 3>, b, a>(dense);  // its rows and columns swapped
  using walking = decltype(x.begin());
  STATIC_REQUIRE(std::is_class_v<walking>);
  STATIC_REQUIRE(std::forward_iterator<walking>);
  using traits = std::iterator_traits<walking>;
  STATIC_REQUIRE(std::is_same_v<traits::iterator_category, std::forward_iterator_tag>);
  STATIC_REQUIRE(std::is_same_v<traits::value_type, float>);
  CHECK(values(x) == floats{0, 3, 1, 4, 2, 5});
}

TEST_CASE("axes sized at run time have their own sizes in storage laid out for the bound") {
  nk::tensor<nk::f32, a, rows, b> x(nk::sized{3});
  REQUIRE(nk::sizes(x) == std::array<std::size_t, 3>{2, 3, 3});
  REQUIRE(nk::numel(x) == 18);
  REQUIRE(x.shared_storage().bytes() == 2 * 5 * 3 * sizeof(float));
  std::iota(x.begin(), x.end(), 0.f);
  REQUIRE(x(1, 0, 0) == 9);
  REQUIRE(x.data() + 15 == &x(1, 0, 0));
  REQUIRE_THROWS_WITH(x.at(0, 3, 0), "at: index 3 of axis 'rows' is not below its size, 3");
  REQUIRE_THROWS_WITH((nk::tensor<nk::f32, rows>(nk::sized{6})),
                      "tensor: axis 'rows' has at most 5 elements, not 6");
  REQUIRE(nk::numel(nk::tensor<nk::f32, rows>{}) == 5);

  const auto half = x[1];
  REQUIRE(half.sizes() == std::array<std::size_t, 2>{3, 3});
  REQUIRE(values(nk::clone(half)) == floats{9, 10, 11, 12, 13, 14, 15, 16, 17});

  const nk::tensor<nk::f32, rows, a> listed{{1, 2}, {3, 4}, {5, 6}};
  REQUIRE(listed.numel() == 6);
  REQUIRE_THROWS_AS((nk::tensor<nk::f32, rows>{1, 2, 3, 4, 5, 6}), nk::input_error);
  REQUIRE_THROWS_AS((nk::tensor<nk::f32, rows, a>{{1, 2}, {3}}), nk::input_error);

  nk::tensor<nk::f32, rows, a> two(nk::sized{2});
  REQUIRE_THROWS_WITH(nk::copy(listed, two),
                      "assignment: axis 'rows' has 3 elements on the right and 2 on the left");
  nk::as_view(two) = listed[0][0];
  REQUIRE(values(two) == floats{1, 1, 1, 1});
  const nk::tensor<nk::f32, rows> none(nk::sized{0});
  REQUIRE(none.numel() == 0);
  REQUIRE(none.begin() == none.end());
}

TEST_CASE("a tensor over a given storage is checked against it") {
  nk::storage block(10 * sizeof(float));
  std::memset(block.data(), 0, block.bytes());
  nk::tensor<nk::f32, a, b> x(block, 4);
  x(1, 2) = 5;
  REQUIRE(static_cast<float*>(block.data())[9] == 5);
  REQUIRE_THROWS_AS((nk::tensor<nk::f32, a, b>(block, 5)), nk::input_error);
  REQUIRE_THROWS_AS((nk::tensor<nk::f32, a, b>(block, static_cast<std::size_t>(-1))), nk::input_error);
  alignas(8) unsigned char bytes[32];
  const auto keep = [](void*) noexcept {};
  REQUIRE_THROWS_AS((nk::tensor<nk::f32, b>(nk::storage::adopt(bytes + 1, 31, keep, nullptr))),
                    nk::input_error);
}

TEST_CASE("an expression is lowered into storage of its own, and through a view") {
  nk::tensor<nk::f32, a, b> x{{1, 2, 3}, {4, 5, 6}};
  lowered = 0;
  const nk::tensor y = plus_one(x);
  REQUIRE(lowered == 1);
  REQUIRE(values(y) == floats{2, 3, 4, 5, 6, 7});

  const auto into = nk::zeros<nk::f32, a, b>();
  nk::as_view(into) = plus_one(x);
  REQUIRE(values(into) == values(y));

  const auto whole = nk::tensor<nk::f32, b, a>{};
  nk::make_view<nk::strides<1, 2>, a, b>(whole) = plus_one(x);  // strided: by way of a temporary
  REQUIRE(values(whole) == floats{2, 5, 3, 6, 4, 7});

  nk::as_view(x) = plus_one(x);  // reads what it writes
  REQUIRE(values(x) == floats{2, 3, 4, 5, 6, 7});
  x = plus_one(x);
  REQUIRE(values(x) == floats{3, 4, 5, 6, 7, 8});
}
