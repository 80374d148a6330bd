// pack and unpack as types: axes, shapes, what is a view; and what their patterns mean or are refused for.
#include <napkin/ops/elementwise.hpp>
#include <napkin/ops/pack.hpp>

namespace {

namespace nk = napkin;
namespace np = napkin::pattern;
using np::code;

struct batch : nk::dim<"batch", 4> {};
struct h : nk::dim<"h", 3> {};
struct w : nk::dim<"w", 5> {};
struct embed : nk::dim<"embed", 8> {};
struct token : nk::dim<"token", 16> {};
using cls = nk::tensor<nk::f32, batch, embed>;
using patches = nk::tensor<nk::f32, batch, h, w, embed>;

template <class X, class... Ds>
constexpr bool has_axes = nk::same_axes<nk::axes_of<X>, nk::axes<Ds...>>;
template <class Shapes, class... Expected>
constexpr bool has_shapes = std::is_same_v<Shapes, nk::packed_shapes<Expected...>>;

// --- the packed axis: its name and its size
using packing = decltype(nk::pack<"batch * embed">(std::declval<cls>(), std::declval<patches>()));
static_assert(has_axes<decltype(packing::packed), batch, nk::dim<"packed", 16>, embed>);
static_assert(has_shapes<decltype(packing::shapes), nk::axes<>, nk::axes<h, w>>);
static_assert(nk::shape_of<decltype(packing::packed)>[1] == 1 + 3 * 5);

using by_name = decltype(nk::pack<"batch * embed", "token">(std::declval<cls>(), std::declval<patches>()));
static_assert(has_axes<decltype(by_name::packed), batch, nk::dim<"token", 16>, embed>);
using by_axis = decltype(nk::pack<"batch * embed", token>(std::declval<cls>(), std::declval<patches>()));
static_assert(std::is_same_v<nk::axes_of<decltype(by_axis::packed)>, nk::axes<batch, token, embed>>);

// --- `*` at either end, alone, and in one operand
using first = decltype(nk::pack<"* embed">(std::declval<cls>(), std::declval<patches>()));
static_assert(has_axes<decltype(first::packed), nk::dim<"packed", 64>, embed>);
static_assert(has_shapes<decltype(first::shapes), nk::axes<batch>, nk::axes<batch, h, w>>);
using last = decltype(nk::pack<"batch *">(std::declval<patches>()));
static_assert(has_axes<decltype(last::packed), batch, nk::dim<"packed", 120>>);
using flat = decltype(nk::pack<"*">(std::declval<cls>(), std::declval<nk::tensor<nk::f32>>()));
static_assert(has_axes<decltype(flat::packed), nk::dim<"packed", 33>>);
static_assert(has_shapes<decltype(flat::shapes), nk::axes<batch, embed>, nk::axes<>>);

// --- an alias names the axis; the operand's own axis type is kept
using alias = decltype(nk::pack<"b * embed">(std::declval<cls>(), std::declval<patches>()));
static_assert(has_axes<decltype(alias::packed), nk::dim<"b", 4>, nk::dim<"packed", 16>, embed>);

// --- and back
using tokens = nk::tensor<nk::f32, batch, token, embed>;
using shapes = nk::packed_shapes<nk::axes<>, nk::axes<h, w>>;
using pieces = decltype(nk::unpack<"batch * embed">(std::declval<tokens>(), shapes{}));
static_assert(std::tuple_size_v<pieces> == 2);
static_assert(has_axes<std::tuple_element_t<0, pieces>, batch, embed>);
static_assert(has_axes<std::tuple_element_t<1, pieces>, batch, h, w, embed>);
static_assert(nk::is_view<std::tuple_element_t<0, pieces>> && nk::is_view<std::tuple_element_t<1, pieces>>);

using open = nk::packed_shapes<nk::axes<>, nk::axes<nk::inferred<"rows">, w>>;
using inferred = decltype(nk::unpack<"b * e">(std::declval<tokens>(), open{}));
static_assert(
    has_axes<std::tuple_element_t<1, inferred>, nk::dim<"b", 4>, nk::dim<"rows", 3>, w, nk::dim<"e", 8>>);

// --- patterns: einops's verdict on each
constexpr np::axis_view two[] = {{"batch", 4, {}}, {"embed", 8, {}}};
constexpr np::axis_view three[] = {{"batch", 4, {}}, {"seq", 3, {}}, {"embed", 8, {}}};
constexpr np::axis_view wider[] = {{"batch", 4, {}}, {"embed", 9, {}}};
constexpr np::axis_view other[] = {{"batch", 4, {}}, {"hidden", 8, {}}};
constexpr code packs(std::string_view pattern, np::operand_view x = two, np::operand_view y = three) {
  const np::operand_view operands[] = {x, y};
  return np::bind_pack(pattern, operands).value.why.why;
}
static_assert(packs("batch * embed") == code::none && packs(" batch  *\tembed ") == code::none);
static_assert(packs("*") == code::none && packs("batch *") == code::none);
static_assert(packs("if * axis") == code::none && packs("x_y * b1") == code::none);
static_assert(packs("") == code::no_star && packs("batch embed") == code::no_star);
static_assert(packs("* *") == code::second_star && packs("batch * embed *") == code::second_star);
static_assert(packs("batch * batch") == code::duplicate_label);
static_assert(packs("_b *") == code::bad_axis_name && packs("b_ *") == code::bad_axis_name);
static_assert(packs("1b *") == code::bad_axis_name);
static_assert(packs("1 *") == code::not_in_pack && packs("() *") == code::not_in_pack);
static_assert(packs("... *") == code::not_in_pack && packs("(b) *") == code::not_in_pack);
static_assert(packs("b -> *") == code::not_in_pack && packs("b, *") == code::not_in_pack);
static_assert(packs("b* embed") == code::not_in_pack && packs("**") == code::not_in_pack);
static_assert(packs("a b c *") == code::too_few_axes && packs("a b * c") == code::too_few_axes);
static_assert(packs("batch * embed", two, wider) == code::size_mismatch);

// --- the rules about names
static_assert(packs("embed * batch") == code::names_other_axis);
static_assert(packs("batch * embed", two, other) == code::names_disagree);
static_assert(packs("batch * e", two, other) == code::none);
static_assert(packs("seq * embed") == code::names_other_axis);  // a label is an axis that would be packed

constexpr code unpacks(std::string_view pattern) { return np::bind_unpack(pattern, three).value.why.why; }
static_assert(unpacks("batch * embed") == code::none && unpacks("b * e") == code::none);
static_assert(unpacks("batch *") == code::rank_mismatch && unpacks("a b * c") == code::rank_mismatch);
static_assert(unpacks("batch * seq") == code::names_other_axis && unpacks("a b c") == code::no_star);

// --- after a mistake, nothing else is said
using nothing = decltype(nk::pack<"batch * embed">(std::declval<cls>(), nk::failed{}));
static_assert(nk::is_failed<decltype(nothing::packed)> && nothing{}.shapes.count == 2);

}  // namespace
