// The shortcut for patterns whose words are the names of their axes: whatever it answers is what the rules
// answer, and it does answer those that it is for.
#include <array>
#include <catch2/catch.hpp>
#include <napkin/pattern/bind.hpp>
#include <random>
#include <string>
#include <vector>

namespace np = napkin::pattern;
using np::detail::form;

namespace {

bool same_label(const np::label& a, const np::label& b) {
  return a.name == b.name && a.size == b.size && a.from == b.from && a.operand == b.operand &&
         a.axis == b.axis && a.factor == b.factor && a.alias == b.alias && a.in_result == b.in_result &&
         a.nameless == b.nameless && a.from_ellipsis == b.from_ellipsis && a.column == b.column;
}
bool same_meaning(const np::meaning& a, const np::meaning& b) {
  if (a.why || b.why || a.labels.size() != b.labels.size()) return false;
  for (std::size_t i = 0; i < a.labels.size(); ++i)
    if (!same_label(a.labels[i], b.labels[i])) return false;
  return a.operand == b.operand && a.result == b.result;
}

struct written {
  form how = form::einsum;
  std::string text;
  std::vector<std::vector<np::axis_view>> axes;
};
struct answers {
  bool plain, agrees, accepted;
};
answers ask(const written& w) {
  std::vector<np::operand_view> operands(w.axes.begin(), w.axes.end());
  np::meaning quick;
  answers a{};
  a.plain = np::detail::bind_plain(w.how, w.text, operands, quick);
  const np::meaning slow = np::detail::binder(w.how, w.text, operands, {}, {}).run();
  a.accepted = !slow.why;
  a.agrees = !a.plain || same_meaning(quick, slow);
  return a;
}

const char* const names[] = {"b",        "batch", "ax1", "ax12", "seq", "seq'",
                             "kv_heads", "Q",     "x_",  "a",    "ab",  "1"};

}  // namespace

TEST_CASE("a pattern of axes' names is bound in one walk", "[pattern]") {
  const std::vector<np::axis_view> x{{"batch", 8, {}}, {"ax12", 5, {}}},
      w{{"ax12", 5, {}}, {"kv_heads", 3, {}}};
  for (const char* text :
       {"batch ax12, ax12 kv_heads -> batch kv_heads", "batch ax12,ax12 kv_heads->kv_heads",
        "  batch  ax12 , ax12 kv_heads ->  kv_heads batch ax12 "}) {
    CAPTURE(text);
    const answers a = ask({form::einsum, text, {x, w}});
    CHECK(a.plain);
    CHECK(a.accepted);
    CHECK(a.agrees);
  }
  CHECK(ask({form::rearrange, "batch ax12 -> ax12 batch", {x}}).plain);
  CHECK(ask({form::reduce, "batch ax12 -> ax12", {x}}).plain);
  CHECK(ask({form::reduce, "batch ax12 ->", {x}}).plain);
}

TEST_CASE("a pattern of other words is not", "[pattern]") {
  const std::vector<np::axis_view> x{{"batch", 8, {}}, {"ax12", 5, {}}}, square{{"n", 4, {}}, {"n", 4, {}}};
  for (const char* text :
       {"batch a -> a batch", "batch ax12 -> batch", "batch ax12", "batch ax12 -> batch ax12 r",
        "batch ax12 -> batch batch", "batch ax1 -> batch ax1", "batch (ax12) -> ax12 batch",
        "... ax12 -> ... ax12", "batch ax12 - > ax12 batch", "batch\tax12 -> ax12 batch",
        "batch ax12 -> (ax12 batch)", "batch ax12 extra -> ax12 batch extra", "", "->",
        "batch ax12' -> batch ax12'", "batch ax12, -> batch ax12"}) {
    CAPTURE(text);
    CHECK_FALSE(ask({form::rearrange, text, {x}}).plain);
  }
  CHECK_FALSE(ask({form::einsum, "n n -> n", {square}}).plain);
  CHECK_FALSE(ask({form::einsum, "batch ax12, ax12 -> batch", {x, {{"ax12", 6, {}}}}}).plain);
}

TEST_CASE("what the one walk answers is what the rules answer", "[pattern]") {
  std::mt19937 random(20261121);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::size_t plain = 0, accepted = 0;
  for (int round = 0; round < 200000; ++round) {
    written w;
    w.how = std::array{form::einsum, form::rearrange, form::reduce, form::repeat}[below(4)];
    const std::size_t operands = w.how == form::einsum ? 1 + below(3) : 1, wild = below(3);
    for (std::size_t k = 0; k < operands; ++k) {
      if (k > 0) w.text += wild == 0 && below(8) == 0 ? " " : ", ";
      std::vector<np::axis_view> axes;
      for (std::size_t i = below(4); i-- > 0;) {
        const char* const name = names[below(wild == 0 ? std::size(names) : 5)];
        axes.push_back({wild == 0 && below(6) == 0 ? "" : name, wild == 2 && below(9) == 0 ? 7u : 4u, {}});
        w.text += wild != 1 && below(12) == 0 ? names[below(std::size(names))] : name;
        w.text += wild == 0 && below(9) == 0 ? "" : " ";
      }
      w.axes.push_back(axes);
    }
    if (wild != 0 || below(9) != 0) w.text += below(2) == 0 ? "->" : "-> ";
    for (std::size_t i = below(4); i-- > 0;)
      w.text += std::string(names[below(wild == 0 ? std::size(names) : 5)]) + (below(20) == 0 ? "" : " ");
    const answers a = ask(w);
    if (!a.agrees) FAIL("'" << w.text << "' as form " << static_cast<int>(w.how));
    plain += a.plain ? 1u : 0u;
    accepted += a.accepted ? 1u : 0u;
  }
  CHECK(plain > 10000);
  CHECK(accepted > plain);
}
