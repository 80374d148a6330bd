// The pattern language by phase, second: syntax and operands to meaning. Sizes as in einops and numpy (the
// peers' corpora are in tests/unit/pattern); here the rules about names, which are the library's own.
#include <array>
#include <napkin/pattern/bind.hpp>

namespace {

using namespace napkin::pattern;
using std::string_view;

constexpr axis_view batch{"batch", 4, {}};
constexpr axis_view seq{"seq", 128, {}};
constexpr axis_view seq2{"seq'", 128, {}};
constexpr axis_view key{"key", 128, {}};
constexpr axis_view heads{"heads", 8, {}};
constexpr axis_view hidden{"hidden", 64, {}};
constexpr axis_view model{"model", 512, {}};
constexpr axis_view embed{"embed", 512, {}};
constexpr axis_view ffn{"ffn", 2048, {}};
constexpr axis_view composed{"(heads hidden)", 512, {{"heads", 8}, {"hidden", 64}}};
constexpr axis_view once_composed{"model", 512, {{"heads", 8}, {"hidden", 64}}};
constexpr axis_view nameless(std::size_t n) { return {"", n, {}}; }

template <class... Axes>
constexpr std::array<axis_view, sizeof...(Axes)> axes(const Axes&... list) {
  return {list...};
}
constexpr given_size h2[] = {{"h", 2}};
constexpr given_size micro2[] = {{"micro", 2}};

constexpr int id_of(const meaning& m, string_view name) {
  for (std::size_t i = 0; i < m.labels.size(); ++i)
    if (m.labels[i].name == name) return static_cast<int>(i);
  return -1;
}
constexpr label of(const meaning& m, string_view name) {
  return m.labels[static_cast<std::size_t>(id_of(m, name))];
}

/// The result as text, "batch:4 (heads:8 hidden:64)", compared with expected.
constexpr bool result_is(const meaning& m, string_view expected) {
  std::array<char, 200> text{};
  std::size_t n = 0;
  const auto put = [&](string_view s) {
    for (const char c : s) text[n++] = c;
  };
  const auto put_label = [&](const label& l) {
    put(l.name);
    text[n++] = ':';
    std::array<char, 20> digits{};
    std::size_t count = 0;
    std::size_t size = l.size;
    do {
      digits[count++] = static_cast<char>('0' + size % 10);
      size /= 10;
    } while (size > 0);
    while (count > 0) text[n++] = digits[--count];
  };
  if (m.why) return false;
  for (std::size_t i = 0; i < m.result.size(); ++i) {
    if (i > 0) put(" ");
    const bool group = m.result[i].size() != 1;
    if (group) put("(");
    for (std::size_t j = 0; j < m.result[i].size(); ++j) {
      if (j > 0) put(" ");
      put_label(m.labels[static_cast<std::size_t>(m.result[i][j])]);
    }
    if (group) put(")");
  }
  return string_view(text.data(), n) == expected;
}

constexpr auto x = axes(batch, seq, heads, hidden);

// --- rearrange: sizes, sources
constexpr meaning merge = bind_rearrange("batch seq heads hidden -> batch seq (heads hidden)", x);
static_assert(result_is(merge, "batch:4 seq:128 (heads:8 hidden:64)"));
static_assert(merge.size_of(merge.result[2]) == 512);
static_assert(of(merge, "heads").from == source::operand_axis && of(merge, "heads").axis == 2);
static_assert(!of(merge, "heads").alias && of(merge, "heads").in_result);

constexpr auto plain = axes(batch, seq, model);
constexpr meaning split = bind_rearrange("b s (h d) -> b h s d", plain, h2);
static_assert(result_is(split, "b:4 h:2 s:128 d:256"));
static_assert(of(split, "h").from == source::fresh && of(split, "h").operand == -1);
static_assert(of(split, "b").from == source::fresh && of(split, "b").alias && of(split, "b").operand == 0);

// --- composed axes come apart without sizes, keep their type whole, and split no other way
constexpr auto xc = axes(batch, composed);
constexpr meaning apart = bind_rearrange("batch (heads hidden) -> heads batch hidden", xc);
static_assert(result_is(apart, "heads:8 batch:4 hidden:64"));
static_assert(of(apart, "heads").from == source::operand_factor && of(apart, "heads").factor == 0);
static_assert(of(apart, "hidden").factor == 1 && of(apart, "hidden").axis == 1);
static_assert(result_is(bind_rearrange("b (h d) -> b h d", xc), "b:4 h:8 d:64"));
constexpr meaning whole = bind_rearrange("batch both -> both batch", xc);
static_assert(of(whole, "both").from == source::operand_axis && of(whole, "both").alias);
static_assert(bind_rearrange("b (h d) -> b h d", xc, h2).why.why == code::factors_disagree);
static_assert(bind_rearrange("b (x y z) -> b x y z", xc).why.why == code::factors_disagree);
static_assert(bind_rearrange("b (hidden heads) -> b hidden heads", xc).why.why == code::names_other_axis);
static_assert(bind_rearrange("heads x -> x heads", xc).why.why == code::names_other_axis);
constexpr auto xm = axes(batch, once_composed);
static_assert(result_is(bind_rearrange("b (h d) -> b h d", xm), "b:4 h:8 d:64"));
static_assert(result_is(bind_rearrange("b (h d) -> b h d", xm, h2), "b:4 h:2 d:256"));
static_assert(of(bind_rearrange("b model -> model b", xm), "model").from == source::operand_axis);
static_assert(bind_rearrange("b (hidden heads) -> b hidden heads", xm).why.why == code::names_other_axis);

// --- rule 1: a label that names a different axis
constexpr auto bs = axes(batch, seq);
constexpr meaning swapped = bind_rearrange("seq batch -> batch seq", bs);
static_assert(swapped.why.why == code::names_other_axis && swapped.why.name == "seq");
static_assert(swapped.why.other == "batch" && swapped.why.operand == 0 && swapped.why.column == 0);
static_assert(bind_rearrange("seq ... -> ... seq", bs).why.why == code::names_other_axis);
static_assert(bind_rearrange("(seq x) y -> seq x y", bs, std::array<given_size, 1>{{{"x", 2}}}).why.why ==
              code::names_other_axis);
static_assert(result_is(bind_rearrange("b s -> s b", bs), "s:128 b:4"));
// a part may keep the name of its axis
static_assert(result_is(bind_rearrange("(micro batch) seq -> micro batch seq", bs, micro2),
                        "micro:2 batch:2 seq:128"));
static_assert(result_is(bind_reduce("batch (seq 2) -> batch seq", bs), "batch:4 seq:64"));
static_assert(of(bind_reduce("batch (seq 2) -> batch seq", bs), "seq").from == source::fresh);
// nameless axes match by position only
constexpr auto unnamed = axes(nameless(4), nameless(128));
static_assert(result_is(bind_rearrange("seq batch -> batch seq", unnamed), "batch:128 seq:4"));

// --- the ellipsis keeps its axes
static_assert(result_is(bind_reduce("... hidden -> ...", x), "batch:4 seq:128 heads:8"));
static_assert(result_is(bind_rearrange("b ... -> (...) b", x), "(seq:128 heads:8 hidden:64) b:4"));
constexpr given_size seq3[] = {{"seq", 3}};
static_assert(bind_repeat("... -> ... seq", x, seq3).why.why == code::ellipsis_hides_label);

// --- repeat
constexpr given_size r3[] = {{"r", 3}};
constexpr meaning repeated = bind_repeat("batch seq -> batch (r seq) 2", bs, r3);
static_assert(result_is(repeated, "batch:4 (r:3 seq:128) :2"));
static_assert(of(repeated, "r").from == source::fresh && of(repeated, "r").operand == -1);
static_assert(bind_repeat("batch seq -> batch seq r", bs).why.why == code::new_label_without_size);

// --- what a mistake says
constexpr auto ten = axes(nameless(10));
constexpr given_size h3[] = {{"h", 3}};
constexpr error indivisible = bind_rearrange("(h d) -> h d", ten, h3).why;
static_assert(indivisible.why == code::not_divisible && indivisible.name == "(h d)" &&
              indivisible.size == 10);
static_assert(indivisible.other == "h" && indivisible.other_size == 3);
constexpr error unused = bind_rearrange("batch hiden -> hiden batch", axes(nameless(2), nameless(3)),
                                        std::array<given_size, 1>{{{"hidden", 3}}})
                             .why;
static_assert(unused.why == code::given_unknown && unused.suggestion == "hiden");
static_assert(bind_reduce("batch seq -> bacth", bs).why.suggestion == "batch");
constexpr given_size twice[] = {{"h", 2}, {"h", 4}};
static_assert(bind_rearrange("(h d) -> h d", ten, twice).why.why == code::given_twice);

// --- einsum
template <class... Operands>
constexpr meaning contract(string_view pattern, const Operands&... operands) {
  const std::array<operand_view, sizeof...(Operands)> list{operands...};
  return bind_einsum(pattern, list);
}
template <class... Operands>
constexpr code refused(string_view pattern, const Operands&... operands) {
  return contract(pattern, operands...).why.why;
}
constexpr meaning scores =
    contract("batch seq heads hidden, batch key heads hidden -> batch heads seq key", x, x);
static_assert(result_is(scores, "batch:4 heads:8 seq:128 key:128"));
static_assert(of(scores, "key").alias && of(scores, "key").operand == 1 && of(scores, "key").axis == 1);
static_assert(of(scores, "seq").from == source::operand_axis && !of(scores, "hidden").in_result);

// composed and unit axes
constexpr auto w = axes(heads, hidden, embed);
constexpr meaning out = contract("b s (heads hidden), heads hidden embed -> b s embed", plain, w);
static_assert(result_is(out, "b:4 s:128 embed:512"));
static_assert(out.operand[0][2].size() == 2 && of(out, "heads").from == source::operand_axis);
// of one that is summed as a whole the split makes no difference
constexpr meaning joint = contract("b s (h d), b s (h d) -> b s", plain, plain);
static_assert(result_is(joint, "b:4 s:128") && of(joint, "h").size == 1 && of(joint, "d").size == 512);
static_assert(result_is(contract("b s (h d), b s (h d)", plain, plain), ""));
static_assert(refused("b s (h d) -> b s", plain) == code::none);
static_assert(refused("b s (h d), b s (h d) -> b s h", plain, plain) == code::cannot_infer);
static_assert(refused("b s (h d), b s (d h) -> b s", plain, plain) == code::cannot_infer);
static_assert(refused("b s (h d), b s (h d e) -> b s", plain, plain) == code::cannot_infer);
static_assert(refused("b s (h h) -> b s", plain) == code::cannot_infer);
static_assert(refused("b s (h d), b s (h d) -> b (s h)", plain, plain) == code::cannot_infer);
static_assert(bind_rearrange("b s (h d) -> b s d h", plain).why.why == code::cannot_infer);
static_assert(result_is(contract("b 1 s, b -> s ()", axes(batch, nameless(1), seq), axes(batch)),
                        "s:128 ()"));

// rule 2: the axes of one label bear one name
constexpr auto vocab_embed = axes(axis_view{"vocab", 128, {}}, embed);
static_assert(refused("batch seq, seq embed -> batch embed", bs, vocab_embed) == code::names_disagree);
static_assert(refused("batch seq, seq embed", bs, vocab_embed) == code::names_disagree);
constexpr auto embed_ffn = axes(embed, ffn);
static_assert(refused("b s model, model ffn -> b s ffn", plain, embed_ffn) == code::names_disagree);
// an alias says on purpose that axes of two names are one, unless one of these names is a label
static_assert(refused("b s m, m f -> b s f", plain, embed_ffn) == code::none);
constexpr auto bhsk = axes(batch, heads, seq, key);
static_assert(refused("b h q k, b k h d -> b q h d", bhsk, x) == code::none);
static_assert(refused("b h seq k, b k h d -> b seq h d", bhsk, x) == code::alias_joins_label);
static_assert(refused("batch heads seq key, batch key heads hidden -> batch seq heads hidden", bhsk, x) ==
              code::names_disagree);
// a composed axis is no plain one
static_assert(refused("b model, model ffn -> b ffn", xc, axes(model, ffn)) == code::names_disagree);
static_assert(refused("b model, model ffn -> b ffn", xm, axes(model, ffn)) == code::none);
// named with nameless: by position
static_assert(of(contract("b s, s e -> b e", axes(nameless(4), nameless(128)), axes(seq, embed)), "s").alias);

// rule 3: a lone alias
constexpr error misspelt =
    contract("batch seq embd, embed ffn -> batch seq ffn", axes(batch, seq, embed), embed_ffn).why;
static_assert(misspelt.why == code::lone_alias && misspelt.name == "embd" && misspelt.suggestion == "embed");
static_assert(misspelt.operand == 0 && misspelt.other == "embed" && misspelt.column == 10);
static_assert(refused("batch seq embed, batch s -> batch seq", axes(batch, seq, embed), bs) ==
              code::lone_alias);
static_assert(refused("batch seq embed, batch key -> batch key", axes(batch, seq, embed), axes(batch, key)) ==
              code::none);  // an axis's own name says what is summed
constexpr operand_view pair[] = {x, bs};
constexpr string_view summed[] = {"t"};
static_assert(!bind_einsum("batch seq heads hidden, batch t -> batch seq heads hidden", pair, summed).why);
static_assert(bind_einsum("batch seq heads hidden, batch seq -> batch", pair, summed).why.why ==
              code::summed_unknown);
static_assert(bind_einsum("batch seq heads hidden, batch t -> t", pair, summed).why.why ==
              code::summed_in_result);
static_assert(refused("b s ->", bs) == code::none);  // of one operand: a sum, as written

// rule 4: the ellipsis aligns from the right by name, and size 1 is no wildcard between named axes
static_assert(result_is(contract("... embed, embed ffn -> ... ffn", axes(batch, seq, embed), embed_ffn),
                        "batch:4 seq:128 ffn:2048"));
static_assert(refused("... embed, ... embed -> ...", axes(batch, seq, embed), axes(seq, batch, embed)) ==
              code::ellipsis_names_disagree);
constexpr auto one_batch = axes(axis_view{"batch", 1, {}}, embed);
static_assert(refused("... embed, ... embed -> ...", axes(batch, embed), one_batch) ==
              code::ellipsis_sizes_disagree);
constexpr meaning stretched = contract("... e, ... e -> ...", axes(nameless(1), embed), axes(batch, embed));
static_assert(result_is(stretched, "batch:4") && stretched.operand[0][0].empty());
static_assert(stretched.labels[static_cast<std::size_t>(id_of(stretched, "batch"))].operand == 1);
static_assert(refused("... a, seq a -> ... seq", axes(seq, embed), axes(seq, embed)) ==
              code::ellipsis_hides_label);
static_assert(refused("... e -> e", axes(batch, embed)) == code::ellipsis_only_in_input);

// a diagonal needs equal sizes, whatever the names
static_assert(result_is(contract("seq seq -> seq", axes(seq, seq2)), "seq:128"));
static_assert(result_is(contract("i i -> i", axes(seq, key)), "i:128"));
static_assert(refused("i i -> i", bs) == code::size_mismatch);
static_assert(bind_rearrange("seq seq' -> seq' seq", axes(seq, seq2)).why.why == code::none);

// numpy's order without a result
static_assert(result_is(contract("b ... a, a C -> ... C b", axes(nameless(2), nameless(3), nameless(4)),
                                 axes(nameless(4), nameless(5))),
                        ":3 C:5 b:2"));
static_assert(result_is(contract("b ... a, a C", axes(nameless(2), nameless(3), nameless(4)),
                                 axes(nameless(4), nameless(5))),
                        ":3 C:5 b:2"));
constexpr auto batch_only = axes(batch);
static_assert(refused(",", batch_only) == code::operand_count);

}  // namespace
