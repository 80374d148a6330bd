// Groups of parameters that are updated alike, chosen by patterns on their names. Plain data: where a group
// lies in memory is train/parameter_layout.hpp's business.
#pragma once

#include <cstddef>
#include <string_view>

namespace napkin {

/// A number, or that none was said: std::optional's header takes every file that nvcc compiles too long.
struct number_if_said {
  double number = 0;
  bool is_said = false;

  constexpr number_if_said() = default;
  constexpr number_if_said(double x) : number(x), is_said(true) {}
};

/// What is said of the parameters whose names match: the first group that matches has a parameter; those that
/// none matches are updated as the optimizer does by default.
struct parameter_group {
  std::string_view pattern;  // as matches() reads it
  double rate_scale = 1;     // times the step's learning rate
  /// Times the optimizer's weight decay. Unset: 0 for biases and gains, else 1.
  number_if_said decay_scale = {};
  /// By an optimizer of matrices (muon): those with more axes than row_axes, which are the matrix's rows, but
  /// never biases and gains.
  bool as_matrices = true;
  std::size_t row_axes = 1;
  /// Of such a matrix: whether its rows are what a product with it gives, [out, in] as PyTorch has weights.
  /// The layers of nn/ have them [in, out].
  bool rows_are_outputs = false;
};

/// By the end of its name. They scale or shift: to pull them to zero, as decay does, would too.
constexpr bool is_bias_or_gain(std::string_view parameter) {
  return parameter.ends_with("bias") || parameter.ends_with("gain");
}

namespace detail {

/// One alternative. `*` remembers where it stood, so that a mismatch lets it take one letter more.
constexpr bool matches_one(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = pattern.size(), taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star < pattern.size()) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// The alternative of a pattern that begins at `begin`; whoever walks them goes on behind it, and its bar.
constexpr std::string_view alternative_at(std::string_view pattern, std::size_t begin) {
  return pattern.substr(begin, pattern.find('|', begin) - begin);
}

}  // namespace detail

/// Whether a parameter's name, `blocks.3.mlp.up`, is one that a pattern means: `*` stands for any letters,
/// dots included, `?` for one, `|` between alternatives.
///
/// Example  matches("*.bias|*.gain", "blocks.0.norm.gain")
constexpr bool matches(std::string_view pattern, std::string_view name) {
  for (std::size_t at = 0; at <= pattern.size();) {
    const std::string_view one = detail::alternative_at(pattern, at);
    if (detail::matches_one(one, name)) return true;
    at += one.size() + 1;
  }
  return false;
}

/// A policy of train_step: the groups of List::value, an array of parameter_group.
///
/// Example  struct slow_head {
///            static constexpr nk::parameter_group value[] = {{.pattern = "head", .rate_scale = 0.1}};
///          };
///          using step = nk::train_step<model, nk::adamw, nk::groups<slow_head>>;
template <class List>
struct groups {
  using group_list = List;
};

/// A policy of train_step: gradients are those of N batches together, each run through the model by itself,
/// so that only one batch's activations are in memory. A step is then given N batches behind one another.
///
/// Memory  one more vector of gradients where N > 1
template <std::size_t N>
struct micro_batches {
  static constexpr std::size_t batches = N;
};

}  // namespace napkin
