// Attention found in a graph and made one operation: the same values and the same gradients as of what it was
// made of, in every form that models write; and left alone where it is something else.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "napkin/cost/flops.hpp"
#include "napkin/passes/differentiate.hpp"
#include "napkin/passes/find_attention.hpp"
#include "napkin/passes/interpret.hpp"
#include "napkin/passes/precision.hpp"
#include "napkin/passes/print.hpp"
#include "napkin/passes/verify.hpp"
#include "support/random_graph.hpp"

namespace nk = napkin;
using nk::builder;
using nk::dtype;
using nk::op;
using nk::shape;
using nk::passes::attention_choice;
using nk::passes::attention_fit;

namespace {

struct all_fit {
  constexpr attention_fit operator()(const nk::row::attention_form&, dtype) const {
    return attention_fit::fits;
  }
};

int count(const nk::graph& g, op kind) {
  int n = 0;
  for (const nk::node& x : g.nodes) n += x.kind == kind;
  return n;
}

/// An attention as models write it, over axes by number: of q (batch, query, head, group, hidden), of k and v
/// (batch, key, head, hidden); the output lies as q does.
struct written {
  std::size_t batch = 2, queries = 5, keys = 5, heads = 2, group = 3, hidden = 4, value = 4;
  bool causal = true, turned = false;  // turned: keys come first in the first product
  double scale = 0.4, hidden_score = -1e30;
  dtype type = dtype::f64;
  std::vector<dtype> through{};  // what the scores are cast to, and back
  // A mask, of these axes of (batch, head, group, query, key), of f32 or b8; how far a causal query sees.
  enum { none, adds, shows } mask = none;
  std::vector<std::int32_t> mask_axes{};
  dtype mask_type = dtype::f64;
  std::int32_t window = 0;
  enum {
    together,
    within,
    around
  } said = together;  // shown and seen: by `and`, or one where within the other

  int masked(builder& b, int x, int m) const {
    const shape s = b.shape_of(x);
    std::int32_t map[] = {-1, -1, -1, -1, -1};
    for (std::size_t i = 0; i < mask_axes.size(); ++i) map[mask_axes[i]] = static_cast<std::int32_t>(i);
    if (mask == adds) x = b.add(b.expand(b.cast(m, type), s, map), x);
    const shape of_pairs{queries, keys};
    const std::int32_t pairs[] = {-1, -1, -1, 0, 1};
    const int i = b.iota(0, dtype::i32, of_pairs), j = b.iota(1, dtype::i32, of_pairs);
    int seen = causal ? b.expand(b.binary(op::less_equal, j, i), s, pairs) : -1;
    if (window > 0)
      seen = b.binary(
          op::logical_and, seen,
          b.expand(b.binary(op::less, b.sub(i, j), b.constant(window, dtype::i32, of_pairs)), s, pairs));
    const int shown = mask == shows ? b.expand(m, s, map) : -1;
    const auto where = [&](int condition, int scores) {
      return condition < 0 ? scores : b.select(condition, scores, b.constant(hidden_score, type, s));
    };
    if (said == within) return where(seen, where(shown, x));
    if (said == around) return where(shown, where(seen, x));
    return where(seen < 0 ? shown : shown < 0 ? seen : b.binary(op::logical_and, seen, shown), x);
  }
  shape mask_shape() const {
    const shape all{batch, heads, group, queries, keys};
    shape s;
    for (const std::int32_t a : mask_axes) s.push_back(all[static_cast<std::size_t>(a)]);
    return s;
  }

  /// The output; `keep`: weights are an output too.
  int emit(builder& b, bool keep = false) const {
    constexpr std::int32_t n = 0, i = 1, h = 2, r = 3, d = 4, j = 5, w = 6;
    const int q = b.input(0, type, {batch, queries, heads, group, hidden}),
              k = b.input(1, type, {batch, keys, heads, hidden}),
              v = b.input(2, type, {batch, keys, heads, value});
    const std::int32_t inner[] = {n, i, h, r, d, n, j, h, d}, swapped[] = {n, j, h, d, n, i, h, r, d},
                       of_scores[] = {n, h, r, i, j}, outer[] = {n, h, r, i, j, n, j, h, w},
                       of_output[] = {n, i, h, r, w};
    const std::int32_t qk[] = {q, k}, kq[] = {k, q};
    int x = turned ? b.einsum(kq, swapped, of_scores) : b.einsum(qk, inner, of_scores);
    const shape s = b.shape_of(x);
    for (const dtype t : through) x = b.cast(b.cast(x, t), type);
    if (scale != 1) x = b.scale(x, scale);
    if (mask != none || window > 0) {
      x = masked(b, x, mask != none ? b.input(4, mask == shows ? dtype::b8 : mask_type, mask_shape()) : -1);
    } else if (causal) {
      const int seen = b.binary(op::less_equal, b.iota(4, dtype::i32, s), b.iota(3, dtype::i32, s));
      x = b.select(seen, x, b.constant(hidden_score, type, s));
    }
    const std::int32_t last[] = {4}, along[] = {0, 1, 2, 3, -1};
    const int most = b.unary(op::stop_gradient, b.reduce(op::max, x, last));
    const int e = b.unary(op::exp, b.sub(x, b.expand(most, s, along)));
    const int p = b.div(e, b.expand(b.reduce(op::sum, e, last), s, along));
    if (keep) b.output(p);
    const std::int32_t pv[] = {p, v};
    return b.einsum(pv, outer, of_output);
  }
  /// With a loss of it that no symmetry makes small.
  nk::graph loss() const {
    builder b;
    b.simplify = true;
    const int y = emit(b);
    const shape s = b.shape_of(y);
    const std::int32_t all[] = {0, 1, 2, 3, 4};
    const int weights = b.input(3, type, s);
    b.output(b.reduce(op::sum, b.mul(b.unary(op::sin, y), weights), all));
    return b.take();
  }
};

std::vector<std::vector<double>> draw(const nk::graph_view& g, std::uint64_t seed) {
  nk::testing::random_source random(seed);
  std::vector<std::vector<double>> inputs(5);
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    if (g[id].kind == op::input)
      for (std::size_t n = nk::numel(g.shape_of(id)); n > 0; --n)
        inputs[static_cast<std::size_t>(g.attribute(id, 0))].push_back(
            g[id].type == dtype::b8 ? random.chance(0.6) : random.uniform(-2, 2));
  return inputs;
}

double largest_difference(const std::vector<std::vector<double>>& x,
                          const std::vector<std::vector<double>>& y) {
  REQUIRE(x.size() == y.size());
  double largest = 0;
  for (std::size_t o = 0; o < x.size(); ++o) {
    REQUIRE(x[o].size() == y[o].size());
    for (std::size_t i = 0; i < x[o].size(); ++i) {
      const double off = std::fabs(x[o][i] - y[o][i]);
      if (!(off <= largest)) largest = off;
      if (off != off) return off;
    }
  }
  return largest;
}

std::vector<written> forms() {
  std::vector<written> all;
  all.push_back({});
  all.push_back({.causal = false});
  all.push_back({.group = 1, .turned = true});
  all.push_back({.batch = 1, .queries = 7, .keys = 4, .value = 3});              // rows that see all keys
  all.push_back({.queries = 3, .keys = 6, .causal = false, .scale = 1});         // nothing scales
  all.push_back({.queries = 1, .keys = 9, .heads = 1, .group = 2, .value = 1});  // one query
  all.push_back({.queries = 6, .keys = 6, .hidden = 1, .scale = -0.3});          // a scale below 0
  return all;
}

}  // namespace

TEST_CASE("attention as one operation has the values and gradients of what it was made of") {
  std::uint64_t seed = 1;
  for (const written& form : forms()) {
    const nk::graph plain = form.loss();
    attention_choice choice;
    const nk::graph fused = nk::passes::find_attention(plain.view(), all_fit{}, &choice);
    INFO(nk::to_string(fused.view()));
    REQUIRE(nk::passes::verify(fused.view()).sentence == "");
    CHECK(choice == attention_choice{1, 0, attention_fit::fits});
    CHECK(count(fused, op::attention) == 1);
    CHECK(count(fused, op::einsum) + count(fused, op::exp) + count(fused, op::select) == 0);
    const std::int32_t wanted[] = {0, 1, 2};
    const nk::graph with = nk::passes::differentiate(fused.view(), wanted),
                    without = nk::passes::differentiate(plain.view(), wanted);
    REQUIRE(nk::passes::verify(with.view()).sentence == "");
    CHECK(count(with, op::attention_backward) == 3);
    CHECK(count(with, op::attention) == 2);
    const std::vector<std::vector<double>> in = draw(plain.view(), seed++);
    CHECK(largest_difference(nk::interpret(with.view(), in, nk::rounding::none),
                             nk::interpret(without.view(), in, nk::rounding::none)) < 1e-12);
  }
}

// Of its roundings one operation has its own; a cast to fewer bits is arithmetic.
TEST_CASE(
    "scores that are rounded to 16 bits are attention's, of whole numbers, truths and 8 bits they are not") {
  for (const dtype through : {dtype::f32, dtype::bf16, dtype::f16})
    CHECK(count(nk::passes::find_attention(written{.through = {through}}.loss().view(), all_fit{}),
                op::attention) == 1);
  for (const dtype through : {dtype::i32, dtype::u8, dtype::b8, dtype::f8e4m3, dtype::f8e5m2}) {
    attention_choice choice;
    const nk::graph plain = written{.through = {through}}.loss();
    const nk::graph same = nk::passes::find_attention(plain.view(), all_fit{}, &choice);
    CHECK(count(same, op::attention) == 0);
    CHECK(choice.fused == 0);
  }
}

// ---- masks

namespace {

constexpr std::int32_t first_three[] = {0, 1, 2};

/// Of q, k and v: a mask is an input too, and others.
nk::graph fused_of(const nk::graph& plain, attention_choice* choice = nullptr) {
  return nk::passes::find_attention(plain.view(), all_fit{}, first_three, choice);
}

/// Numbers that are none in both are equal; how many.
std::size_t check_same(const std::vector<std::vector<double>>& x, const std::vector<std::vector<double>>& y) {
  REQUIRE(x.size() == y.size());
  std::size_t without = 0;
  bool same = true;
  for (std::size_t o = 0; o < x.size(); ++o) {
    REQUIRE(x[o].size() == y[o].size());
    for (std::size_t i = 0; i < x[o].size(); ++i) {
      const bool none = x[o][i] != x[o][i];
      without += none;
      same = same && (none ? y[o][i] != y[o][i] : std::fabs(x[o][i] - y[o][i]) < 1e-12);
    }
  }
  CHECK(same);
  return without;
}

/// The loss and the gradients, as one operation and as products, with a mask of these numbers. Returns how
/// many of them are none.
std::size_t check_masked(const written& form, const std::vector<double>& mask, std::uint64_t seed) {
  const nk::graph plain = form.loss();
  attention_choice choice;
  const nk::graph fused = fused_of(plain, &choice);
  INFO(nk::to_string(fused.view()));
  REQUIRE(nk::passes::verify(fused.view()).sentence == "");
  CHECK(choice == attention_choice{1, 0, attention_fit::fits});
  CHECK(count(fused, op::einsum) + count(fused, op::exp) + count(fused, op::select) == 0);
  const nk::graph with = nk::passes::differentiate(fused.view(), first_three),
                  without = nk::passes::differentiate(plain.view(), first_three);
  REQUIRE(nk::passes::verify(with.view()).sentence == "");
  CHECK(count(with, op::attention_backward) == 3);
  std::vector<std::vector<double>> in = draw(plain.view(), seed);
  if (!mask.empty()) {
    REQUIRE(mask.size() == in[4].size());
    in[4] = mask;
  }
  return check_same(nk::interpret(with.view(), in, nk::rounding::none),
                    nk::interpret(without.view(), in, nk::rounding::none));
}

constexpr double endless = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("masked attention as one operation has the values and gradients of what it was made of") {
  std::uint64_t seed = 100;
  const std::vector<std::vector<std::int32_t>> axes = {{3, 4}, {0, 4}, {1, 2, 3, 4}, {0, 1, 2, 3, 4},
                                                       {4, 0}, {4},    {3},          {2, 4, 1}};
  for (const auto& of : axes)
    for (const bool causal : {false, true})
      for (const auto mask : {written::adds, written::shows})
        for (const auto said : {written::together, written::within, written::around}) {
          if (said != written::together && !(causal && mask == written::shows)) continue;
          CAPTURE(of, causal, mask, said);
          CHECK(check_masked({.causal = causal, .mask = mask, .mask_axes = of, .said = said}, {}, seed++) ==
                0);
        }
  const written far{.queries = 9, .keys = 7, .mask = written::shows, .mask_axes = {0, 4}, .window = 3};
  CHECK(check_masked(far, {}, seed++) == 0);
  CHECK(check_masked({.group = 1, .turned = true, .mask = written::adds, .mask_axes = {3, 4}}, {}, seed++) ==
        0);
}

TEST_CASE("a query that sees no key has what the graph gives it") {
  // (batch, key): all keys of the first sequence are hidden, and the second's last
  const std::vector<double> shown{0, 0, 0, 0, 0, 1, 1, 1, 1, 0};
  // (query, key): the second and the last query's, and beyond the diagonal
  std::vector<double> hides(25, 0.25), lowers;
  for (const std::size_t i : {std::size_t{1}, std::size_t{4}})
    for (std::size_t j = 0; j < 5; ++j) hides[5 * i + j] = -endless;
  constexpr double far = -0x1p100;  // in f64 too an f32's number
  for (const double x : hides) lowers.push_back(x < 0 ? far : x);
  for (const bool causal : {false, true})
    for (const double hidden : {far, -1e9, -endless})
      for (const auto said : {written::together, written::within, written::around}) {
        CAPTURE(causal, hidden, said);
        written form{.causal = causal,
                     .hidden_score = hidden,
                     .mask = written::shows,
                     .mask_axes = {0, 4},
                     .said = said};
        CHECK((check_masked(form, shown, 7) > 0) == (hidden == -endless));
        form.mask = written::adds;
        form.mask_axes = {3, 4};
        // What the mask has hidden lies below what positions hide, unless that is -infinity too. Positions
        // hide nothing from the last query.
        CHECK(check_masked(form, hides, 8) > 0);
        CHECK(check_masked(form, lowers, 9) == 0);
      }
  // Windows: no position hides all keys, the mask does.
  written form{.hidden_score = -1e30, .mask = written::shows, .mask_axes = {0, 4}, .window = 2};
  CHECK(check_masked(form, shown, 10) == 0);
}

TEST_CASE("a window is recognised by its positions") {
  const written form{.queries = 7, .keys = 7, .window = 3};
  const nk::graph fused = fused_of(form.loss());
  REQUIRE(count(fused, op::attention) == 1);
  for (int id = 0; id < static_cast<int>(fused.nodes.size()); ++id)
    if (fused.nodes[static_cast<std::size_t>(id)].kind == op::attention) {
      const nk::row::attention_form f(fused.view(), id);
      CHECK(f.causal);
      CHECK(f.window == 3);
      CHECK_FALSE(f.is_masked());
    }
  CHECK(count(fused, op::iota) == 0);
  CHECK(check_masked(form, {}, 3) == 0);
  CHECK(check_masked({.queries = 6, .keys = 5, .window = 2}, {}, 4) == 0);
  CHECK(check_masked({.window = 5}, {}, 5) == 0);  // as far as there are keys: causal

  // Said in other words, or of other positions, which are a tensor then.
  struct spelling {
    int (*condition)(builder& b, int i, int j);
    std::size_t window;
    bool is_tensor;
  };
  const spelling all[] = {{[](builder& b, int i, int j) {  // i < j + 3
                             return b.binary(op::less, i, b.add(j, b.constant(3, dtype::i32, b.shape_of(j))));
                           },
                           3, false},
                          {[](builder& b, int i, int j) {  // not i - 3 >= j
                             const int back = b.sub(i, b.constant(3, dtype::i32, b.shape_of(i)));
                             return b.unary(op::logical_not, b.binary(op::less_equal, j, back));
                           },
                           3, false},
                          {[](builder& b, int i, int j) {  // |i - j| <= 2
                             return b.binary(op::less_equal, b.unary(op::abs, b.sub(i, j)),
                                             b.constant(2, dtype::i32, b.shape_of(i)));
                           },
                           3, false},
                          {[](builder& b, int i, int j) {  // 2 j >= i: no window
                             return b.binary(op::less_equal, i, b.add(j, j));
                           },
                           0, true},
                          {[](builder& b, int i, int j) {  // but not itself
                             return b.unary(op::logical_not, b.binary(op::equal, i, j));
                           },
                           0, true}};
  for (const spelling& one : all) {
    builder b;
    const shape qs{7, 4}, scores{7, 7};
    const std::int32_t q = b.input(0, dtype::f64, qs), k = b.input(1, dtype::f64, qs),
                       v = b.input(2, dtype::f64, qs), qk[] = {q, k}, inner[] = {0, 1, 2, 1}, to[] = {0, 2};
    const int x = b.einsum(qk, inner, to), i = b.iota(0, dtype::i32, scores),
              j = b.iota(1, dtype::i32, scores);
    const int seen = b.binary(op::logical_and, one.condition(b, i, j), b.binary(op::less_equal, j, i));
    const int y = b.select(seen, x, b.constant(-endless, dtype::f64, scores));
    const std::int32_t last[] = {1}, along[] = {0, -1};
    const int e = b.unary(op::exp, b.sub(y, b.expand(b.reduce(op::max, y, last), scores, along)));
    const std::int32_t p = b.div(e, b.expand(b.reduce(op::sum, e, last), scores, along)), pv[] = {p, v},
                       outer[] = {0, 2, 2, 1}, of[] = {0, 1};
    b.output(b.einsum(pv, outer, of));
    const nk::graph plain = b.take(), made = fused_of(plain);
    INFO(nk::to_string(made.view()));
    REQUIRE(count(made, op::attention) == 1);
    REQUIRE(nk::passes::verify(made.view()).sentence == "");
    for (int id = 0; id < static_cast<int>(made.nodes.size()); ++id)
      if (made.nodes[static_cast<std::size_t>(id)].kind == op::attention) {
        const nk::row::attention_form f(made.view(), id);
        CHECK(f.causal);
        CHECK(f.window == one.window);
        CHECK(f.is_masked() == one.is_tensor);
      }
    const std::vector<std::vector<double>> data = draw(plain.view(), 12);
    const std::size_t without = check_same(nk::interpret(made.view(), data, nk::rounding::none),
                                           nk::interpret(plain.view(), data, nk::rounding::none));
    CHECK((without > 0) == (&one == &all[4]));  // the first query sees itself alone
  }
}

TEST_CASE("masks that are not one operation's leave the products") {
  const auto choice_of = [](const nk::graph& plain, nk::ids wanted) {
    attention_choice choice;
    const nk::graph same = nk::passes::find_attention(plain.view(), all_fit{}, wanted, &choice);
    CHECK(count(same, op::attention) == choice.fused);
    return choice;
  };
  const written bias{.mask = written::adds, .mask_axes = {1, 2, 3, 4}};
  const nk::graph learned = bias.loss();
  std::int32_t mask = -1;
  for (int id = 0; id < static_cast<int>(learned.nodes.size()); ++id)
    if (learned.nodes[static_cast<std::size_t>(id)].kind == op::input && learned.view().attribute(id, 0) == 4)
      mask = id;
  const std::int32_t with_mask[] = {0, 1, 2, mask};
  CHECK(choice_of(learned, with_mask) == attention_choice{0, 1, attention_fit::mask_needs_gradient});
  CHECK(choice_of(learned, first_three) == attention_choice{1, 0, attention_fit::fits});
  attention_choice unsaid;  // whose gradients will be asked: perhaps the mask's
  (void)nk::passes::find_attention(learned.view(), all_fit{}, &unsaid);
  CHECK(unsaid == attention_choice{0, 1, attention_fit::mask_needs_gradient});
  CHECK(nk::passes::name_of(attention_fit::mask_needs_gradient) == "a mask needs a gradient");

  const auto left = [&](auto&& edit) {
    builder b;
    const shape s{3, 3};
    const std::int32_t q = b.input(0, dtype::f64, s), k = b.input(1, dtype::f64, s),
                       v = b.input(2, dtype::f64, s), qk[] = {q, k}, inner[] = {0, 1, 2, 1}, to[] = {0, 2};
    const int y = edit(b, b.einsum(qk, inner, to), b.input(3, dtype::f64, s), b.input(4, dtype::b8, s));
    const std::int32_t last[] = {1}, along[] = {0, -1};
    const int e = b.unary(op::exp, b.sub(y, b.expand(b.reduce(op::max, y, last), s, along)));
    const std::int32_t p = b.div(e, b.expand(b.reduce(op::sum, e, last), s, along)), pv[] = {p, v},
                       outer[] = {0, 2, 2, 1}, of[] = {0, 1};
    b.output(b.einsum(pv, outer, of));
    const attention_choice choice = choice_of(b.take(), first_three);
    CHECK(choice.unfused == 0);
    return choice.fused == 0;
  };
  const auto far = [](builder& b, double x = -1e30) { return b.constant(x, dtype::f64, {3, 3}); };
  CHECK_FALSE(left([&](builder& b, int x, int m, int) { return b.add(x, m); }));
  CHECK_FALSE(left([&](builder& b, int x, int, int c) { return b.select(c, x, far(b)); }));
  // two that add; one that is scaled with the scores; what hides is added to, or is hidden where true
  CHECK(left([&](builder& b, int x, int m, int) { return b.add(b.add(x, m), b.unary(op::sin, m)); }));
  CHECK(left([&](builder& b, int x, int m, int) { return b.scale(b.add(x, m), 0.5); }));
  CHECK(left([&](builder& b, int x, int m, int c) { return b.add(b.select(c, x, far(b)), m); }));
  CHECK(left([&](builder& b, int x, int, int c) { return b.select(c, far(b), x); }));
  // different numbers hide; one hides little; a number is added
  CHECK(left(
      [&](builder& b, int x, int, int c) { return b.select(c, b.select(c, x, far(b)), far(b, -1e20)); }));
  CHECK(left([&](builder& b, int x, int, int c) { return b.select(c, x, far(b, -100)); }));
  CHECK(left([&](builder& b, int x, int, int) { return b.add(x, far(b, 1)); }));
}

TEST_CASE("masked attention is found in narrow dtypes, between casts") {
  for (const auto mask : {written::adds, written::shows})
    for (const dtype narrow : {dtype::bf16, dtype::f16}) {
      written form{.type = dtype::f32, .mask = mask, .mask_axes = {1, 3, 4}, .mask_type = dtype::f32};
      const nk::graph plain = form.loss();
      const nk::graph loss = nk::passes::compute_narrow(plain.view(), narrow), fused = fused_of(loss);
      INFO(nk::to_string(loss.view()));
      REQUIRE(nk::passes::verify(fused.view()).sentence == "");
      REQUIRE(count(fused, op::attention) == 1);
      CHECK(count(fused, op::einsum) == 0);
      const nk::graph with =
                          nk::passes::keep_narrow(nk::passes::differentiate(fused.view(), first_three).view(),
                                                  fused.nodes.size(), narrow),
                      without = nk::passes::differentiate(plain.view(), first_three);
      REQUIRE(nk::passes::verify(with.view()).sentence == "");
      const std::vector<std::vector<double>> in = draw(plain.view(), 9);
      CHECK(largest_difference(nk::interpret(with.view(), in, nk::rounding::as_typed),
                               nk::interpret(without.view(), in, nk::rounding::none)) < 0.25);
    }
}

TEST_CASE("scores beyond what exp bears are no attention's end") {
  written form;
  form.scale = 600;
  const nk::graph plain = form.loss(), fused = nk::passes::find_attention(plain.view(), all_fit{});
  REQUIRE(count(fused, op::attention) == 1);
  const std::vector<std::vector<double>> in = draw(plain.view(), 77);
  const auto x = nk::interpret(fused.view(), in, nk::rounding::none),
             y = nk::interpret(plain.view(), in, nk::rounding::none);
  CHECK(std::fabs(y[0][0]) < 1e3);
  CHECK(largest_difference(x, y) < 1e-9);
}

TEST_CASE("attention is found in narrow dtypes, between casts") {
  written form;
  form.type = dtype::f32;
  const nk::graph plain = form.loss();
  for (const dtype narrow : {dtype::bf16, dtype::f16}) {
    const nk::graph loss = nk::passes::compute_narrow(plain.view(), narrow);
    const nk::graph fused = nk::passes::find_attention(loss.view(), all_fit{});
    INFO(nk::to_string(loss.view()));
    REQUIRE(nk::passes::verify(fused.view()).sentence == "");
    REQUIRE(count(fused, op::attention) == 1);
    CHECK(count(fused, op::einsum) == 0);
    for (const nk::node& n : fused.nodes)
      if (n.kind == op::attention) CHECK(n.type == narrow);
    const std::int32_t wanted[] = {0, 1, 2};
    const nk::graph with = nk::passes::keep_narrow(nk::passes::differentiate(fused.view(), wanted).view(),
                                                   fused.nodes.size(), narrow),
                    without = nk::passes::differentiate(plain.view(), wanted);
    REQUIRE(nk::passes::verify(with.view()).sentence == "");
    const std::vector<std::vector<double>> in = draw(plain.view(), 9);
    CHECK(largest_difference(nk::interpret(with.view(), in, nk::rounding::as_typed),
                             nk::interpret(without.view(), in, nk::rounding::none)) < 0.25);
  }
}

TEST_CASE("what is not attention alone stays as it is") {
  const auto left = [](const nk::graph& g) {
    const nk::graph same = nk::passes::find_attention(g.view(), all_fit{});
    return count(same, op::attention) == 0 && nk::to_string(same.view()) == nk::to_string(g.view());
  };
  {  // weights are a result
    builder b;
    const int y = written{}.emit(b, true);
    b.output(y);
    CHECK(left(b.take()));
  }
  {  // hidden scores are not hidden: a mask that adds little
    builder b;
    b.output(written{.hidden_score = -5}.emit(b));
    CHECK(left(b.take()));
  }
  {  // the same, hidden
    builder b;
    b.output(written{}.emit(b));
    CHECK(!left(b.take()));
  }
  {  // a backend that has no kernel says so
    const nk::graph plain = written{}.loss();
    attention_choice choice;
    const nk::graph same = nk::passes::find_attention(
        plain.view(),
        [](const nk::row::attention_form& f, dtype) {
          return f.size[nk::row::attention_form::hidden] > 2 ? attention_fit::no_kernel_for_dtype
                                                             : attention_fit::fits;
        },
        &choice);
    CHECK(choice == attention_choice{0, 1, attention_fit::no_kernel_for_dtype});
    CHECK(nk::to_string(same.view()) == nk::to_string(plain.view()));
  }
}

TEST_CASE("an attention's flops are those of visible pairs") {
  builder b;
  const written form{.queries = 7, .keys = 5, .value = 3};
  b.output(form.emit(b));
  const nk::graph g = b.take(), fused = nk::passes::find_attention(g.view(), all_fit{});
  std::uint64_t pairs = 0, rows = form.batch * form.heads * form.group;
  for (std::size_t i = 0; i < form.queries; ++i) pairs += rows * (i < form.keys ? i + 1 : form.keys);
  const nk::flop_counts f = nk::flops_of(fused.view());
  CHECK(f.matmul == 2 * pairs * (form.hidden + form.value));
  CHECK(f.transcendental == pairs);
  CHECK(f.reduce == 2 * (pairs - rows * form.queries));
}

TEST_CASE("a mask is a number more for each pair, a window leaves pairs out") {
  const auto flops = [](const written& form) {
    builder b;
    b.output(form.emit(b));
    const nk::graph g = b.take(), fused = fused_of(g);
    CHECK(count(fused, op::attention) == 1);
    nk::flop_counts f;
    for (int id = 0; id < static_cast<int>(fused.nodes.size()); ++id)
      if (fused.nodes[static_cast<std::size_t>(id)].kind == op::attention)
        f = nk::flops_of_node(fused.view(), id);
    return f;
  };
  for (const std::int32_t window : {1, 2, 3, 7}) {
    const written form{.queries = 7, .keys = 6, .value = 3, .window = window};
    std::uint64_t pairs = 0, rows = form.batch * form.heads * form.group;
    for (std::size_t i = 0; i < form.queries; ++i)
      for (std::size_t j = 0; j < form.keys; ++j)
        pairs += j <= i && i - j < static_cast<std::size_t>(window) ? rows : 0;
    if (window > 1) CHECK(flops(form).transcendental == pairs);
  }
  written form;
  const nk::flop_counts plain = flops(form);
  form.mask = written::adds;
  form.mask_axes = {0, 4};
  const nk::flop_counts masked = flops(form);
  CHECK(masked.matmul == plain.matmul);
  CHECK(masked.elementwise == plain.elementwise + plain.transcendental);
}
