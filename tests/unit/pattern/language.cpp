// What einops takes and what it refuses, text by text: each verdict is that of einops 0.8.2 (pack, unpack and
// einsum included), asked on nameless axes, where the rules about names do not hold. The few differences
// meant stand apart.
#include <catch2/catch.hpp>
#include <napkin/pattern/bind.hpp>
#include <string>
#include <vector>

namespace {

namespace np = napkin::pattern;

using sizes = std::vector<std::size_t>;
struct text {
  const char* pattern;
  std::vector<sizes> operands;
  std::vector<np::given_size> given = {};
};

enum class door { rearrange, reduce, repeat, einsum, pack, unpack };

np::error verdict(door d, const text& t) {
  std::vector<std::vector<np::axis_view>> axes;
  for (const sizes& s : t.operands) {
    axes.emplace_back();
    for (const std::size_t n : s) axes.back().push_back({{}, n, {}});
  }
  const std::vector<np::operand_view> x(axes.begin(), axes.end());
  switch (d) {
    case door::rearrange:
      return np::bind_rearrange(t.pattern, x[0], t.given).why;
    case door::reduce:
      return np::bind_reduce(t.pattern, x[0], t.given).why;
    case door::repeat:
      return np::bind_repeat(t.pattern, x[0], t.given).why;
    case door::einsum:
      return np::bind_einsum(t.pattern, x, {}, t.given).why;
    case door::pack:
      return np::bind_pack(t.pattern, x).value.why;
    default:
      return np::bind_unpack(t.pattern, x[0]).value.why;
  }
}

void takes(door d, const std::vector<text>& all) {
  for (const text& t : all) {
    INFO("\"" << t.pattern << "\"");
    CHECK(verdict(d, t).why == np::code::none);
  }
}
void refuses(door d, const std::vector<text>& all) {
  for (const text& t : all) {
    INFO("\"" << t.pattern << "\"");
    const np::error why = verdict(d, t);
    CHECK(why.why != np::code::none);
    CHECK(!np::sentence(why.why).empty());
  }
}

}  // namespace

TEST_CASE("rearrange: einops's verdicts", "[pattern][language]") {
  takes(door::rearrange,
        {{"a b->b a", {{2, 3}}},
         {"  a   b  ->   b a ", {{2, 3}}},
         {"a b -> (a b)", {{2, 3}}},
         {"a(b)->b(a)", {{2, 3}}},
         {"(a)(b)->(a b)", {{2, 3}}},
         {"( a b ) -> b a", {{6}}, {{"a", 2}}},
         {"(a b) -> b a", {{6}}, {{"b", 2}}},
         {"a 1 b -> a b", {{2, 1, 3}}},
         {"a () b -> () a b 1 (1)", {{2, 1, 3}}},
         {"a (1) b -> a b", {{2, 1, 3}}},
         {"(a 1 b) -> (b 1) a", {{6}}, {{"a", 2}}},
         {"(1 1) a -> a", {{1, 3}}},
         {"01 a -> a", {{1, 3}}},
         {"... -> ...", {{2, 3}}},
         {"... -> ...", {{}}},
         {"... -> (...)", {{2, 3}}},
         {"... -> (...)", {{}}},
         {"a ... b -> (b ... a)", {{2, 3, 4}}},
         {"...->(1 ...)", {{2}}},
         {"\xe2\x80\xa6 a -> a \xe2\x80\xa6", {{2, 3}}},
         {"x_y b1 A -> A b1 x_y", {{2, 3, 4}}},
         {"a__b -> a__b", {{2}}},
         {"if for axis -> axis for if", {{2, 3, 4}}},
         {"\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac -> \xe6\x97\xa5\xe6\x9c\xac \xc3\xa9", {{2, 3}}},
         {" -> ", {{}}},
         {"->", {{}}},
         {"-> 1 ()", {{}}},
         {"a -> a", {{0}}},
         {"(a b) -> a b", {{0}}, {{"a", 2}}}});
  refuses(door::rearrange, {{"a b", {{2, 3}}},
                            {"", {{}}},
                            {"a b -> a -> b", {{2, 3}}},
                            {"a b => b a", {{2, 3}}},
                            {"a b - > b a", {{2, 3}}},
                            {"a b <- b a", {{2, 3}}},
                            {"a b -> a", {{2, 3}}},
                            {"a -> a b", {{2}}},
                            {"a -> a b", {{2}}, {{"b", 2}}},
                            {"a a -> a", {{2, 2}}},
                            {"a b -> a a b", {{2, 3}}},
                            {"(a a) -> a", {{4}}},
                            {"_a b -> b _a", {{2, 3}}},
                            {"a_ b -> b a_", {{2, 3}}},
                            {"_ b -> b _", {{2, 3}}},
                            {"__ -> __", {{2}}},
                            {"1a -> 1a", {{2}}},
                            {"2 a -> a", {{2, 3}}},
                            {"a -> a 2", {{2}}},
                            {"0 a -> a", {{0, 3}}},
                            {"1 a -> a", {{2, 3}}},
                            {"() a -> a", {{2, 3}}},
                            {"-1 a -> a", {{1, 3}}},
                            {"(a b -> a b", {{2, 3}}},
                            {"a b) -> a b", {{2, 3}}},
                            {"a b -> (a b", {{2, 3}}},
                            {"((a b)) -> a b", {{6}}, {{"a", 2}}},
                            {"(a -> b) a", {{2, 3}}},
                            {"a .. -> a ..", {{2, 3}}},
                            {"a .... -> a ....", {{2, 3}}},
                            {"a. b -> b a.", {{2, 3}}},
                            {"a... -> a...", {{2, 3}}},
                            {"a\xe2\x80\xa6 -> a\xe2\x80\xa6", {{2, 3}}},
                            {"... ... -> ...", {{2, 3}}},
                            {"... -> ... ...", {{2, 3}}},
                            {"(...) -> ...", {{2}}},
                            {"(a ...) -> a ...", {{2}}},
                            {"a -> a ...", {{2}}},
                            {"a ... -> a", {{2}}},
                            {"a, b -> b a", {{2, 3}}},
                            {"a* -> a*", {{2}}},
                            {"a' b -> b a'!", {{2, 3}}},
                            {"a-b -> a-b", {{2}}},
                            {"a\tb -> b a", {{2, 3}}},
                            {"a\nb -> b a", {{2, 3}}},
                            {"a\xc2\xb2 -> a\xc2\xb2", {{2}}},                // superscript two
                            {"\xe2\x86\x92 b -> b \xe2\x86\x92", {{2, 3}}},   // an arrow
                            {"\xe2\x80\x94 b -> b \xe2\x80\x94", {{2, 3}}},   // a dash
                            {"\xf0\x9f\x98\x80 -> \xf0\x9f\x98\x80", {{2}}},  // an emoji
                            {"a\xc2\xa0"
                             "b -> b a",
                             {{2, 3}}},  // a space that does not break
                            {"a b -> b a", {{2}}},
                            {"a b -> b a", {{2, 3, 4}}},
                            {"a ... b -> b ... a", {{2}}},
                            {"(a b) -> a b", {{6}}},
                            {"(a b) -> a b", {{6}}, {{"a", 4}}},
                            {"(a b) -> a b", {{6}}, {{"a", 2}, {"b", 2}}},
                            {"(a b) -> a b", {{6}}, {{"a", 2}, {"c", 2}}},
                            {"a b -> b a", {{2, 3}}, {{"a", 3}}}});
}

TEST_CASE("reduce: einops's verdicts", "[pattern][language]") {
  takes(door::reduce, {{"a b -> a", {{2, 3}}},
                       {"a b -> ", {{2, 3}}},
                       {"a b -> 1 ()", {{2, 3}}},
                       {"... -> ", {{2, 3}}},
                       {"... a -> a", {{2, 3}}},
                       {"a ... -> (...)", {{2, 3, 4}}},
                       {"... a -> (a ...)", {{2, 3}}},
                       {"a ... -> a", {{2}}},
                       {"a (b 2) -> a b", {{2, 6}}},
                       {"a (2 b) (3 c) 4 -> a c b", {{2, 6, 9, 4}}},
                       {"2 2 -> ", {{2, 2}}},
                       {"(2 2) -> ", {{4}}},
                       {"(a b) c -> a", {{6, 2}}, {{"b", 3}}},
                       {"(1) a -> a", {{1, 2}}}});
  refuses(door::reduce, {{"a b -> a c", {{2, 3}}},
                         {"a b -> a 2", {{2, 3}}},
                         {"a -> a ...", {{2}}},
                         {"a b -> (...)", {{2, 3}}},
                         {"(a ...) -> a", {{6}}},
                         {"a b -> a a", {{2, 3}}},
                         {"2 a -> a", {{3, 2}}},
                         {"(a 2) -> a", {{5}}},
                         {"a _b -> a", {{2, 3}}},
                         {"a b -> a_", {{2, 3}}},
                         {"a b", {{2, 3}}}});
}

TEST_CASE("repeat: einops's verdicts", "[pattern][language]") {
  takes(door::repeat, {{"a -> a b", {{2}}, {{"b", 3}}},
                       {"a -> a 3", {{2}}},
                       {"a -> 3 a 3 1", {{2}}},
                       {"a -> (3 a)", {{2}}},
                       {"a -> (a r) (2 s)", {{2}}, {{"r", 3}, {"s", 2}}},
                       {"... -> ... 2", {{2, 3}}},
                       {"... -> (2 ...)", {{2, 3}}},
                       {"-> 2 r", {{}}, {{"r", 2}}},
                       {"(a b) -> b a c", {{6}}, {{"a", 2}, {"c", 2}}},
                       {"1 a -> a 2", {{1, 3}}}});
  refuses(door::repeat, {{"a -> a b", {{2}}},
                         {"a b -> a 2", {{2, 3}}},
                         {"2 a -> a", {{2, 3}}},
                         {"(a 2) -> a", {{6}}},
                         {"a -> a 0", {{2}}},
                         {"a -> a r r", {{2}}, {{"r", 2}}},
                         {"a -> (...) a", {{2}}},
                         {"... -> 2", {{3}}},
                         {"a -> a b", {{2}}, {{"b", 3}, {"c", 2}}}});
}

TEST_CASE("einsum: einops's verdicts", "[pattern][language]") {
  takes(door::einsum, {{"a b, b c -> a c", {{2, 3}, {3, 4}}},
                       {"a b,b c->a c", {{2, 3}, {3, 4}}},
                       {"a a -> a", {{3, 3}}},
                       {"a a -> ", {{3, 3}}},
                       {"a b -> b a", {{2, 3}}},
                       {"a, b -> a b", {{2}, {3}}},
                       {", a -> a", {{}, {3}}},
                       {", -> ", {{}, {}}},
                       {"-> ", {{}}},
                       {"... a, a b -> ... b", {{5, 2, 3}, {3, 4}}},
                       {"... a, ... -> ... a", {{5, 3}, {5}}},
                       {"..., ... -> ...", {{1, 3}, {2, 3}}},
                       {"a -> ... a", {{2}}},
                       {"a ... -> a", {{2}}},
                       {"_ b -> b", {{2, 3}}},
                       {"if axis -> axis", {{2, 3}}},
                       {"a b, a b, a b, a b -> a", {{2, 3}, {2, 3}, {2, 3}, {2, 3}}}});
  refuses(door::einsum, {{"a b, b c -> a d", {{2, 3}, {3, 4}}},
                         {"a b, b c -> a c c", {{2, 3}, {3, 4}}},
                         {"a b, b c -> a -> c", {{2, 3}, {3, 4}}},
                         {"a b; b c -> a c", {{2, 3}, {3, 4}}},
                         {"a b, b c -> a, c", {{2, 3}, {3, 4}}},
                         {"a b, c d -> a", {{2, 3}}},
                         {"a b -> a", {{2, 3}, {2, 3}}},
                         {"a b, b c -> a c", {{2, 3}, {4, 4}}},
                         {"a a -> a", {{2, 3}}},
                         {"a 2 -> a", {{3, 2}}},
                         {"a ... -> a", {{2, 3}}},
                         {"... ... a -> a", {{2, 3}}},
                         {"a_ b -> b", {{2, 3}}},
                         {"a b c -> a", {{2, 3}}},
                         {"a -> a", {{2, 3}}},
                         {"..., ... -> ...", {{2, 3}, {4, 3}}}});
}

TEST_CASE("pack and unpack: einops's verdicts", "[pattern][language]") {
  takes(door::pack, {{"*", {{2, 3}, {}}},
                     {"a *", {{2, 3}, {2}}},
                     {"* a", {{3, 2}, {2}, {4, 5, 2}}},
                     {"a * b", {{2, 3}, {2, 7, 9, 3}}},
                     {"\ta\n*  b ", {{2, 3}}},
                     {"if * axis", {{2, 3}}},
                     {"x_y *", {{2}}}});
  refuses(door::pack, {{"", {{}}},
                       {"a b", {{2, 3}}},
                       {"* *", {{2, 3}}},
                       {"a * a", {{2, 2}}},
                       {"a* b", {{2, 3}}},
                       {"_a *", {{2}}},
                       {"a_ *", {{2}}},
                       {"_ *", {{2}}},
                       {"1 *", {{1}}},
                       {"2 *", {{2}}},
                       {"() *", {{1}}},
                       {"(a) *", {{2}}},
                       {"... *", {{2}}},
                       {"\xe2\x80\xa6", {{2}}},
                       {"a -> *", {{2}}},
                       {"a, *", {{2}}},
                       {"a b *", {{2}}},
                       {"a * b", {{2, 3}, {2, 4}}},
                       {"a * b", {{2, 3}, {2}}}});
  takes(door::unpack, {{"*", {{6}}}, {"a * b", {{2, 6, 3}}}, {"a *", {{2, 0}}}});
  refuses(door::unpack, {{"*", {{2, 3}}}, {"a * b", {{2, 3}}}, {"a b c", {{2, 3, 4}}}, {"a *", {{2}}}});
}

// Each is said in docs/patterns.md.
TEST_CASE("where einops and this language differ on purpose", "[pattern][language]") {
  takes(door::einsum, {{"a b, b c", {{2, 3}, {3, 4}}},  // the result left out
                       {"a (b c), (b c) d -> a d", {{2, 6}, {6, 4}}, {{"b", 2}}},
                       {"a 1, b -> (a b)", {{2, 1}, {3}}},
                       {"... a -> (...) a", {{2, 3, 4}}}});
  takes(door::rearrange, {{"a a' -> a' a", {{2, 2}}}});   // primes
  refuses(door::einsum, {{"a b, b -> a", {{2, 3}, {1}}},  // size 1 is no wildcard
                         {"(...) b -> b", {{2, 3}}}});    // there a label of its own, summed
}
