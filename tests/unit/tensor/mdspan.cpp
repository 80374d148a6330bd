// A tensor as an mdspan: the same elements, sizes and strides, in any layout that a view may have.
#include "napkin/tensor/mdspan.hpp"

#include <catch2/catch.hpp>

namespace nk = napkin;

namespace {

struct a : nk::dim<"a", 2> {};
struct b : nk::dim<"b", 3> {};
struct some : nk::dim<"some", nk::up_to<4>> {};
struct window : nk::dim<"window", 2> {};
struct none : nk::dim<"none", 0> {};

nk::tensor<nk::f32, a, b> example() { return {{1, 2, 3}, {4, 5, 6}}; }

// As a library that knows mdspan alone would have it.
template <class Span>
double weighted_sum(const Span& m) {
  double sum = 0;
  for (typename Span::index_type i = 0; i < m.extent(0); ++i)
    for (typename Span::index_type k = 0; k < m.extent(1); ++k)
      sum += static_cast<double>(m[std::array{i, k}]) * static_cast<double>(10 * i + k);
  return sum;
}
template <class X>
double weighted_sum_of_tensor(const X& x) {
  double sum = 0;
  for (std::size_t i = 0; i < x.sizes()[0]; ++i)
    for (std::size_t k = 0; k < x.sizes()[1]; ++k)
      sum += static_cast<double>(x(i, k)) * static_cast<double>(10 * i + k);
  return sum;
}

// Every element is the tensor's own, within what the mapping says that it spans.
template <class X>
void check_same_elements(const X& x) {
  const auto m = nk::as_mdspan(x);
  REQUIRE(m.rank() == 2);
  CHECK(m.size() == x.numel());
  for (std::size_t i = 0; i < x.sizes()[0]; ++i)
    for (std::size_t k = 0; k < x.sizes()[1]; ++k) {
      using index = typename decltype(m)::index_type;
      const auto at = m.mapping()(static_cast<index>(i), static_cast<index>(k));
      CHECK(m.data_handle() + at == &x(i, k));
      CHECK(at >= 0);
      CHECK(at < m.mapping().required_span_size());
    }
  for (std::size_t r = 0; r < 2; ++r)
    if (x.sizes()[r] > 1) CHECK(static_cast<std::ptrdiff_t>(m.stride(r)) == X::strides[r]);
  CHECK(weighted_sum(m) == weighted_sum_of_tensor(x));
}

}  // namespace

TEST_CASE("mdspan: a tensor is layout_right with static extents, and writing writes") {
  const auto x = example();
  const auto m = nk::as_mdspan(x);
  using span = std::remove_const_t<decltype(m)>;
  static_assert(std::is_same_v<span::layout_type, nk::md::layout_right>);
  static_assert(span::static_extent(0) == 2 && span::static_extent(1) == 3 && span::rank_dynamic() == 0);
  static_assert(std::is_same_v<span, nk::mdspan_of<nk::tensor<nk::f32, a, b>>>);
  check_same_elements(x);
  m[std::array{1, 2}] = 60;
  CHECK(x(1, 2) == 60);
  CHECK(m.is_exhaustive());
  const nk::md::mdspan<const float, span::extents_type, span::layout_type> constant = m;
  CHECK(constant[std::array{1, 2}] == 60);
#ifndef __cpp_lib_mdspan
  CHECK(m(1, 2) == 60);
#endif
}

TEST_CASE("mdspan: views of any strides") {
  const auto x = example();
  check_same_elements(nk::make_view<nk::strides<1, 3>, b, a>(x));
  check_same_elements(nk::make_view<nk::strides<-3, 1>, a, b>(x, 3));
  check_same_elements(nk::make_view<nk::strides<-3, -1>, a, b>(x, 5));
  check_same_elements(nk::make_view<nk::strides<0, 1>, a, b>(x));
  check_same_elements(nk::make_view<nk::strides<1, 1>, b, window>(x));
  CHECK(nk::as_mdspan(nk::make_view<nk::strides<1, 3>, b, a>(x)).is_exhaustive());
  CHECK(nk::as_mdspan(nk::make_view<nk::strides<-3, -1>, a, b>(x, 5)).is_exhaustive());
  CHECK_FALSE(nk::as_mdspan(nk::make_view<nk::strides<0, 1>, a, b>(x)).is_unique());
  CHECK_FALSE(nk::as_mdspan(nk::make_view<nk::strides<1, 1>, b, window>(x)).is_unique());
  const auto gaps = nk::as_mdspan(nk::make_view<nk::strides<3, 1>, a, window>(x));
  CHECK(gaps.is_unique());
  CHECK_FALSE(gaps.is_exhaustive());
}

TEST_CASE("mdspan: axes sized at run time, no axes, no elements") {
  const nk::tensor<nk::f32, a, some> x{{1, 2, 3}, {4, 5, 6}};  // rows of four, of which three are there
  const auto m = nk::as_mdspan(x);
  CHECK(m.extent(1) == 3);
  CHECK(m.stride(0) == 4);
  CHECK(decltype(m)::static_extent(1) == nk::md::dynamic_extent);
  check_same_elements(x);
  const nk::tensor<nk::f32, some, a> rows{{1, 2}, {3, 4}, {5, 6}};
  static_assert(std::is_same_v<decltype(nk::as_mdspan(rows))::layout_type, nk::md::layout_right>);
  check_same_elements(rows);

  const nk::tensor<nk::f32> scalar = 7.0f;
  CHECK(nk::as_mdspan(scalar).size() == 1);
  CHECK(nk::as_mdspan(scalar)[std::array<int, 0>{}] == 7);
  CHECK(nk::as_mdspan(nk::tensor<nk::f32, a, none>()).empty());
}
