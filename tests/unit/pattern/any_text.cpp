// Whatever the text and the operands, a pattern is refused with a reason or means something consistent: each
// axis is as long as its labels multiply to. Texts are random but the same in every run.
#include <catch2/catch.hpp>
#include <cstdint>
#include <napkin/pattern/bind.hpp>
#include <random>
#include <string>
#include <vector>

namespace {

namespace np = napkin::pattern;

constexpr const char* pieces[] = {"a",  "b",  "c",  "seq",  "seq'", "h",           "d",   " ",     " ",
                                  " ",  "(",  ")",  "1",    "()",   "2",           "...", "->",    " -> ",
                                  ",",  ", ", "_a", "\xc3", "..",   "0",           "-",   "(h d)", "a b",
                                  "zz", "\n", "'",  "*",    " * ",  "\xe2\x80\xa6"};

bool consistent(const np::meaning& m, const std::vector<std::vector<np::axis_view>>& x) {
  const auto valid = [&](const np::label_ids& ids) {
    for (const signed char id : ids)
      if (id < 0 || static_cast<std::size_t>(id) >= m.labels.size()) return false;
    return true;
  };
  if (m.operand.size() != x.size()) return false;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (m.operand[k].size() != x[k].size()) return false;
    for (std::size_t i = 0; i < x[k].size(); ++i)
      if (!valid(m.operand[k][i]) || m.size_of(m.operand[k][i]) != x[k][i].size) return false;
  }
  for (const np::label_ids& ids : m.result) {
    if (!valid(ids)) return false;
    for (const signed char id : ids)
      if (!m.labels[static_cast<std::size_t>(id)].in_result) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("any text is refused with a reason or means something consistent", "[pattern]") {
  std::mt19937 random(20);  // its values are fixed by the standard, those of distributions are not
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  constexpr std::string_view names[] = {"", "", "a", "b", "seq", "seq'", "h", "d"};
  constexpr std::size_t sizes[] = {1, 2, 2, 4, 6, 0};
  constexpr np::given_size given[] = {{"h", 2}};

  std::size_t bound = 0;
  std::size_t wrong = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string text;
    for (std::size_t n = below(14); n > 0; --n) text += pieces[below(std::size(pieces))];
    if (below(2) == 0) text += " -> ";
    for (std::size_t n = below(6); n > 0; --n) text += pieces[below(10)];
    std::vector<std::vector<np::axis_view>> x(below(8) == 0 ? below(18) : 1 + below(2));
    for (auto& axes : x) {
      for (std::size_t n = below(16) == 0 ? below(15) : below(4); n > 0; --n)
        axes.push_back({names[below(std::size(names))], sizes[below(std::size(sizes))], {}});
      if (!axes.empty() && below(4) == 0) axes[0] = {"(h d)", 4, {{"h", 2}, {"d", 2}}};
    }
    const std::vector<np::operand_view> views(x.begin(), x.end());
    const std::span<const np::given_size> sizes_given{given, below(2)};

    std::vector<np::meaning> meanings{np::bind_einsum(text, views, {}, sizes_given)};
    if (!views.empty()) {
      meanings.push_back(np::bind_rearrange(text, views[0], sizes_given));
      meanings.push_back(np::bind_reduce(text, views[0], sizes_given));
      meanings.push_back(np::bind_repeat(text, views[0], sizes_given));
    }
    const np::pack_meaning packed = np::bind_pack(text.substr(0, text.find("->")), views);
    if (packed.value.why
            ? np::sentence(packed.value.why.why).empty()
            : packed.before > packed.value.result.size() || views.size() != packed.value.operand.size()) {
      ++wrong;
      UNSCOPED_INFO("pack \"" << text << "\"");
    }
    bound += packed.value.why ? 0 : 1;
    for (std::size_t i = 0; i < meanings.size(); ++i) {
      const np::meaning& m = meanings[i];
      const bool fine = m.why ? !np::sentence(m.why.why).empty()
                              : consistent(m, i == 0 ? x : std::vector<std::vector<np::axis_view>>{x[0]});
      if (!fine) {
        ++wrong;
        UNSCOPED_INFO("\"" << text << "\"");
      }
      bound += m.why ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
  CHECK(bound > 1000);
}
