// passes/print.hpp.
#include "napkin/passes/print.hpp"

#include <charconv>

#include "napkin/ops/primitives/table.hpp"

namespace napkin {

namespace {

template <class Number>
std::string text_of(Number value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  return {text, end};
}

/// "[0,_,2]": an axis that has no counterpart is "_".
std::string list(ids values) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ',';
    out += values[i] == -1 ? "_" : text_of(values[i]);
  }
  return out + "]";
}

/// a to z, A to Z, then the number in braces.
std::string label(std::int32_t l) {
  if (l < 26) return std::string(1, static_cast<char>('a' + l));
  if (l < 52) return std::string(1, static_cast<char>('A' + l - 26));
  return "{" + text_of(l) + "}";
}

std::string einsum_pattern(const graph_view& g, int id) {
  const row::einsum_labels labels(g, id);
  std::string out = " \"";
  for (std::size_t k = 0; k < labels.arity(); ++k) {
    if (k > 0) out += ',';
    for (std::int32_t l : labels.operand(k)) out += label(l);
  }
  out += "->";
  for (std::int32_t l : labels.result()) out += label(l);
  return out + "\"";
}

/// "ab,cb,cd->ad" causal log_sum scale=0.125; "ab,cb,cd,ac->ad" causal window=4 hidden=-1e+30 output scale=1
std::string attention_text(const graph_view& g, int id) {
  constexpr std::string_view parts[] = {"output", "log_sum", "query", "key", "value", "largest"};
  const row::attention_form form(g, id);
  const auto text = [](const row::attention_form::labels& labels) {
    std::string out;
    for (const std::int32_t l : labels) out += label(l);
    return out;
  };
  return " \"" + text(form.of_query) + "," + text(form.of_key) + "," + text(form.of_value) +
         (form.is_masked() ? "," + text(form.of_mask) : "") + "->" + text(form.of_output) + "\"" +
         (form.causal ? " causal" : "") +
         (form.window > 0 ? " window=" + text_of(static_cast<std::int32_t>(form.window)) : "") +
         (form.is_masked() ? " hidden=" + text_of(static_cast<double>(form.hidden_score)) : "") + " " +
         std::string(parts[static_cast<std::size_t>(form.part)]) + " scale=" + text_of(form.scale);
}

/// Steps may be -1, which in a list of axes means something else.
std::string steps(ids values) {
  std::string out = "[";
  for (std::size_t i = 0; i < values.size(); ++i) out += (i > 0 ? "," : "") + text_of(values[i]);
  return out + "]";
}

std::string details(const graph_view& g, int id) {
  const node& n = g[id];
  const ids attributes = g.attributes(id);
  switch (n.kind) {
    case op::input:
      return " slot=" + text_of(attributes[0]);
    case op::constant:
      return " " + text_of(n.value);
    case op::iota:
    case op::concat:
    case op::gather:
    case op::scatter_add:
      return " axis=" + text_of(attributes[0]);
    case op::expand:
    case op::diagonal:
      return " axes=" + list(attributes);
    case op::window:
      return " axis=" + text_of(attributes[0]) + " start=" + text_of(attributes[1]) +
             " step=" + text_of(attributes[2]) + " dilation=" + text_of(attributes[3]);
    case op::slice:
    case op::pad: {
      const std::size_t rank = attributes.size() / 2;
      return " start=" + steps(attributes.first(rank)) + " step=" + steps(attributes.from(rank));
    }
    case op::einsum:
      return einsum_pattern(g, id);
    case op::attention:
    case op::attention_backward:
      return attention_text(g, id);
    default:
      if (is_elementwise(n.kind)) return attributes.empty() ? "" : " order=" + list(attributes);
      return is_reduction(n.kind) ? " axes=" + list(attributes) : "";
  }
}

}  // namespace

std::string to_string(const graph_view& g) {
  std::string out;
  for (int id = 0; id < static_cast<int>(g.size()); ++id) {
    const node& n = g[id];
    out += "%" + text_of(id) + " ";
    out += name_of(n.type);
    out += '[';
    const shape& s = g.shape_of(id);
    for (std::size_t i = 0; i < s.size(); ++i) out += (i > 0 ? "," : "") + text_of(s[i]);
    out += "] = ";
    out += facts_of(n.kind).name;
    if (n.arity > 0) {
      out += '(';
      for (int k = 0; k < n.arity; ++k) out += (k > 0 ? ", %" : "%") + text_of(g.operand(id, k));
      out += ')';
    }
    out += details(g, id);
    if (n.composite != 0) out += " composite=" + text_of(n.composite);
    if (n.origin != -1) out += " origin=" + text_of(n.origin);
    out += '\n';
  }
  out += "return";
  for (std::size_t i = 0; i < g.output_count; ++i) out += (i > 0 ? ", %" : " %") + text_of(g.outputs[i]);
  return out + "\n";
}

}  // namespace napkin
