// Rows of FLOP counts (flops.jsonl), as C++: each operation of a row as a call of the library, or of a
// formula where the library has no such operation, with the types of its operands.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "call.hpp"

namespace cases {

/// Writes what a file with a case of this row holds, after its includes.
class count_writer {
 public:
  using json = nlohmann::json;

  count_writer(const json& row, std::string name) : row_(row), name_(std::move(name)) {}

  std::string write() {
    const std::string family = row_.value("family", "");
    if (family == "convention")
      write_convention();
    else if (family == "sdpa")
      write_attention();
    else if (row_.at("ops").empty())
      write_nothing_counted();
    else
      for (const json& operation : row_.at("ops")) write_operation(operation);
    const std::string id = quoted(row_.at("id").get<std::string>());
    return "namespace {\n" + structures_ + "const cases::registered " + name_ + "_counts{{.id = " + id +
           ", .rule = \"\"}, [](const cases::row&) {\n" + (family == "convention" ? body_ : with_totals()) +
           "}};\n}  // namespace\n";
  }

 private:
  static std::string text_of_shape(const json& list) {
    std::string text = "nk::shape{";
    for (const json& size : list)
      text += (text.back() == '{' ? "" : ", ") + std::to_string(size.get<std::size_t>());
    return text + "}";
  }
  static std::string number(const json& value) { return std::to_string(value.get<std::uint64_t>()) + "u"; }

  /// One letter an axis, in order; sizes need not differ.
  static std::string default_equation(const std::string& op, const std::vector<shape>& s) {
    if (op == "einsum") throw std::runtime_error("an einsum without an equation");
    if (op == "linear") return "... i, o i -> ... o";
    if (op == "bmm" || op == "baddbmm") return "b m k, b k n -> b m n";
    if (op == "matmul" && (s[0].size() > 2 || s[1].size() > 2)) {
      if (s[1].size() == 2) return "... m k, k n -> ... m n";
      return "... m k, ... k n -> ... m n";
    }
    if (op == "matmul" && s[0].size() == 1 && s[1].size() == 1) return "k, k -> ";
    if (op == "matmul" && s[0].size() == 1) return "k, k n -> n";
    if (op == "matmul" && s[1].size() == 1) return "m k, k -> m";
    return "m k, k n -> m n";
  }

  /// A struct of the call, and its operands' types.
  struct spelled {
    std::string type, operands;
    std::size_t arity;
  };
  spelled spell_product(const json& o) {
    const std::string op = o.at("op");
    auto shapes = o.at("shapes").get<std::vector<shape>>();
    shape bias;
    const bool adds = op == "addmm" || op == "baddbmm" || (op == "linear" && shapes.size() == 3);
    if (adds) {
      const std::size_t at = op == "linear" ? 2 : 0;
      bias = shapes.at(at);
      shapes.erase(shapes.begin() + static_cast<std::ptrdiff_t>(at));
    }
    call c;
    c.op = "einsum";
    c.dtype = "f64";
    c.pattern = o.contains("equation") ? o.at("equation").get<std::string>() : default_equation(op, shapes);
    c.shapes = shapes;
    spelled s{"call_" + std::to_string(++calls_) + "_" + name_, "", shapes.size()};
    for (const std::string& type : operand_types(c)) s.operands += ",\n        " + type;
    std::string parameters = "const auto&... x", value = callee(c) + "(x...)";
    if (adds) {
      const std::string type = bias_type(c, bias);
      s.operands += ",\n        " + type;
      parameters = "const auto& a, const auto& b, const auto& bias";
      value = callee(c) + "(a, b) + bias";
    }
    structures_ += "struct " + s.type + " {\n  constexpr auto operator()(" + parameters +
                   ") const {\n    return " + value + ";\n  }\n};\n";
    return s;
  }
  /// Its axes are the result's last ones; of size 1 where the result is larger, they are not there at all.
  static std::string bias_type(const call& product, const shape& sizes) {
    const auto words = words_of(product.pattern);
    std::vector<std::string> result;
    std::size_t arrow = 0;
    while (words[arrow] != "->") ++arrow;
    for (std::size_t i = arrow + 1; i < words.size(); ++i) result.push_back(words[i]);
    const auto names = names_of(product);
    std::string type = "nk::tensor<nk::f64";
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::string& name = result.at(result.size() - sizes.size() + i);
      for (std::size_t k = 0, found = 0; k < names.size() && found == 0; ++k)
        for (std::size_t j = 0; j < names[k].size() && found == 0; ++j)
          if (names[k][j].name == name) {
            found = 1;
            if (product.shapes[k][j] == sizes[i]) type += ", " + axis_type(names[k][j], sizes[i]);
          }
    }
    return type + ">";
  }

  /// The factors that need a gradient: all, where the row does not say. A bias costs nothing backward.
  static std::string wanted(const json& o, std::size_t factors) {
    const std::size_t first = o.at("op") == "addmm" || o.at("op") == "baddbmm" ? 1 : 0;
    std::string list;
    for (std::size_t k = 0; k < factors; ++k)
      if (!o.contains("grad") || o.at("grad").at(first + k).get<bool>()) list += ", " + std::to_string(k);
    return list.empty() ? list : list.substr(2);
  }
  bool has_backward() const { return !row_.at("bwd").is_null(); }

  void write_operation(const json& o) {
    const std::string op = o.at("op");
    if (op.substr(0, 4) == "conv") {
      write_convolution(o);
      return;
    }
    static const std::vector<std::string> products{"einsum",  "mm",     "bmm",   "addmm",
                                                   "baddbmm", "matmul", "linear"};
    if (std::find(products.begin(), products.end(), op) == products.end())
      throw std::runtime_error("an operation that is not known: '" + op + "'");
    const spelled s = spell_product(o);
    push("cases::count_of<" + s.type + ", std::index_sequence<" + (has_backward() ? wanted(o, s.arity) : "") +
             ">" + s.operands + ">()",
         o);
  }
  void write_convolution(const json& o) {
    const std::size_t spatial = o.at("shapes").at(0).size() - 2;
    std::string options = "{";
    for (const char* name : {"stride", "padding", "dilation", "output_padding"}) {
      if (!o.contains(name)) continue;
      json list = o.at(name);
      if (!list.is_array()) list = json(std::vector<std::size_t>(spatial, o.at(name).get<std::size_t>()));
      options += std::string(options == "{" ? "" : ", ") + "." + name + " = " + text_of_shape(list);
    }
    if (o.contains("groups"))
      options += std::string(options == "{" ? "" : ", ") + ".groups = " + number(o.at("groups"));
    if (o.at("op").get<std::string>().substr(0, 14) == "conv_transpose")
      options += std::string(options == "{" ? "" : ", ") + ".transposed = true";
    const auto needs = [&](std::size_t k) {
      return has_backward() && (!o.contains("grad") || o.at("grad").at(k).get<bool>()) ? "true" : "false";
    };
    push("cases::count_of_convolution(" + text_of_shape(o.at("shapes").at(0)) + ", " +
             text_of_shape(o.at("shapes").at(1)) + ",\n        " + options + "}, " + needs(0) + ", " +
             needs(1) + ")",
         o);
  }
  void push(const std::string& cost, const json& o) {
    body_ += "  operations.push_back({" + cost + ",\n      " + number(o.at("flops")) + ", " +
             std::to_string(counts_backward() ? 1 : o.value("count", std::uint64_t{1})) + "u});\n";
  }

  /// Products come in pairs: the scores, and what they weigh.
  void write_attention() {
    const json& all = row_.at("ops");
    if (all.size() % 2 != 0) throw std::runtime_error("attention whose products come in no pairs");
    const bool fused = row_.value("backward_algorithm", "") == "flash";
    for (std::size_t i = 0; i < all.size(); i += 2) {
      call scores = product_of(all.at(i)), mixed = product_of(all.at(i + 1));
      std::vector<std::string> q_and_k = operand_types(scores), p_and_v = operand_types(mixed);
      const std::string type = "attention_" + std::to_string(++calls_) + "_" + name_;
      structures_ +=
          "struct " + type +
          " {\n  constexpr auto operator()(const auto& q, const auto& k, const auto& v) const {\n"
          "    return nk::fn([](auto x, auto y, auto z) {\n" +
          (fused ? "      const nk::composite_scope in(nk::composite::attention, x, y, z);\n" : "") +
          "      return " + callee(mixed) + "(nk::softmax<" + quoted(summed_by(scores, mixed)) + ">(" +
          callee(scores) + "(x, y)), z);\n    })(q, k, v);\n  }\n};\n";
      body_ += "  operations.push_back({cases::count_of_attention<" + type + ",\n        " + q_and_k.at(0) +
               ",\n        " + q_and_k.at(1) + ",\n        " + p_and_v.at(1) + ", " +
               (fused ? "true" : "false") + ">(),\n      " +
               std::to_string(all.at(i).at("flops").get<std::uint64_t>() +
                              all.at(i + 1).at("flops").get<std::uint64_t>()) +
               "u, 1u});\n";
    }
  }
  static call product_of(const json& o) {
    call c;
    c.op = "einsum";
    c.dtype = "f64";
    c.pattern = o.at("equation");
    c.shapes = o.at("shapes").get<std::vector<shape>>();
    return c;
  }
  /// The axis of the scores that the second product sums.
  static std::string summed_by(const call& scores, const call& mixed) {
    const auto right_of = [](const std::string& pattern) {
      std::vector<std::string> words = words_of(pattern);
      return std::vector<std::string>(std::find(words.begin(), words.end(), "->") + 1, words.end());
    };
    const std::vector<std::string> kept = right_of(mixed.pattern);
    for (const std::string& word : right_of(scores.pattern))
      if (std::find(kept.begin(), kept.end(), word) == kept.end()) return word;
    throw std::runtime_error("attention that sums no axis of its scores");
  }

  void write_nothing_counted() {
    structures_ += "struct call_" + name_ +
                   " {\n  constexpr auto operator()(const auto& x) const { return nk::cos(x); }\n};\n";
    body_ +=
        "  operations.push_back({cases::count_of<call_" + name_ +
        ", std::index_sequence<>,\n        nk::tensor<nk::f64, nk::dim<\"a\", 4>, nk::dim<\"b\", 5>>>(), 0u, "
        "1u});\n";
  }

  void write_convention() {
    const spelled s = spell_product(row_.at("ops").at(0));
    body_ += "  cases::compare_conventions<" + s.type + s.operands + ">(" + number(row_.at("fwd")) + ", " +
             number(row_.at("torch_dispatch_flops")) + ", " + number(row_.at("oe_naive_cost")) + ", " +
             number(row_.at("oe_opt_cost")) + ");\n";
  }

  /// Some rows list the products of the backward pass too.
  bool counts_backward() const {
    std::uint64_t sum = 0;
    for (const json& o : row_.at("ops"))
      sum += o.at("flops").get<std::uint64_t>() * o.value("count", std::uint64_t{1});
    return sum != row_.at("fwd").get<std::uint64_t>() && sum == row_.at("total").get<std::uint64_t>();
  }
  std::string with_totals() const {
    std::string text = "{.forward = " + number(row_.at("fwd")) + ", .total = " + number(row_.at("total"));
    if (has_backward()) text += ", .backward = " + number(row_.at("bwd"));
    if (row_.contains("bwd_one_operand")) text += ", .one_operand = " + number(row_.at("bwd_one_operand"));
    return "  std::vector<cases::counted_operation> operations;\n" + body_ + "  cases::compare_counts(" +
           text + "}, operations);\n";
  }

  const json& row_;
  std::string name_, structures_, body_;
  int calls_ = 0;
};

}  // namespace cases
