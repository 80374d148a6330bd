// The pattern language by phase, first: text to syntax, and what the text alone makes a mistake.
#include <napkin/pattern/parse.hpp>

namespace {

using namespace napkin::pattern;

constexpr code unary(std::string_view text) { return parse(text, dialect::unary).why.why; }
constexpr code einsum(std::string_view text) { return parse(text, dialect::einsum).why.why; }
constexpr int column(std::string_view text) { return parse(text, dialect::unary).why.column; }

// --- operands, axes, atoms
constexpr syntax s = parse("batch (heads  hidden) 1 ... -> ... (heads 2) () batch hidden", dialect::unary);
static_assert(!s.why && s.operands == 1 && s.has_result);
static_assert(s.side[1] - s.side[0] == 4 && s.side[2] - s.side[1] == 5);
static_assert(s.view(s.axes[1]) == "(heads  hidden)" && s.axes[1].grouped && s.axes[1].column == 6);
static_assert(s.axes[1].last - s.axes[1].first == 2);
static_assert(s.view(s.atoms[2]) == "hidden" && s.atoms[2].column == 14);
static_assert(s.atoms[3].kind == atom_kind::number && s.atoms[3].value == 1);
static_assert(s.atoms[4].kind == atom_kind::ellipsis && s.view(s.atoms[4]) == "...");
static_assert(s.axes[6].grouped && s.axes[6].first == s.axes[6].last);  // ()
static_assert(s.symbols == 3 && s.atoms[1].symbol == s.atoms[6].symbol);

constexpr syntax e = parse("b s h, b t h -> b s t", dialect::einsum);
static_assert(!e.why && e.operands == 2 && e.side[1] == 3 && e.side[2] == 6 && e.side[3] == 9);
static_assert(parse(",", dialect::einsum).operands == 2 && !parse(",", dialect::einsum).has_result);
static_assert(parse("", dialect::einsum).operands == 1);

// --- names
static_assert(unary("a_b a2 A -> A a_b a2") == code::none);
static_assert(unary("seq' seq'' -> seq'' seq'") == code::none);
static_assert(parse("seq' seq -> seq seq'", dialect::unary).symbols == 2);
static_assert(unary("\xc3\x9f x -> x \xc3\x9f") == code::none);
// letters and what may follow one are Python's: e with a combining accent, the superscript and the tone bar are not
static_assert(unary("e\xcc\x81 -> e\xcc\x81") == code::bad_axis_name);
static_assert(unary("x\xc2\xb2 -> x\xc2\xb2") == code::bad_axis_name);
static_assert(unary("\xcb\xa5 -> \xcb\xa5") == code::bad_axis_name);
static_assert(unary("x\xd9\xa3 -> x\xd9\xa3") == code::none);
static_assert(unary("\xd9\xa3x -> \xd9\xa3x") == code::bad_axis_name);
static_assert(unary("(a)(b)->(b)(a)") == code::none);
static_assert(einsum("_ a -> a _") == code::none && unary("_ a -> a _") == code::bad_axis_name);
static_assert(einsum("_a -> _a") == code::bad_axis_name);
static_assert(unary("a_ -> a_") == code::bad_axis_name && unary("2a -> 2a") == code::bad_axis_name);
static_assert(unary("a'b -> a'b") == code::bad_axis_name && unary("' -> '") == code::bad_character);
static_assert(unary("a_' -> a_'") == code::bad_axis_name && unary("2' -> 2'") == code::bad_axis_name);

// --- numbers
static_assert(unary("01 -> 1") == code::none && unary("a 00 -> a") == code::number_is_zero);
static_assert(unary("99999999999999999999 -> ") == code::number_too_large);
static_assert(unary("a -> a 2.5") == code::malformed_ellipsis);

// --- ellipses
static_assert(unary("...a -> a") == code::malformed_ellipsis &&
              unary("a... -> a") == code::malformed_ellipsis);
static_assert(unary("a .. -> a") == code::malformed_ellipsis &&
              unary(".... -> a") == code::malformed_ellipsis);
static_assert(unary("\xe2\x80\xa6 a -> \xe2\x80\xa6") == code::none);
static_assert(unary("... a ... -> a") == code::double_ellipsis);
static_assert(unary("(a ...) -> a") == code::ellipsis_in_input_group);
static_assert(unary("...->(...)") == code::none && einsum("..., ... -> ...") == code::none);

// --- punctuation
static_assert(unary("a b") == code::missing_arrow && unary("a b > b a") == code::missing_arrow);
static_assert(unary("a -> b -> c") == code::second_arrow && unary("a --> a") == code::bad_character);
static_assert(unary("((a)) -> a") == code::nested_parenthesis &&
              unary("(a -> a") == code::unbalanced_parenthesis);
static_assert(unary("a) -> a") == code::unbalanced_parenthesis &&
              unary("a -> (a") == code::unbalanced_parenthesis);
static_assert(unary("a, b -> a") == code::unexpected_comma && einsum("a -> a, b") == code::unexpected_comma);
static_assert(einsum("(a, b) -> a") == code::unbalanced_parenthesis);
static_assert(unary("a\tb -> b a") == code::bad_character && unary("a\nb -> b a") == code::bad_character);
static_assert(einsum("a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a ->") == code::none);
static_assert(einsum("a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a ->") ==
              code::too_long);

// --- where
static_assert(column("ab c$ -> c") == 4 && column("a b") == 3 && column("a b -> b (a c") == 9);
static_assert(parse("ab cd_ -> ab", dialect::unary).why.name == "cd_");

// --- every mistake has its sentence
constexpr bool all_have_sentences() {
  for (int c = 0; c <= static_cast<int>(code::factors_disagree); ++c)
    if (sentence(static_cast<code>(c)).empty()) return false;
  return true;
}
static_assert(all_have_sentences());

}  // namespace
