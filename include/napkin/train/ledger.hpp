// A training step's costs as lines of text, sorted, one number a line, made in the compiler: what a project
// commits beside its model, so that a change of costs is seen in review. cmake/napkin-ledger.cmake writes and
// compares it; nothing is run for it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "napkin/cost/conventions.hpp"
#include "napkin/train/step.hpp"

namespace napkin {

namespace detail {

/// Where the text goes: counted first, then written.
struct ledger_sink {
  char* out = nullptr;
  std::size_t size = 0;
  constexpr void put(char c) {
    if (out != nullptr) out[size] = c;
    ++size;
  }
  constexpr void put(std::string_view text) {
    for (const char c : text) put(c);
  }
  constexpr void put(std::uint64_t n) {
    char digits[20]{};
    std::size_t count = 0;
    do digits[count++] = static_cast<char>('0' + n % 10);
    while ((n /= 10) != 0);
    while (count > 0) {
      put(digits[--count]);
      if (count > 0 && count % 3 == 0) put(',');
    }
  }
};

/// A parameter's path without its last name, numbers as `*`, one character after another: "blocks.*.mlp" of
/// "blocks.3.mlp.up". 0 at the end.
class layer_letters {
 public:
  constexpr explicit layer_letters(std::string_view path) : path_(path) {
    const std::size_t dot = path.rfind('.');
    if (dot != std::string_view::npos) path_ = path.substr(0, dot);
  }
  constexpr char next() {
    if (at_ == path_.size()) return 0;
    if (is_digit(path_[at_]) && (at_ == 0 || path_[at_ - 1] == '.')) {
      std::size_t end = at_;
      while (end < path_.size() && is_digit(path_[end])) ++end;
      if (end == path_.size() || path_[end] == '.') {
        at_ = end;
        return '*';
      }
    }
    return path_[at_++];
  }

 private:
  static constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
  std::string_view path_;
  std::size_t at_ = 0;
};
/// Below 0, 0 or above, as a comes before b.
constexpr int compare_layers(std::string_view a, std::string_view b) {
  for (layer_letters x(a), y(b);;) {
    const char p = x.next(), q = y.next();
    if (p != q) return p < q ? -1 : 1;
    if (p == 0) return 0;
  }
}

struct ledger_layer {
  std::string_view path;  // of one of its parameters
  std::uint64_t matmul = 0, bytes = 0;
};

/// Sorted, without what belongs to no parameter.
template <class Step>
constexpr buffer<ledger_layer> layers_of() {
  constexpr const auto& table = parameter_table<typename Step::model>;
  buffer<ledger_layer> layers;
  Step::for_each_line([&](const plan_line& line) {
    if (line.origin < 0 || static_cast<std::size_t>(line.origin) >= table.size()) return;
    const std::string_view path = table[static_cast<std::size_t>(line.origin)].name;
    std::size_t at = 0;
    while (at < layers.size() && compare_layers(layers[at].path, path) < 0) ++at;
    if (at == layers.size() || compare_layers(layers[at].path, path) != 0) {
      layers.push_back({});
      for (std::size_t i = layers.size() - 1; i > at; --i) layers[i] = layers[i - 1];
      layers[at] = {path};
    }
    layers[at].matmul = counted_sum(layers[at].matmul, line.flops.matmul);
    layers[at].bytes = counted_sum(layers[at].bytes, line.bytes.total());
  });
  return layers;
}

class ledger_writer {
 public:
  constexpr ledger_writer(ledger_sink& to, std::string_view line, std::string_view name)
      : to_(to), line_(line), name_(name) {}

  constexpr void number(std::string_view a, std::string_view b, std::uint64_t n) {
    begin();
    to_.put(a);
    to_.put(b);
    end(n);
  }
  constexpr void sheet(std::string_view phase, const cost_sheet& c) {
    number(phase, ".bytes.read", c.bytes.read);
    number(phase, ".bytes.written", c.bytes.written);
    number(phase, ".flops.elementwise", c.flops.elementwise);
    number(phase, ".flops.matmul", c.flops.matmul);
    number(phase, ".flops.recomputed", c.flops.recomputed);
    number(phase, ".flops.reduce", c.flops.reduce);
    number(phase, ".flops.transcendental", c.flops.transcendental);
    number(phase, ".launches", c.launches);
  }
  constexpr void counts(std::string_view convention, const conventions::counts& c) {
    number(convention, ".backward", c.backward);
    number(convention, ".forward", c.forward);
  }
  constexpr void layer(const ledger_layer& l) {
    const auto one = [&](std::string_view what, std::uint64_t n) {
      begin();
      to_.put("layer ");
      for (layer_letters letters(l.path); const char c = letters.next();) to_.put(c);
      to_.put(what);
      end(n);
    };
    one(".bytes", l.bytes);
    one(".flops.matmul", l.matmul);
  }

 private:
  constexpr void begin() {
    to_.put(line_);
    to_.put(name_);
    to_.put(' ');
  }
  constexpr void end(std::uint64_t n) {
    to_.put(' ');
    to_.put(n);
    to_.put('\n');
  }
  ledger_sink& to_;
  std::string_view line_, name_;
};

template <class Step>
constexpr void write_ledger(ledger_writer w) {
  w.sheet("backward", Step::cost.backward);
  w.counts("exact", conventions::exact<Step>);
  w.sheet("forward", Step::cost.forward);
  for (const ledger_layer& l : layers_of<Step>()) w.layer(l);
  w.number("memory.activations", "", Step::memory.activations);
  w.number("memory.gradients", "", Step::memory.gradients);
  w.number("memory.inputs", "", Step::memory.inputs);
  w.number("memory.intermediates", "", Step::memory.intermediates);
  if (Step::memory.narrow_copies > 0) w.number("memory.narrow_copies", "", Step::memory.narrow_copies);
  w.number("memory.optimizer_state", "", Step::memory.optimizer_state);
  w.number("memory.parameters", "", Step::memory.parameters);
  w.number("memory.peak", "", Step::memory.peak);
  w.number("memory.tables", "", Step::memory.tables);
  w.sheet("optimizer", Step::cost.optimizer);
  w.number("parameters", "", Step::parameter_count);
  w.number("tokens", "", Step::tokens);
  w.counts("torch", conventions::torch<Step>);
}

}  // namespace detail

/// The lines, each `line` + `name` + " what number\n": sorted where `name` is the same.
template <class Step, std::size_t Size>
constexpr std::array<char, Size> write_ledger(std::string_view line, std::string_view name) {
  std::array<char, Size> text{};
  detail::ledger_sink to{text.data()};
  detail::write_ledger<Step>({to, line, name});
  return text;
}
template <class Step>
constexpr std::size_t ledger_size(std::string_view line, std::string_view name) {
  detail::ledger_sink to;
  detail::write_ledger<Step>({to, line, name});
  return to.size;
}

}  // namespace napkin

// NAPKIN_LEDGER(variable, "name", type...): a constant with external linkage that holds the ledger of a step
// between line breaks, for cmake/napkin-ledger.cmake to find in the object file.
#define NAPKIN_LEDGER(variable, name, ...)                                                         \
  extern const struct variable##_type {                                                            \
    char before = '\n';                                                                            \
    std::array<char, napkin::ledger_size<__VA_ARGS__>("napkin-ledger ", name)> text;               \
    char after = '\0';                                                                             \
  } variable;                                                                                      \
  constexpr variable##_type variable{                                                              \
      '\n',                                                                                        \
      napkin::write_ledger<__VA_ARGS__, napkin::ledger_size<__VA_ARGS__>("napkin-ledger ", name)>( \
          "napkin-ledger ", name),                                                                 \
      '\0'};
