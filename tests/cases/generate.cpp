// Turns corpora (JSON Lines, see their README) into C++: a file for each case in DIR/valid, to be compiled
// and run, or in DIR/refused, to be compiled with -DMISTAKE, which must fail by a rule of the library, and
// without, which must succeed. DIR/ids lists "kind id file" in order, DIR/broken the lines of which no case
// can be made, by id or, where that is missing or another row's, as file:line; DIR/sentences has the words of the
// library's rules.
//   generate --into DIR --choices FILE --rules INCLUDE_DIR [--every N] [--gradients N] FILE...
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

#include "call.hpp"
#include "choices.hpp"
#include "count_row.hpp"
#include "evaluate.hpp"
#include "features.hpp"
#include "twin.hpp"

namespace fs = std::filesystem;
using json = nlohmann::json;

namespace cases {

namespace {

struct settings {
  fs::path into, choices, rules;
  std::vector<fs::path> files;
  std::size_t every = 1;      // row of each file is generated
  std::size_t gradients = 8;  // of those: one in so many checks its gradient too
};

std::string number(double x) {
  std::ostringstream text;
  text.precision(17);
  text << x;
  return text.str();
}
template <class T>
std::string list(const std::vector<T>& items) {
  std::string text = "{";
  for (const T& x : items) text += (text.size() > 1 ? ", " : "") + number(static_cast<double>(x));
  return text + "}";
}
std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& x : items) text += (text.empty() ? "" : ", ") + x;
  return text;
}

std::string dtype_of(const std::string& name) {
  static const std::map<std::string, std::string> known{
      {"float64", "f64"},     {"float32", "f32"},   {"float16", "f16"}, {"bfloat16", "bf16"},
      {"complex128", "c128"}, {"complex64", "c64"}, {"int64", "i64"},   {"int32", "i32"},
      {"int16", "i16"},       {"int8", "i8"},       {"uint32", "u32"},  {"uint16", "u16"},
      {"uint8", "u8"},        {"bool", "b8"}};
  const auto at = known.find(name);
  if (at == known.end()) throw std::runtime_error("unknown dtype '" + name + "'");
  return at->second;
}

std::size_t size_from(const json& size) {
  if (!size.is_number_unsigned()) throw std::runtime_error("a size that is no whole number: " + size.dump());
  return size.get<std::size_t>();
}
shape shape_from(const json& sizes) {
  if (!sizes.is_array()) throw std::runtime_error("a shape that is no list: " + sizes.dump());
  shape s;
  for (const json& size : sizes) s.push_back(size_from(size));
  return s;
}

call call_of(const json& row) {
  call c;
  c.op = row.value("op", row.contains("equation") ? "einsum" : "");
  static const std::set<std::string> known{"rearrange", "reduce", "repeat", "einsum", "pack", "parse_shape"};
  if (known.count(c.op) == 0)
    throw std::runtime_error("a row of another form: " +
                             (c.op.empty() ? "it has no op, equation or ops" : "its op is '" + c.op + "'"));
  c.pattern = row.contains("named") ? row.at("named") : row.at("pattern");
  const json& shapes = row.contains("shapes") ? row.at("shapes") : row.at("in_shape");
  if (c.op == "einsum" || c.op == "pack")
    for (const json& s : shapes) c.shapes.push_back(shape_from(s));
  else
    c.shapes = {shape_from(shapes)};
  const json axes = row.value("axes", json::object());
  for (const auto& [name, size] : axes.items()) c.given.emplace_back(name, size_from(size));
  c.reduction = row.value("reduction", "");
  const bool truths = row.value("in_data", "") == "bool7";
  c.dtype = dtype_of(row.value("dtype", truths ? "bool" : c.op == "einsum" ? "float64" : "float32"));
  return c;
}

class generator {
 public:
  explicit generator(settings s)
      : settings_(std::move(s)), ids_(make_folders()), broken_(settings_.into / "broken") {
    write_sentences();
    choices_ = read_choices(settings_.choices, sentences_);
  }

  void run() {
    for (const fs::path& file : settings_.files) {
      const auto lines = lines_of(file);
      if (!lines)
        fail(file.string(), file, "cannot be read");
      else if (lines->empty())
        fail(file.string(), file, "has no rows");
      else
        for (std::size_t n = 0; n < lines->size(); n += settings_.every) take((*lines)[n], file);
    }
  }

 private:
  std::ofstream make_folders() const {
    fs::create_directories(settings_.into / "valid");
    fs::create_directories(settings_.into / "refused");
    return std::ofstream(settings_.into / "ids");
  }

  struct numbered_line {
    std::size_t number;  // from 1
    std::string text;
  };
  /// Those that are not blank, whatever ends them; nothing where the file cannot be read.
  static std::optional<std::vector<numbered_line>> lines_of(const fs::path& file) {
    std::ifstream in(file);
    if (!in || fs::is_directory(file)) return {};
    std::vector<numbered_line> lines;
    std::size_t number = 0;
    for (std::string text; std::getline(in, text);) {
      if (++number == 1 && text.compare(0, 3, "\xef\xbb\xbf") == 0) text.erase(0, 3);  // of UTF-8, as a mark
      if (text.find_first_not_of(" \t\r") != text.npos) lines.push_back({number, text});
    }
    if (in.bad()) return {};
    return lines;
  }

  /// A word of DIR/ids and DIR/broken, whose fields are apart by spaces.
  static std::string one_word(std::string text) {
    for (char& c : text)
      if (std::isspace(static_cast<unsigned char>(c)) != 0) c = '_';
    return text;
  }
  void enter(const std::string& kind, const std::string& id, const fs::path& file) {
    ids_ << kind << ' ' << one_word(id) << ' ' << one_word(file.filename().string()) << '\n';
  }
  void fail(const std::string& id, const fs::path& file, const std::string& why) {
    enter("broken", id, file);
    broken_ << "failed " << one_word(id) << ' ' << one_line(why) << '\n';
  }

  void take(const numbered_line& line, const fs::path& file) {
    const std::string place = file.string() + ':' + std::to_string(line.number);
    json row;
    try {
      row = json::parse(line.text);
    } catch (const json::exception& e) {
      const std::string said = e.what();  // "[json.exception...] parse error at line 1, column 3: ..."
      return fail(place, file, "is no JSON:" + said.substr(std::min(said.find(']'), said.size() - 1) + 1));
    }
    if (!row.is_object() || !row.contains("id") || !row.at("id").is_string())
      return fail(place, file, "is no row: a JSON object with an id that is text");
    const std::string id = row.at("id");
    bool plain = !id.empty();
    for (const char c : id)
      plain = plain && (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_');
    if (!plain) return fail(place, file, "has an id that is no file name: '" + id + "'");
    const auto [first, is_new] = seen_.emplace(identifier(id), place);
    if (!is_new) return fail(place, file, "has an id that " + first->second + " has: " + id);
    take(row, id, file, place);
  }
  void take(const json& row, const std::string& id, const fs::path& file, const std::string& place) {
    try {
      if (row.contains("ops") && row.contains("fwd")) {
        write_counts(row, id);
        return enter("valid", id, file);
      }
      call c = call_of(row);
      const std::string feature = feature_of(row, c);
      const choice chosen = feature.empty() ? choice{} : choices_.at(feature);
      const bool refused = feature.empty() ? !row.value("ok", true) : !chosen.refused.empty();
      if (c.op == "parse_shape") c = parse_shape_as_reduce(c);
      std::ostringstream out;
      if (!feature.empty()) out << "// A choice of this library: " << feature << ".\n";
      if (refused)
        write_refused(out, row, c, chosen);
      else if (row.value("ok", true))
        write_valid(out, row, c);
      else
        write_accepted(out, row, c);
      const char* const kind = refused ? "refused" : "valid";
      std::ofstream(settings_.into / kind / (id + ".cpp")) << out.str();
      enter(kind, id, file);
    } catch (const std::exception& e) {
      fail(id, file, "no case can be made of " + place + ": " + e.what());
    }
  }

  // ---- cases that run

  void write_counts(const json& row, const std::string& id) const {
    const std::string text = count_writer(row, identifier(id)).write();
    std::ofstream(settings_.into / "valid" / (id + ".cpp"))
        << "// " << id << ": " << one_line(row.value("name", "")) << "\n// "
        << one_line(row.value("source", "")) << "\n#include \"count.hpp\"\n\n"
        << text;
  }

  static std::string structure(const std::string& id, const call& c) {
    return "struct " + id + " {\n  constexpr auto operator()(const auto&... x) const {\n    return " +
           callee(c) + "(x...);\n  }\n};\n";
  }
  static std::string identifier(std::string id) {
    for (char& c : id)
      if (c == '-') c = '_';
    return "case_" + id;
  }
  static void write_part(std::ostream& out, const std::string& name, const std::string& call_name,
                         const std::string& row, const std::string& check, const call& c) {
    out << "const cases::registered " << name << "{" << row << ",\n    &cases::" << check << "<"
        << joined([&] {
             std::vector<std::string> all{call_name};
             for (const std::string& type : operand_types(c)) all.push_back("\n        " + type);
             return all;
           }())
        << ">};\n";
  }

  void write_valid(std::ostream& out, const json& row, const call& c) {
    const std::string id = row.at("id"), name = identifier(id);
    const bool numeric = row.value("numeric", true);
    const std::string rule = c.op == "einsum" ? "einsum" : row.at("in_data").get<std::string>();
    std::string expected = "{.id = " + quoted(id) + ", .rule = " + quoted(rule) +
                           ", .shape = " + list(row.at("out_shape").get<shape>());
    if (numeric)
      expected += ",\n     .sum = " + number(row.at("out_sum_weighted")) +
                  ", .abs_sum = " + number(row.value("out_abs_weighted", 0.0)) +
                  ", .rtol = " + number(row.value("rtol", 0.0)) +
                  ", .first = " + list(row.at("out_first8").get<std::vector<double>>());
    std::string with_flops = expected;
    if (row.contains("optimal_flops") && c.shapes.size() > 1)
      with_flops +=
          ", .flops = " + std::to_string(row.at("optimal_flops").get<std::uint64_t>()) +
          "u, .flops_sums_first = " + std::to_string(row.at("optimal_flops_presum").get<std::uint64_t>()) +
          "u";
    begin(out, row, c);
    out << "namespace {\n" << structure(name, c);
    const char* const check = numeric ? "check_values" : "check_facts";
    write_part(out, name + "_forward", name, with_flops + "}", check, c);
    if (numeric && has_smooth_gradient(c, rule) && candidates_[c.op]++ % settings_.gradients == 0)
      write_part(out, name + "_gradient", name, expected + "}", "check_gradient", c);
    if (c.op == "einsum" && row.value("equation", "->").find("->") == std::string::npos) {
      call without = c;
      without.pattern = c.pattern.substr(0, c.pattern.find("->"));
      out << "// as in the source, without a result\n" << structure(name + "_implicit", without);
      write_part(out, name + "_without_result", name + "_implicit", expected + "}", check, without);
    }
    out << "}  // namespace\n";
  }

  /// Differentiable where the corpus's operands lie; max and min are not where elements tie. All gradients of
  /// an einsum of eight operands at once pass g++'s default limit of constant evaluation: eight orders are
  /// searched.
  static bool has_smooth_gradient(const call& c, const std::string& rule) {
    std::size_t elements = 1, largest = 0;
    for (const shape& s : c.shapes) {
      elements = 1;
      for (const std::size_t size : s) elements *= size;
      if (elements == 0) return false;
      largest = std::max(largest, elements);
    }
    if (c.dtype != (c.op == "einsum" ? "f64" : "f32") || largest > 20'000 || c.shapes.size() > 7)
      return false;
    if (c.op != "reduce" || (c.reduction != "max" && c.reduction != "min")) return true;
    return rule == "arange" || (rule == "mix101" && elements <= 101);
  }

  static void write_accepted(std::ostream& out, const json& row, const call& c) {
    const evaluated expected = *evaluate(c);
    const std::string id = row.at("id"), name = identifier(id);
    std::string facts =
        "{.id = " + quoted(id) + ", .rule = " + quoted(expected.rule) + ", .shape = " + list(expected.sizes);
    if (expected.values) {
      const std::vector<double>& values = *expected.values;
      const std::size_t shown = std::min<std::size_t>(8, values.size());
      double of_absolutes = 0;
      for (std::size_t i = 0; i < values.size(); ++i) of_absolutes += std::abs(values[i]) * weight_of(i);
      const bool rounds = c.reduction == "mean" || c.reduction == "prod" || c.reduction == "logsumexp";
      facts += ",\n     .sum = " + number(weighted_sum(values)) + ", .abs_sum = " + number(of_absolutes) +
               ", .rtol = " + (rounds ? "1e-6" : "0") +
               ", .first = " + list(std::vector<double>(values.begin(), values.begin() + shown));
    }
    begin(out, row, c);
    out << "namespace {\n" << structure(name, c);
    write_part(out, name + "_forward", name, facts + "}", expected.values ? "check_values" : "check_facts",
               c);
    out << "}  // namespace\n";
  }

  static std::string one_line(std::string text) {
    for (char& c : text)
      if (c == '\n' || c == '\r' || c == '\\') c = ' ';
    return text;
  }
  static void begin(std::ostream& out, const json& row, const call& c) {
    out << "// " << row.at("id").get<std::string>() << ": " << one_line(in_words(c)) << "\n// "
        << one_line(row.value("source", "")) << "\n#include \"case.hpp\"\n\n";
  }

  // ---- cases that must not compile

  static void write_call(std::ostream& out, const std::string& name, const call& c) {
    out << "void " << name << "(";
    const std::vector<std::string> types = operand_types(c);
    std::vector<std::string> operands;
    for (std::size_t k = 0; k < types.size(); ++k) {
      operands.push_back("x" + std::to_string(k));
      out << (k == 0 ? "" : ",") << "\n    const " << types[k] << "& " << operands[k];
    }
    out << ") {\n  (void)" << callee(c) << "(" << joined(operands) << ");\n}\n";
  }

  void write_refused(std::ostream& out, const json& row, const call& c, const choice& chosen) {
    const std::string needs = row.value("needs", "sizes");
    const bool words_first =
        needs == "pattern" || row.value("contested", false) || detail::groups_ellipsis(c);
    const std::optional<call> twin = nearest_valid(c, words_first);
    if (!twin) throw std::runtime_error("no valid twin is near");
    begin(out, row, c);
    out << "// must not compile: " << one_line(row.value("why", chosen.why)) << '\n';
    for (const std::string& sentence : chosen.refused) out << "// rule: " << sentence << '\n';
    out << "#ifdef MISTAKE\n";
    write_call(out, "mistake", c);
    out << "#else  // " << one_line(in_words(*twin)) << "\n";
    write_call(out, "twin", *twin);
    out << "#endif\n";
  }

  /// The sentences of the library's static_asserts, one a line. The file leaves out those about names across
  /// operands, since it is this generator that names the axes.
  void write_sentences() {
    static const std::regex rule(
        R"re((?:struct (\w+) \{\s*)?(?:static_assert\([^;"]*,|NAPKIN_UNLESS\s+no<Facts...>\s+NAPKIN_SAYS\(\s*raise,)((?:\s*"(?:[^"\\]|\\.)*")+)\))re");
    static const std::regex literal(R"re("((?:[^"\\]|\\.)*)")re");
    static const std::set<std::string> about_names{
        "pattern_names_other_axis", "pattern_names_disagree",          "pattern_alias_joins_label",
        "pattern_lone_alias",       "pattern_ellipsis_names_disagree", "pattern_ellipsis_hides_label"};
    std::ofstream out(settings_.into / "sentences");
    for (const auto& entry : fs::recursive_directory_iterator(settings_.rules)) {
      if (entry.path().extension() != ".hpp") continue;
      std::ifstream in(entry.path());
      const std::string text(std::istreambuf_iterator<char>(in), {});
      for (std::sregex_iterator r(text.begin(), text.end(), rule), end; r != end; ++r) {
        const std::string literals = (*r)[2].str();
        std::string sentence;
        for (std::sregex_iterator l(literals.begin(), literals.end(), literal); l != end; ++l)
          sentence += (*l)[1].str();
        sentence = std::regex_replace(sentence, std::regex(R"(\\(.))"), "$1");
        if (about_names.count((*r)[1].str()) == 0) out << sentence << '\n';
        sentences_.insert(sentence);
      }
    }
    if (sentences_.empty()) throw std::runtime_error("no rules in " + settings_.rules.string());
  }

  settings settings_;
  std::ofstream ids_, broken_;
  std::set<std::string> sentences_;
  std::map<std::string, choice> choices_;
  std::map<std::string, std::size_t> candidates_;  // for the gradient, so far, by operation
  std::map<std::string, std::string> seen_;        // ids as identifiers, and where they stand
};

settings settings_of(int count, char** arguments) {
  settings s;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    if (word.substr(0, 2) != "--") {
      s.files.emplace_back(word);
      continue;
    }
    if (++i == count) throw std::runtime_error(word + " takes a value");
    const std::string value = arguments[i];
    if (word == "--into")
      s.into = value;
    else if (word == "--choices")
      s.choices = value;
    else if (word == "--rules")
      s.rules = value;
    else if (word == "--every")
      s.every = std::stoul(value);
    else if (word == "--gradients")
      s.gradients = std::stoul(value);
    else
      throw std::runtime_error("unknown flag " + word);
  }
  if (s.into.empty() || s.choices.empty() || s.rules.empty() || s.every == 0 || s.gradients == 0)
    throw std::runtime_error(
        "--into, --choices and --rules are needed; --every and --gradients count from 1");
  return s;
}

}  // namespace

}  // namespace cases

int main(int count, char** arguments) {
  try {
    cases::generator(cases::settings_of(count, arguments)).run();
  } catch (const std::exception& e) {
    std::cerr << "generate: " << e.what() << '\n';
    return 1;
  }
}
