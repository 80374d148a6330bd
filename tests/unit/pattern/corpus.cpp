// The peers' own patterns, read at run time: every valid row binds to the stated shape and, through a plain
// loop over the meaning, to the stated values; every invalid row is refused, for the stated kind of reason.
// Rows where this language differs on purpose are named in tables here, with the reason.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <map>
#include <napkin/pattern/bind.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#ifndef NAPKIN_TEST_DATA
#define NAPKIN_TEST_DATA NAPKIN_SOURCE_DIR "/tests/cases/data"
#endif

namespace {

namespace np = napkin::pattern;
using json = nlohmann::json;
using shape = std::vector<std::size_t>;

std::vector<json> rows(const std::string& file) {
  std::ifstream in(std::string(NAPKIN_TEST_DATA "/") + file);
  std::vector<json> all;
  for (std::string line; std::getline(in, line);) all.push_back(json::parse(line));
  return all;
}

std::size_t product(const shape& s) {
  std::size_t n = 1;
  for (const std::size_t size : s) n *= size;
  return n;
}

/// Operands as the pattern sees them. Named: an axis that one label stands for bears that label's name
/// (primed where a diagonal would name two axes alike); otherwise no axis has a name.
struct operands {
  operands(const std::vector<shape>& shapes, const std::string& pattern, bool named) : pattern_(pattern) {
    const np::syntax s = np::parse(pattern_, np::dialect::einsum);
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      std::vector<np::axis_view> axes;
      for (const std::size_t size : shapes[k]) axes.push_back({"", size, {}});
      if (named && !s.why && k < s.operands) name(axes, s, k);
      axes_.push_back(axes);
    }
    for (const auto& axes : axes_) views.emplace_back(axes);
  }
  operands(const operands&) = delete;
  operands& operator=(const operands&) = delete;

  std::vector<np::operand_view> views;

 private:
  void name(std::vector<np::axis_view>& axes, const np::syntax& s, std::size_t k) {
    const std::size_t written = s.side[k + 1] - std::size_t{s.side[k]};
    std::set<std::string> used;
    bool after_ellipsis = false;
    for (std::size_t i = 0; i < written; ++i) {
      const np::axis_expression& e = s.axes[s.side[k] + i];
      if (e.last != e.first + 1) continue;
      const np::atom& a = s.atoms[e.first];
      after_ellipsis = after_ellipsis || a.kind == np::atom_kind::ellipsis;
      if (a.kind != np::atom_kind::name) continue;
      std::string own(s.view(a));
      while (!used.insert(own).second) own += "'";
      const std::size_t at = after_ellipsis ? axes.size() + i - written : i;
      if (at < axes.size()) axes[at].name = *names_.insert(own).first;
    }
  }

  std::string pattern_;
  std::set<std::string> names_;
  std::vector<std::vector<np::axis_view>> axes_;
};

struct sizes_given {
  explicit sizes_given(const json& axes) {
    for (const auto& [name, size] : axes.items())
      list.push_back({*names_.insert(name).first, size.get<std::size_t>()});
  }
  std::vector<np::given_size> list;

 private:
  std::set<std::string> names_;
};

np::meaning meaning_of(const std::string& op, const std::string& pattern, const operands& x,
                       const sizes_given& given) {
  if (op == "einsum") return np::bind_einsum(pattern, x.views, {}, given.list);
  if (op == "reduce") return np::bind_reduce(pattern, x.views.at(0), given.list);
  if (op == "repeat") return np::bind_repeat(pattern, x.views.at(0), given.list);
  return np::bind_rearrange(pattern, x.views.at(0), given.list);
}

shape result_shape(const np::meaning& m) {
  shape s;
  for (const np::label_ids& ids : m.result) s.push_back(m.size_of(ids));
  return s;
}

double initial(const std::string& reduction) {
  if (reduction == "min") return std::numeric_limits<double>::infinity();
  if (reduction == "max") return -std::numeric_limits<double>::infinity();
  return reduction == "prod" || reduction == "all" ? 1 : 0;
}
double combine(const std::string& reduction, double a, double b) {
  if (reduction == "min") return std::min(a, b);
  if (reduction == "max") return std::max(a, b);
  if (reduction == "prod") return a * b;
  if (reduction == "all") return a != 0 && b != 0 ? 1 : 0;
  if (reduction == "any") return a != 0 || b != 0 ? 1 : 0;
  return a + b;
}

/// Every point of the labels' space, the result's labels and then the reduced ones.
class evaluator {
 public:
  evaluator(const np::meaning& m, const std::vector<shape>& shapes,
            const std::vector<std::vector<double>>& data)
      : m_(m), shapes_(shapes), data_(data), value_(m.labels.size()) {
    for (std::size_t i = 0; i < m.labels.size(); ++i)
      if (m.labels[i].in_result) order_.push_back(i);
    kept_ = order_.size();
    for (std::size_t i = 0; i < m.labels.size(); ++i)
      if (!m.labels[i].in_result) order_.push_back(i);
  }
  std::size_t points() const {
    std::size_t n = 1;
    for (const np::label& l : m_.labels) n *= l.size;
    return n;
  }
  std::vector<double> run(const std::string& reduction) {
    out_.assign(product(result_shape(m_)), initial(reduction));
    reduction_ = reduction;
    walk(0);
    std::size_t count = 1;
    for (std::size_t i = kept_; i < order_.size(); ++i) count *= m_.labels[order_[i]].size;
    if (reduction == "mean")
      for (double& x : out_) x /= static_cast<double>(count);
    return out_;
  }

 private:
  template <class Axes>
  std::size_t offset(const Axes& axes, const shape& s) const {
    std::size_t at = 0;
    for (std::size_t i = 0; i < s.size(); ++i) {
      std::size_t within = 0;
      for (const signed char id : axes[i]) {
        const auto label = static_cast<std::size_t>(id);
        within = within * m_.labels[label].size + value_[label];
      }
      at = at * s[i] + within;
    }
    return at;
  }
  void walk(std::size_t depth) {
    if (depth < order_.size()) {
      for (value_[order_[depth]] = 0; value_[order_[depth]] < m_.labels[order_[depth]].size;
           ++value_[order_[depth]])
        walk(depth + 1);
      return;
    }
    double x = 1;
    for (std::size_t k = 0; k < shapes_.size(); ++k) x *= data_[k].at(offset(m_.operand[k], shapes_[k]));
    double& y = out_.at(offset(m_.result, result_shape_));
    y = combine(reduction_, y, x);
  }

  const np::meaning& m_;
  const std::vector<shape>& shapes_;
  const std::vector<std::vector<double>>& data_;
  const shape result_shape_ = result_shape(m_);
  std::vector<std::size_t> value_;
  std::vector<std::size_t> order_;
  std::size_t kept_ = 0;
  std::vector<double> out_;
  std::string reduction_;
};

std::vector<double> input(const std::string& rule, std::size_t n, std::size_t operand) {
  static constexpr double table7[] = {1, 2, 1, 0.5, -1, 1, 1};
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    double value = static_cast<double>(i);
    if (rule == "mix101") value = static_cast<double>((i * 37 + 11) % 101) - 50;
    if (rule == "bool7") value = (i * i + 3 * i) % 7 < 3 ? 1 : 0;
    if (rule == "table7") value = table7[i % 7];
    if (rule == "einsum") value = static_cast<double>(i % (7 + 2 * operand)) - 3;
    x[i] = value;
  }
  return x;
}

/// Whether values are those of the row; differences are compared such that NaN fails.
bool values_agree(const std::vector<double>& out, const json& row) {
  const double rtol = row.value("rtol", 0.0);
  double sum = 0;
  for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * static_cast<double>(i % 97 + 1);
  const double expected = row.at("out_sum_weighted").get<double>();
  if (!(std::abs(sum - expected) <= rtol * row.value("out_abs_weighted", 0.0))) return false;
  const json& first = row.at("out_first8");
  if (first.size() != std::min<std::size_t>(8, out.size())) return false;
  for (std::size_t i = 0; i < first.size(); ++i) {
    const double x = first[i].get<double>();
    if (!(std::abs(out[i] - x) <= rtol * std::max(1.0, std::abs(x)))) return false;
  }
  return true;
}

struct tally {
  std::size_t shapes = 0;
  std::size_t values = 0;
  std::size_t too_large = 0;  // to evaluate
};

constexpr std::size_t most_points = 40'000'000;

void check_row(const std::string& op, const std::string& pattern, const std::vector<shape>& shapes,
               const json& axes, const json& row, bool named, tally& count) {
  INFO(row.at("id").get<std::string>() << "  " << op << " \"" << pattern << "\"");
  const operands x(shapes, pattern, named);
  const sizes_given given(axes);
  const np::meaning m = meaning_of(op, pattern, x, given);
  INFO(np::sentence(m.why.why) << "  column " << m.why.column << "  " << m.why.name << "  " << m.why.other);
  REQUIRE_FALSE(m.why);
  REQUIRE(result_shape(m) == row.at("out_shape").get<shape>());
  ++count.shapes;

  if (!row.value("numeric", true)) return;
  std::vector<std::vector<double>> data;
  for (std::size_t k = 0; k < shapes.size(); ++k)
    data.push_back(
        input(op == "einsum" ? "einsum" : row.at("in_data").get<std::string>(), product(shapes[k]), k));
  evaluator evaluate(m, shapes, data);
  if (evaluate.points() > most_points) {
    ++count.too_large;
    return;
  }
  const bool reduces = op == "reduce";
  REQUIRE(values_agree(evaluate.run(reduces ? row.at("reduction").get<std::string>() : "sum"), row));
  ++count.values;
}

tally check_file(const std::string& op, bool named) {
  tally count;
  for (const json& row : rows(op + ".jsonl"))
    check_row(op, row.at("pattern"), {row.at("in_shape").get<shape>()}, row.at("axes"), row, named, count);
  return count;
}

/// "ij,jk->ik" as this language writes it.
std::string spaced(const std::string& equation) {
  std::string out;
  for (std::size_t i = 0; i < equation.size(); ++i) {
    const char c = equation[i];
    const bool joined = (c == '.' && i > 0 && equation[i - 1] == '.') || c == '>';
    if (!joined) out += ' ';
    out += c;
  }
  return out;
}

}  // namespace

TEST_CASE("einops's valid patterns give its shapes and values", "[pattern][corpus]") {
  const bool named = GENERATE(false, true);
  const tally rearrange = check_file("rearrange", named);
  const tally reduce = check_file("reduce", named);
  const tally repeat = check_file("repeat", named);
  CHECK(rearrange.shapes == 210);
  CHECK(reduce.shapes == 320);
  CHECK(repeat.shapes == 90);
  CHECK(rearrange.values == 210);
  CHECK(reduce.values == 320);
  CHECK(repeat.values == 90);
}

TEST_CASE("einsum gives numpy's shapes and values", "[pattern][corpus]") {
  const bool named = GENERATE(false, true);
  tally count;
  std::size_t implicit = 0;
  std::map<std::string, std::size_t> refused;
  for (const json& row : rows("einsum.jsonl")) {
    const std::string group = row.at("group");
    const auto shapes = row.at("shapes").get<std::vector<shape>>();
    if (group == "broadcast1" || group == "contested") {
      // broadcast1: size 1 is no wildcard for a label that has another size elsewhere.
      // contested: axes under `...` that the result leaves out; numpy raises too.
      const std::string pattern = row.at("named");
      const operands x(shapes, pattern, named);
      const np::meaning m = meaning_of("einsum", pattern, x, sizes_given(json::object()));
      INFO(row.at("id").get<std::string>() << "  " << pattern);
      const np::code expected =
          group == "contested" ? np::code::ellipsis_only_in_input : np::code::size_mismatch;
      CHECK(m.why.why == expected);
      ++refused[group];
      continue;
    }
    check_row("einsum", row.at("named"), shapes, json::object(), row, named, count);
    const std::string equation = row.at("equation");
    if (equation.find("->") == std::string::npos) {
      check_row("einsum", spaced(equation), shapes, json::object(), row, named, count);
      ++implicit;
    }
  }
  CHECK(refused["broadcast1"] == 11);
  CHECK(refused["contested"] == 5);
  CHECK(implicit == 50);
  CHECK(count.shapes == 374 + 50);
  CHECK(count.values == 374 - 39 + 50);
  CHECK(count.too_large == 0);
}

namespace {

/// What the language calls each kind of mistake of the corpus.
const std::map<std::string, std::vector<np::code>>& codes_of_category() {
  using enum np::code;
  static const std::map<std::string, std::vector<np::code>> table{
      {"anonymous-in-rearrange", {number_not_allowed}},
      {"axis-one-side", {label_only_in_input, label_only_in_result, ellipsis_only_in_input}},
      {"bad-anonymous-axis", {number_is_zero}},
      {"bad-axis-name", {bad_axis_name}},
      {"bad-character", {bad_character, unexpected_comma}},
      {"cannot-infer", {cannot_infer}},
      {"double-ellipsis", {double_ellipsis, ellipsis_in_input_group}},
      {"duplicate-axis", {duplicate_label}},
      {"einsum-too-many-axes", {too_long, rank_mismatch}},
      {"einsum-unknown-output-axis", {label_only_in_result}},
      {"ellipsis-in-left-parenthesis", {ellipsis_in_input_group}},
      {"ellipsis-right-only", {ellipsis_only_in_result}},
      {"malformed-ellipsis", {malformed_ellipsis}},
      {"missing-arrow", {missing_arrow}},
      {"nested-parenthesis", {nested_parenthesis}},
      {"not-divisible", {not_divisible}},
      {"operand-count", {operand_count}},
      {"rank-mismatch", {rank_mismatch}},
      {"reduce-new-axis", {label_only_in_result, number_not_allowed}},
      {"repeat-dropped-axis", {label_only_in_input, number_not_allowed}},
      {"repeat-missing-size", {new_label_without_size}},
      {"size-mismatch",
       {size_mismatch, given_contradicts, sizes_do_not_multiply, number_mismatch, ellipsis_sizes_disagree}},
      {"too-many-arrows", {second_arrow}},
      {"unbalanced-parenthesis", {unbalanced_parenthesis}},
      {"unit-mismatch", {number_mismatch}},
      {"unused-axis-size", {given_unknown}},
  };
  return table;
}

/// Rows that the pattern language does not refuse, and why.
const std::map<std::string, std::string>& accepted_categories() {
  static const std::map<std::string, std::string> table{
      {"einsum-unsupported", "composed and unit axes mean in einsum what they mean elsewhere"},
      {"unknown-reduction", "the reduction's name is for reduce to check, not for the pattern"},
      {"mean-of-integers", "dtypes are for reduce to check"},
      {"empty-reduction", "a reduction without identity over size 0 is for reduce to check"},
  };
  return table;
}

}  // namespace

TEST_CASE("einops's invalid patterns are refused for the stated reason", "[pattern][corpus]") {
  std::size_t refused = 0;
  std::map<std::string, std::size_t> accepted;
  std::size_t elsewhere = 0;
  for (const json& row : rows("invalid.jsonl")) {
    const std::string op = row.at("op");
    const std::string pattern = row.at("pattern");
    const std::string category = row.at("category");
    INFO(row.at("id").get<std::string>() << "  " << op << " \"" << pattern << "\"  " << category);
    if (op == "pack" || op == "parse_shape") {  // no arrow: not this language
      ++elsewhere;
      continue;
    }
    const auto shapes = op == "einsum" ? row.at("in_shape").get<std::vector<shape>>()
                                       : std::vector<shape>{row.at("in_shape").get<shape>()};
    const operands x(shapes, pattern, false);
    const np::meaning m = meaning_of(op, pattern, x, sizes_given(row.at("axes")));
    if (accepted_categories().count(category) != 0) {
      const bool rank = pattern == "(a b) -> a b";  // one axis, the tensor has two
      CHECK(m.why.why == (rank ? np::code::rank_mismatch : np::code::none));
      ++accepted[category];
      continue;
    }
    INFO(np::sentence(m.why.why));
    CHECK(m.why);
    const auto& codes = codes_of_category().at(category);
    CHECK(std::find(codes.begin(), codes.end(), m.why.why) != codes.end());
    ++refused;
  }
  CHECK(elsewhere == 6);
  CHECK(accepted["einsum-unsupported"] == 4);
  CHECK(accepted["unknown-reduction"] == 3);
  CHECK(accepted["mean-of-integers"] == 1);
  CHECK(accepted["empty-reduction"] == 1);
  CHECK(refused == 148);
}
