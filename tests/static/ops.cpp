// Types of results of the operations by name: axes, what is a view, how many nodes an expression has.
#include "napkin/ops/concat.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/indexing.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/ops/movement.hpp"
#include "napkin/ops/pattern.hpp"
#include "napkin/ops/reshape.hpp"
#include "napkin/passes/verify.hpp"

namespace nk = napkin;
using nk::b8;
using nk::dim;
using nk::f32;
using nk::i32;
using nk::i64;
using nk::primed;
using nk::product;
using nk::product_as;
using nk::up_to;

namespace {

struct batch : dim<"batch", 4> {};
struct seq : dim<"seq", 6> {};
struct heads : dim<"heads", 2> {};
struct hidden : dim<"hidden", 8> {};
struct vocab : dim<"vocab", 32> {};
struct rows : dim<"rows", up_to<16>> {};

template <class... Ds>
using x_of = nk::tensor<f32, Ds...>;
using x_type = x_of<batch, seq, heads, hidden>;
using e_type = decltype(nk::exp(std::declval<x_type>()));
using traced_type = nk::traced<f32, batch, seq, heads, hidden>;

template <class X, class... Ds>
inline constexpr bool has_axes = std::same_as<nk::axes_of<X>, nk::axes<Ds...>>;
/// Nodes of an expression's graph; a legal one.
template <class E>
constexpr int nodes() {
  const nk::graph g = nk::expression_graph<E>::make();
  return nk::passes::verify(g.view()).none() ? static_cast<int>(g.nodes.size()) : -1;
}

// The three representations give one list of axes; movement of a tensor gives a view.
template <class F>
constexpr bool of_all(const F&) {
  using from_tensor = std::invoke_result_t<F, x_type>;
  using from_expression = std::invoke_result_t<F, e_type>;
  using from_traced = std::invoke_result_t<F, traced_type>;
  return nk::is_view<from_tensor> && nk::LazyExpression<from_expression> && nk::Traced<from_traced> &&
         std::same_as<nk::axes_of<from_tensor>, nk::axes_of<from_expression>> &&
         std::same_as<nk::axes_of<from_tensor>, nk::axes_of<from_traced>> && nodes<from_expression>() > 0;
}
template <class... Ds, class F>
constexpr bool gives(const F& f) {
  return of_all(f) && has_axes<std::invoke_result_t<F, x_type>, Ds...>;
}

// ---- movement
static_assert(gives<batch, dim<"seq", 3>, heads, hidden>([](auto x) { return nk::slice<"seq", 1, 4>(x); }));
static_assert(gives<batch, dim<"seq", 2>, heads, hidden>([](auto x) {
  return nk::slice<"seq", 1, 5, 3>(x);
}));
static_assert(gives<batch, dim<"seq", 0>, heads, hidden>([](auto x) { return nk::slice<"seq", 6, 6>(x); }));
static_assert(gives<batch, seq, heads, hidden>([](auto x) { return nk::slice<"seq", 0, 6>(x); }));
static_assert(gives<batch, heads, hidden>([](auto x) { return nk::index<"seq", 5>(x); }));
static_assert(gives<batch, seq, heads, hidden>([](auto x) { return nk::flip<"seq">(x); }));
static_assert(gives<hidden, seq, heads, batch>([](auto x) { return nk::transpose<"batch", "hidden">(x); }));
static_assert(gives<hidden, seq, batch, heads>([](auto x) {
  return nk::permute<"hidden", "seq", "batch", "heads">(x);
}));
static_assert(gives<dim<"n", 3>, hidden, batch, heads, seq>([](auto x) {
  return nk::broadcast_to<dim<"n", 3>, hidden, batch, heads, seq>(x);
}));
static_assert(gives<batch, heads, hidden>([](auto x) {
  return nk::diagonal<"heads", "two">(nk::rename<"seq", "two">(nk::slice<"seq", 0, 2>(x)));
}));

// ---- other axes, the same elements
static_assert(gives<batch, dim<"key", 6>, heads, hidden>([](auto x) { return nk::rename<"seq", "key">(x); }));
static_assert(gives<batch, primed<seq>, heads, hidden>([](auto x) { return nk::rename<"seq", "seq'">(x); }));
static_assert(gives<batch, primed<seq>, heads, hidden>([](auto x) {
  return nk::rename<"seq", primed<seq>>(x);
}));
static_assert(gives<batch, seq, heads, hidden>([](auto x) {
  return nk::rename<"seq'", "seq">(nk::rename<"seq", "seq'">(x));
}));
static_assert(gives<batch, seq, product<heads, hidden>>([](auto x) {
  return nk::merge<"heads", "hidden">(x);
}));
static_assert(gives<batch, seq, product_as<"model", heads, hidden>>([](auto x) {
  return nk::as<"model">(nk::merge<"heads", "hidden">(x));
}));
static_assert(gives<batch, seq, heads, hidden>([](auto x) {
  return nk::split<"model">(nk::as<"model">(nk::merge<"heads", "hidden">(x)));
}));
static_assert(gives<batch, seq, heads, hidden>([](auto x) {
  return nk::split<"(heads hidden)">(nk::merge<"heads", "hidden">(x));
}));
static_assert(gives<batch, dim<"a", 3>, dim<"b", 2>, heads, hidden>([](auto x) {
  return nk::split<"seq", dim<"a", 3>, dim<"b", 2>>(x);
}));
static_assert(gives<batch, nk::unnamed<1>, seq, heads, hidden>([](auto x) { return nk::unsqueeze<1>(x); }));
static_assert(gives<batch, seq, heads, hidden>([](auto x) {
  return nk::squeeze(nk::unsqueeze<0>(nk::unsqueeze<4>(x)));
}));

// Merging what does not lie behind one another is no view of a tensor; splitting back is one.
using apart = decltype(nk::merge<"hidden", "batch">(std::declval<x_type>()));
static_assert(!nk::is_view<apart> && nk::LazyExpression<apart> &&
              has_axes<apart, seq, heads, product<hidden, batch>>);
static_assert(nodes<apart>() == 3);  // input, expand, reshape

// An axis may be of as many factors as a tensor has axes, and is one to patterns.
template <class... Ds>
constexpr bool merges_all() {
  using merged = decltype(nk::rearrange<"a b c d e f g h i j k l -> (a b c d e f g h i j k l)">(
      std::declval<x_of<Ds...>>()));
  using apart_again =
      decltype(nk::rearrange<"(a b c d e f g h i j k l) -> a b c d e f g h i j k l">(std::declval<merged>()));
  using beside = decltype(nk::rearrange<"n -> n 1">(std::declval<merged>()));
  return has_axes<merged, product<Ds...>> && has_axes<apart_again, Ds...> && beside::axes_type::rank == 2;
}
static_assert(merges_all<dim<"a", 2>, dim<"b", 1>, dim<"c", 2>, dim<"d", 1>, dim<"e", 2>, dim<"f", 1>,
                         dim<"g", 2>, dim<"h", 2>, dim<"i", 1>, dim<"j", 2>, dim<"k", 2>, dim<"l", 3>>());

// A reshape across factors, of a tensor that lies in order, is a view: 2*3*4 as 4*6.
static_assert(nk::is_view<decltype(nk::view_as<dim<"p", 4>, dim<"q", 6>>(
                  std::declval<x_of<dim<"a", 2>, dim<"b", 3>, dim<"c", 4>>>()))>);

// Patterns.
static_assert(gives<batch, seq, product<heads, hidden>>([](auto x) {
  return nk::rearrange<"batch seq heads hidden -> batch seq (heads hidden)">(x);
}));
static_assert(!nk::is_view<decltype(nk::rearrange<"batch seq heads hidden -> batch (hidden seq) heads">(
                  std::declval<x_type>()))>);

// Axes sized at run time keep their extent.
static_assert(
    has_axes<decltype(nk::slice<"seq", 0, 2>(std::declval<x_of<rows, seq>>())), rows, dim<"seq", 2>>);
static_assert(
    has_axes<decltype(nk::slice<"rows", 0, 16>(std::declval<x_of<rows, seq>>())), dim<"rows", 16>, seq>);
static_assert(has_axes<decltype(nk::rename<"rows", "lines">(std::declval<x_of<rows, seq>>())),
                       dim<"lines", up_to<16>>, seq>);

// ---- elementwise and reductions
using s_type = x_of<seq>;
using sum_type = decltype(std::declval<s_type>() + std::declval<x_of<batch, seq>>());
static_assert(has_axes<sum_type, batch, seq> && nodes<sum_type>() == 4);  // two inputs, expand, add
static_assert(nodes<decltype(std::declval<s_type>() + 1)>() == 4);        // input, number, expand, add
static_assert(nodes<decltype(nk::relu(std::declval<s_type>()))>() == 4);
static_assert(std::same_as<decltype(std::declval<s_type>() < 1)::element, b8>);
static_assert(std::same_as<decltype(nk::sum<"seq">(std::declval<nk::tensor<i32, seq>>()))::element, i64>);
static_assert(has_axes<decltype(nk::sum<"hidden", "seq">(std::declval<x_type>())), batch, heads>);
static_assert(nk::rank_of<decltype(nk::mean(std::declval<x_type>()))> == 0);

// ---- products
using q_type = x_of<batch, seq, hidden>;
using k_type = x_of<batch, dim<"key", 5>, hidden>;
static_assert(has_axes<decltype(nk::dot<"hidden">(std::declval<q_type>(), std::declval<k_type>())), batch,
                       seq, dim<"key", 5>>);
static_assert(has_axes<decltype(nk::matmul(std::declval<q_type>(), std::declval<x_of<hidden, vocab>>())),
                       batch, seq, vocab>);
static_assert(has_axes<decltype(nk::matmul(std::declval<q_type>(), std::declval<x_of<vocab, hidden>>())),
                       batch, seq, vocab>);
static_assert(
    has_axes<decltype(nk::matmul(std::declval<q_type>(), std::declval<x_of<hidden>>())), batch, seq>);
static_assert(nk::rank_of<decltype(nk::dot<"seq", "hidden", "batch">(std::declval<q_type>(),
                                                                     std::declval<q_type>()))> == 0);
static_assert(nodes<decltype(nk::dot<"hidden">(std::declval<q_type>(), std::declval<k_type>()))>() == 3);
static_assert(has_axes<decltype(nk::outer(std::declval<x_of<batch, seq>>(), std::declval<x_of<hidden>>())),
                       batch, seq, hidden>);

// ---- by index
using token_type = nk::tensor<nk::u16, batch, seq>;
using embedded =
    decltype(nk::gather<"vocab">(std::declval<x_of<vocab, hidden>>(), std::declval<token_type>()));
static_assert(has_axes<embedded, batch, seq, hidden> && nodes<embedded>() == 3);
using scattered = decltype(nk::scatter_add<vocab>(std::declval<embedded>(), std::declval<token_type>()));
static_assert(has_axes<scattered, vocab, hidden> && std::same_as<scattered::element, f32>);
// The indices' axes may stand anywhere among the values': here seq leads and batch is last.
using turned = decltype(nk::scatter_add<vocab>(
    nk::permute<"hidden", "seq", "batch">(std::declval<embedded>()), std::declval<token_type>()));
static_assert(has_axes<turned, hidden, vocab> && nodes<turned>() > 0);
using hot = decltype(nk::one_hot<vocab>(std::declval<token_type>()));
static_assert(has_axes<hot, batch, seq, vocab> && std::same_as<hot::element, b8> && nodes<hot>() > 0);

using joined =
    decltype(nk::concat<"seq">(std::declval<x_of<batch, seq>>(), std::declval<x_of<dim<"seq", 2>, batch>>()));
static_assert(has_axes<joined, batch, dim<"seq", 8>> && nodes<joined>() == 4);  // two inputs, expand, concat

// A mistake has one error: what comes of it passes through every door in silence.
using nk::failed;
static_assert(nk::is_failed<decltype(nk::slice<"seq", 0, 1>(failed{}))>);
static_assert(nk::is_failed<decltype(nk::concat<"seq">(std::declval<s_type>(), failed{}))>);
static_assert(nk::is_failed<decltype(nk::matmul(failed{}, std::declval<s_type>()))>);
static_assert(nk::is_failed<decltype(nk::gather<"seq">(std::declval<s_type>(), failed{}))>);
static_assert(
    nk::is_failed<decltype(nk::rename<"a", "b">(nk::flip<"c">(failed{}) + 1) * std::declval<s_type>())>);

}  // namespace
