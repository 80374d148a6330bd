// Types of tensors and views: layouts, shapes, what is contiguous, what converts to what.
#include "napkin/tensor/tensor.hpp"

#include "napkin/tensor/axis_view.hpp"
#include "napkin/tensor/create.hpp"

namespace nk = napkin;

namespace {

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};
struct rows : nk::dim<"rows", nk::up_to<16>> {};

using x_type = nk::tensor<nk::f32, batch, seq, hidden>;
static_assert(std::same_as<x_type::element, float>);
static_assert(nk::rank_of<x_type> == 3 && x_type::rank == 3);
static_assert(nk::shape_of<x_type> == std::array<std::size_t, 3>{4, 6, 8});
static_assert(nk::shape_of<const x_type&> == x_type::shape);
static_assert(nk::names_of<x_type> == std::array<std::string_view, 3>{"batch", "seq", "hidden"});
static_assert(x_type::numel() == 4 * 6 * 8);
static_assert(x_type::strides == std::array<std::ptrdiff_t, 3>{48, 8, 1});
static_assert(nk::is_contiguous<x_type> && x_type::dense && !nk::is_view<x_type> && nk::is_tensor<x_type>);
static_assert(sizeof(x_type) == 2 * sizeof(void*));
static_assert(nk::rank_of<nk::tensor<nk::f32>> == 0 && nk::tensor<nk::f32>::numel() == 1);

// Indexing.
static_assert(std::same_as<decltype(std::declval<x_type>()(0, 0, 0)), float&>);
static_assert(
    std::same_as<decltype(std::declval<x_type>()[0]), nk::view<nk::f32, nk::strides<8, 1>, seq, hidden>>);
static_assert(std::same_as<decltype(std::declval<const x_type&>()[0][0][0]), float&>);

// Layouts.
static_assert(std::same_as<nk::row_major<batch, seq>, nk::strides<6, 1>>);
static_assert(std::same_as<nk::row_major<>, nk::strides<>>);
static_assert(nk::is_row_major<nk::strides<7, 1>, nk::dim<"one", 1>, seq>);
static_assert(!nk::is_row_major<nk::strides<1, 4>, seq, batch>);
using transposed = nk::view<nk::f32, nk::strides<1, 6>, seq, batch>;
static_assert(nk::is_view<transposed> && nk::is_view<const transposed&> && !nk::is_contiguous<transposed>);
static_assert(nk::TensorLike<transposed> && nk::TensorLike<x_type> && !nk::TensorLike<int>);
static_assert(nk::is_contiguous<nk::view<nk::f32, nk::strides<6, 1>, batch, seq>>);

// Merging: batch and seq of a row-major tensor are one axis of stride 8; over a gap they are not.
static_assert(nk::merged_stride_of<nk::strides<48, 8>, batch, seq>.possible);
static_assert(nk::merged_stride_of<nk::strides<48, 8>, batch, seq>.stride == 8);
static_assert(!nk::merged_stride_of<nk::strides<50, 8>, batch, seq>.possible);
static_assert(nk::merged_stride_of<nk::strides<48, 999, 8>, batch, nk::unnamed<1>, seq>.stride == 8);
static_assert(nk::merged_stride_of<nk::strides<0, 0>, batch, seq>.stride == 0);
static_assert(nk::merged_stride_of<nk::strides<>>.stride == 1);
// Run-time sizes leave gaps inside, not outside.
static_assert(nk::merged_stride_of<nk::row_major<rows, seq>, rows, seq>.possible);
static_assert(!nk::merged_stride_of<nk::row_major<seq, rows>, seq, rows>.possible);
static_assert(nk::tensor<nk::f32, rows, seq>::dense && !nk::tensor<nk::f32, seq, rows>::dense);
static_assert(nk::shape_of<nk::tensor<nk::f32, rows, seq>>[0] == 16 &&
              nk::has_dynamic_axis<nk::tensor<nk::f32, rows>>);

// Names are one, types may be two: these convert.
struct other_seq : nk::dim<"seq", 6> {};
static_assert(std::is_convertible_v<nk::tensor<nk::f32, seq>, nk::tensor<nk::f32, other_seq>>);
static_assert(
    std::same_as<decltype(nk::tensor(std::declval<transposed>())), nk::tensor<nk::f32, seq, batch>>);
static_assert(std::same_as<decltype(nk::clone(std::declval<transposed>())), nk::tensor<nk::f32, seq, batch>>);
static_assert(std::same_as<decltype(nk::zeros<nk::f32, seq>()), nk::tensor<nk::f32, seq>>);
static_assert(std::same_as<decltype(nk::tensor(nk::failed{})), nk::tensor<nk::failed>>);
static_assert(nk::is_failed<nk::tensor<nk::failed>> && !nk::is_failed<x_type> &&
              !nk::TensorLike<nk::tensor<nk::failed>>);

// Expressions.
struct fake : nk::lazy_expression<nk::f32, batch, seq> {};
static_assert(nk::LazyExpression<fake> && !nk::LazyExpression<x_type>);
static_assert(nk::shape_of<fake> == std::array<std::size_t, 2>{4, 6});
static_assert(std::same_as<decltype(nk::tensor(fake{})), nk::tensor<nk::f32, batch, seq>>);
static_assert(std::is_convertible_v<fake, nk::tensor<nk::f32, batch, seq>>);

// What the pattern language is told.
static_assert(nk::axis_views_of<x_type>.size() == 3 && nk::axis_views_of<x_type>[1].name == "seq");
static_assert(nk::axis_view_of<nk::product<seq, hidden>>.factors.size() == 2);
static_assert(nk::axis_view_of<nk::product<seq, hidden>>.factors[1].size == 8);

static_assert(nk::slice_in_range(0, 6, 6) && nk::slice_in_range(3, 3, 6));
static_assert(!nk::slice_in_range(-1, 3, 6) && !nk::slice_in_range(4, 3, 6) && !nk::slice_in_range(0, 7, 6));

}  // namespace
