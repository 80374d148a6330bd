// Axes: extents, names, composition, and comparison by name and extent.
#include "napkin/core/dim.hpp"

#include <concepts>

namespace nk = napkin;

namespace {

struct batch : nk::dim<"batch", nk::up_to<64>> {};
struct seq : nk::dim<"seq", 128> {};
struct heads : nk::dim<"heads", 8> {};
struct hidden : nk::dim<"hidden", 64> {};
struct other_seq : nk::dim<"seq", 128> {};
struct long_seq : nk::dim<"seq", 256> {};

// An integer of any type makes the same axis.
static_assert(std::same_as<nk::dim<"a", 4>, nk::dim<"a", 4ul>>);
static_assert(std::same_as<nk::dim<"a", 4>, nk::dim<"a", short{4}>>);
static_assert(!std::same_as<nk::dim<"a", 4>, nk::dim<"a", nk::up_to<4>>>);
static_assert(!std::same_as<nk::dim<"a", 4>, nk::dim<"b", 4>>);
static_assert(!std::convertible_to<bool, nk::extent>);

template <long long Value>
concept MakesAnAxis = requires {
  typename nk::unnamed<nk::extent(Value)>;
};
static_assert(MakesAnAxis<0> && MakesAnAxis<7>);
static_assert(!MakesAnAxis<-1>);

static_assert(nk::Axis<seq> && nk::Axis<batch> && nk::Axis<nk::product<seq, heads>> &&
              nk::Axis<nk::unnamed<3>>);
static_assert(!nk::Axis<int> && !nk::Axis<nk::axes<seq>>);

static_assert(seq::name.view() == "seq" && seq::size == 128 && !seq::dynamic);
static_assert(batch::size == 64 && batch::dynamic);
static_assert(nk::unnamed<3>::name.view().empty() && nk::unnamed<3>::size == 3);

// The second copy of an axis.
static_assert(nk::primed<seq>::name.view() == "seq'" && nk::primed<seq>::size == 128);
static_assert(nk::primed<nk::primed<seq>>::name.view() == "seq''");
static_assert(nk::primed<batch>::dynamic);
static_assert(nk::same_axis<nk::primed<seq>, nk::dim<"seq'", 128>>);
static_assert(!nk::same_axis<nk::primed<seq>, seq>);
static_assert(nk::same_axis<nk::primed<nk::product<heads, hidden>>,
                            nk::product<nk::primed<heads>, nk::primed<hidden>>>);
static_assert(nk::primed<nk::product_as<"model", heads, hidden>>::name.view() == "model'");

// Composed axes.
using both = nk::product<heads, hidden>;
static_assert(both::name.view() == "(heads hidden)" && both::size == 512 && !both::dynamic);
static_assert(std::same_as<both::factors, nk::axes<heads, hidden>>);
static_assert(nk::product<seq, both>::name.view() == "(seq (heads hidden))");
static_assert(nk::product<seq, nk::unnamed<20>, nk::unnamed<1>>::name.view() == "(seq 20 1)");
static_assert(nk::product<batch, seq>::dynamic && nk::product<batch, seq>::size == 64 * 128);
static_assert(nk::product<>::name.view() == "()" && nk::product<>::size == 1 && !nk::product<>::dynamic);
static_assert(nk::product_as<"model", heads, hidden>::name.view() == "model");
static_assert(nk::product_as<"model", heads, hidden>::size == 512);
static_assert(std::same_as<nk::product_as<"model", heads, hidden>::factors, nk::axes<heads, hidden>>);

// What is the same axis: name and extent, not the type; of a composed name, the factors too.
static_assert(nk::same_axis<seq, other_seq> && nk::same_axis<seq, nk::dim<"seq", 128>>);
static_assert(!nk::same_axis<seq, long_seq>);
static_assert(!nk::same_axis<nk::dim<"batch", 64>, batch>);
static_assert(!nk::same_axis<both, nk::dim<"model", 512>>);
static_assert(nk::same_axis<nk::product_as<"model", heads, hidden>, nk::dim<"model", 512>>);
static_assert(!nk::same_axis<both, nk::product<nk::dim<"heads", 4>, nk::dim<"hidden", 128>>>);
static_assert(nk::same_axis<both, nk::product<nk::dim<"heads", 8>, nk::dim<"hidden", 64>>>);
static_assert(nk::same_axis<nk::unnamed<2>, nk::unnamed<2>> &&
              !nk::same_axis<nk::unnamed<2>, nk::unnamed<3>>);
static_assert(nk::same_axes<nk::axes<seq, heads>, nk::axes<other_seq, heads>>);
static_assert(!nk::same_axes<nk::axes<seq, heads>, nk::axes<heads, seq>>);
static_assert(!nk::same_axes<nk::axes<seq>, nk::axes<seq, heads>>);
static_assert(nk::same_axes<nk::axes<>, nk::axes<>>);

// Lists.
static_assert(nk::axis_index<"heads", seq, heads, hidden> == 1);
static_assert(nk::axis_index<"model", seq, heads, hidden> == -1);
static_assert(nk::axis_index<"(heads hidden)", seq, both> == 1);
static_assert(nk::axis_index<"seq"> == -1);
static_assert(nk::total_size<seq, heads> == 1024 && nk::total_size<> == 1);
static_assert(nk::total_size<nk::dim<"none", 0>, seq> == 0);
static_assert(nk::all_names_distinct<seq, heads, nk::primed<seq>>);
static_assert(!nk::all_names_distinct<seq, heads, long_seq>);
static_assert(nk::all_names_distinct<nk::unnamed<1>, seq, nk::unnamed<1>>);
static_assert(nk::any_dynamic<seq, batch> && !nk::any_dynamic<seq> && !nk::any_dynamic<>);
static_assert(nk::axes<seq, heads>::rank == 2);

// Names.
static_assert(nk::detail::is_axis_name("head_dim2") && nk::detail::is_axis_name("seq''"));
static_assert(!nk::detail::is_axis_name("") && !nk::detail::is_axis_name("2d") &&
              !nk::detail::is_axis_name("a b"));
static_assert(!nk::detail::is_axis_name("'") && !nk::detail::is_axis_name("(a)"));

}  // namespace
