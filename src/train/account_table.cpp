// An account as tables for a terminal.
#include <algorithm>
#include <utility>

#include "account_words.hpp"
#include "cost/aligned.hpp"
#include "napkin/cost/report.hpp"
#include "napkin/train/progress.hpp"
#include "napkin/train/step_account_text.hpp"

namespace napkin {
namespace {

std::string percent_text(double part) {
  char words[40];
  std::snprintf(words, sizeof words, "%.1f %%", 100 * part);
  return words;
}

/// What a row says of costs and times, behind its name.
std::vector<std::string> cells_of(const cost_sheet& cost, double seconds, std::string bound) {
  if (cost.launches == 0) return {"-", "-", "-", "-", "-"};
  return {flops_text(cost.flops.total()), bytes_text(cost.bytes.total()), intensity_text(cost),
          std::move(bound), seconds_text(seconds)};
}
void add_measured(std::vector<std::string>& cells, std::uint64_t flops, double bound, double seconds) {
  cells.push_back(seconds > 0 ? seconds_text(seconds) : "-");
  cells.push_back(seconds > 0 ? number_text(static_cast<double>(flops) / seconds, "FLOP/s") : "-");
  cells.push_back(seconds > 0 ? percent_text(bound / seconds) : "-");
}

std::string layer_table(const step_account& a) {
  std::vector<account_layer> rows;  // equal layers together
  for (const account_layer& layer : a.layers) {
    const std::string name = layer_of(layer.name + ".parameter");
    auto at = rows.begin();
    while (at != rows.end() && at->name != name) ++at;
    if (at == rows.end()) {
      at = rows.insert(at, account_layer{});
      at->name = name;
    }
    at->cost += layer.cost;
    at->bound.seconds += layer.bound.seconds;
    at->bound.compute += layer.bound.compute;
    at->bound.memory += layer.bound.memory;
    at->measured += layer.measured;
    at->parameters += layer.parameters;
    at->kept += layer.kept;
  }
  table cells{
      {"layer", "FLOPs", "moves", "FLOP/B", "bound by", "at least", "parameters", "kept", "launches"}};
  if (a.is_measured()) cells.back().insert(cells.back().end(), {"measured", "achieved", "of the bound"});
  const auto add = [&](const std::string& name, const account_sum& sum, std::uint64_t parameters,
                       std::uint64_t kept) {
    cells.push_back(cells_of(sum.cost, sum.bound.seconds, bound_text(sum)));
    std::vector<std::string>& row = cells.back();
    row.insert(row.begin(), name);
    row.insert(row.end(), {parameters == 0 ? "" : with_separators(parameters),
                           kept == 0 ? "" : bytes_text(kept), with_separators(sum.cost.launches)});
    if (a.is_measured()) add_measured(row, sum.cost.flops.total(), sum.bound.seconds, sum.measured);
  };
  std::uint64_t kept = 0;
  for (const account_layer& row : rows) {
    add(row.name, row, row.parameters, row.kept);
    kept += row.kept;
  }
  add("total", a.total, a.parameters, kept);
  return aligned_text(cells, 1);
}

bool repeats(const account_kernel& a, const account_kernel& b) {
  return a.phase == b.phase && a.line.kind == b.line.kind && a.operations == b.operations &&
         a.line.result == b.line.result && a.line.type == b.line.type && a.cost() == b.cost() &&
         a.products == b.products && a.line.refused == b.line.refused &&
         layer_of(a.layer + ".parameter") == layer_of(b.layer + ".parameter");
}

std::string kernel_table(const step_account& a) {
  struct row {
    const account_kernel* first;
    std::size_t runs;
    std::uint64_t live;
    double measured;  // of all runs
  };
  std::vector<row> rows;
  for (const account_kernel& k : a.kernels) {
    auto at = rows.begin();
    while (at != rows.end() && !repeats(*at->first, k)) ++at;
    if (at == rows.end()) at = rows.insert(at, {&k, 0, 0, 0});
    at->runs += k.runs;
    at->live = std::max(at->live, k.live);
    at->measured += k.measured * static_cast<double>(k.runs);
  }
  table cells{{"kernel of one run", "", "computes", "result", "runs", "FLOPs", "moves", "FLOP/B", "bound by",
               "at least", "needs"}};
  if (a.is_measured()) cells.back().insert(cells.back().end(), {"measured", "achieved", "of the bound"});
  for (const row& r : rows) {
    const account_kernel& k = *r.first;
    cells.push_back(cells_of(k.cost(), k.bound.seconds(), bound_text(k.bound)));
    std::vector<std::string>& to = cells.back();
    to.insert(to.begin(), {layer_of(k.layer + ".parameter"), std::string(name_of(k.phase)), computes_text(k),
                           result_text(k.line), with_separators(r.runs)});
    to.push_back(bytes_text(r.live));
    if (a.is_measured())
      add_measured(to, k.line.flops.total(), k.bound.seconds(), r.measured / static_cast<double>(r.runs));
  }
  return aligned_text(cells, 4);
}

/// Which products no library call computes, and why; empty where there are none.
std::string refused_table(const step_account& a) {
  std::vector<std::pair<const account_kernel*, std::size_t>> rows;
  for (const account_kernel& k : a.kernels) {
    if (k.line.refused.empty()) continue;
    auto at = rows.begin();
    while (at != rows.end() && !repeats(*at->first, k)) ++at;
    if (at == rows.end()) at = rows.insert(at, {&k, 0});
    at->second += k.runs;
  }
  if (rows.empty()) return {};
  table cells{{"layer", "", "result", "runs", "why"}};
  for (const auto& [k, runs] : rows)
    cells.push_back({layer_of(k->layer + ".parameter"), std::string(name_of(k->phase)), result_text(k->line),
                     with_separators(runs), std::string(k->line.refused)});
  return "\nProducts that no library call computes but a kernel of our own\n" + aligned_text(cells, 3);
}

/// Which values a budget has made again; empty where there are none.
std::string remade_table(const step_account& a) {
  if (a.remade.empty()) return {};
  table cells{{"layer", "value", "result", "made", "how many", "frees", "keeps", "FLOPs"}};
  std::uint64_t freed = 0, kept = 0, flops = 0;
  for (const account_remade& g : remade_groups(a)) {
    const bool keeps = g.value.how == remade::kept;
    const std::string bytes = g.value.bytes == 0 ? "" : bytes_text(g.value.bytes);
    cells.push_back({g.layers, value_text(g.value), result_text(g.value.type, g.value.result),
                     keeps ? "" : std::string(name_of(g.value.how)), with_separators(g.count),
                     keeps ? "" : bytes, keeps ? bytes : "", keeps ? "" : flops_text(g.value.flops.total())});
    (keeps ? kept : freed) += g.value.bytes;
    flops += g.value.flops.total();
  }
  cells.push_back({"total", "", "", "", with_separators(a.remade.size()), bytes_text(freed), bytes_text(kept),
                   flops_text(flops)});
  return "\nValues of the forward pass that the backward pass makes, of one run: again, or later where "
         "nothing "
         "else reads\nthem; and what is kept for those alone\n" +
         aligned_text(cells, 4);
}

std::string utilisation_text(const char* name, const step_account& a, double (step_account::*of)() const) {
  try {
    return std::string("  ") + name + " " + percent_text((a.*of)()) + "\n";
  } catch (const input_error& e) {
    return std::string("  ") + name + " not known: " + e.what() + "\n";
  }
}

std::string flops_line(const char* name, const conventions::counts& c) {
  return std::string(name) + flops_text(c.total()) + " (" + flops_text(c.forward) + " forward, " +
         flops_text(c.backward) + " backward)\n";
}

}  // namespace

std::string account_table(const step_account& a) {
  std::string text = "One step of " + a.name + ": " + with_separators(a.tokens) + " tokens, " +
                     with_separators(a.parameters) + " parameters";
  if (a.micro_batches > 1) text += ", " + with_separators(a.micro_batches) + " micro-batches";
  text += "\non " + std::string(std::string_view(a.on.name)) + " (" +
          number_text(static_cast<double>(a.on.bandwidth), "B/s");
  for (const unit_rate& r : a.on.rates)
    if (r.operands != arithmetic::none)
      text += ", " + number_text(static_cast<double>(r.dense.per_second), "FLOP/s") + " in " +
              std::string(name_of(r.operands));
  text +=
      ")\n\nBy layer; \"at least\" is a lower bound of the time, \"kept\" are bytes for the backward pass\n";
  text += layer_table(a);
  text += "\nBy kernel, equal ones of equal layers once; \"needs\" is the arena's live bytes\n" +
          kernel_table(a) + refused_table(a);
  text += detail::attention_text(a.attention);
  text += "\nFLOPs of its matrix products\n";
  text += flops_line("  causal as a triangle   ", a.model_flops.exact);
  text += flops_line("  as PyTorch counts      ", a.model_flops.torch);
  text += flops_line("  by the rule of 6 N D   ", a.model_flops.rule_6nd);
  text += "\nMemory\n" + memory_table(detail::sheet_of(a.memory)) + detail::kept_text(a.kept) +
          detail::recomputation_text(a.recomputed) + remade_table(a);
  if (a.timing.step > 0) {
    text += "\nMeasured\n  a step " + seconds_text(a.timing.step) + ", at least " +
            seconds_text(a.total.bound.seconds) + "\n";
    text += utilisation_text("MFU", a, &step_account::mfu);
    text += utilisation_text("HFU", a, &step_account::hfu);
  }
  return text;
}

}  // namespace napkin
