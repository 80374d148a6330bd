// The wording of mistakes: a change here is a change of what users read.
#include <array>
#include <catch2/catch.hpp>
#include <napkin/pattern/bind.hpp>
#include <napkin/pattern/describe.hpp>
#include <napkin/pattern/text.hpp>
#include <string>

namespace {

namespace np = napkin::pattern;

template <std::size_t N>
std::string rearranged(std::string_view pattern, const std::array<np::axis_view, N>& x,
                       std::span<const np::given_size> given = {}) {
  return std::string(np::describe("rearrange", pattern, np::bind_rearrange(pattern, x, given).why).view());
}

std::string contracted(std::string_view pattern, std::span<const np::operand_view> x) {
  return std::string(np::describe("einsum", pattern, np::bind_einsum(pattern, x).why).view());
}

constexpr np::axis_view batch{"batch", 4, {}};
constexpr np::axis_view seq{"seq", 128, {}};
constexpr np::axis_view embed{"embed", 512, {}};
constexpr np::axis_view ffn{"ffn", 2048, {}};

}  // namespace

TEST_CASE("a mistake is one sentence with the pattern, the axis and the sizes", "[pattern][describe]") {
  const std::array<np::axis_view, 1> ten{{{"", 10, {}}}};
  const np::given_size h3[] = {{"h", 3}};
  CHECK(rearranged("(h d) -> h d", ten, h3) ==
        "rearrange \"(h d) -> h d\", column 0: axis (h d) of size 10 does not divide by 3 (h)");
  CHECK(rearranged("(h d) -> h d", ten) ==
        "rearrange \"(h d) -> h d\", column 0: in (h d) of size 10 more than one size is unknown: give h");
  CHECK(rearranged("a b", ten) == "rearrange \"a b\", column 3: the pattern has no '->'");
  CHECK(rearranged("1 -> 1", ten) ==
        "rearrange \"1 -> 1\", column 0: 1 in the pattern meets an axis without a name of size 10");

  const std::array<np::axis_view, 2> x{{batch, seq}};
  CHECK(rearranged("seq batch -> batch seq", x) ==
        "rearrange \"seq batch -> batch seq\", column 0: label seq stands at axis batch but is the name of a "
        "different axis of operand 0");

  const std::array<np::axis_view, 3> activations{{batch, seq, embed}};
  const std::array<np::axis_view, 2> weight{{embed, ffn}};
  const std::array<np::operand_view, 2> both{activations, weight};
  CHECK(contracted("batch seq embd, embed ffn -> batch seq ffn", both) ==
        "einsum \"batch seq embd, embed ffn -> batch seq ffn\", column 10: embd (axis embed of operand 0) "
        "stands "
        "nowhere else and would be summed silently; did you mean embed?");
  CHECK(
      contracted("batch seq ffn, embed ffn -> batch seq", both) ==
      "einsum \"batch seq ffn, embed ffn -> batch seq\", column 21: label ffn means an axis ffn in operand 1 "
      "but not elsewhere; rename it first");
}

TEST_CASE("a message never outgrows its buffer", "[pattern][describe]") {
  const std::string longest(4000, 'a');
  const np::message m = np::describe("rearrange", longest, {.why = np::code::missing_arrow});
  CHECK(m.size() == 480);
}

TEST_CASE("a suggestion is a near name, not any name", "[pattern][describe]") {
  const auto nearest = [](std::string_view misspelt, std::initializer_list<std::string_view> names) {
    np::nearest_name n(misspelt);
    for (const std::string_view name : names) n.consider(name);
    return std::string(n.best());
  };
  CHECK(nearest("embd", {"batch", "embed", "ffn"}) == "embed");
  CHECK(nearest("bacth", {"batch", "match"}) == "batch");
  CHECK(nearest("hiddden", {"hidden", "head"}) == "hidden");
  CHECK(nearest("k", {"q", "h"}).empty());
  CHECK(nearest("vocab", {"embed", "seq"}).empty());
  CHECK(np::edit_distance("kitten", "sitting") == 3);
  CHECK(np::edit_distance("ab", "ba") == 1);
  CHECK(np::edit_distance("", "abc") == 3);
}
