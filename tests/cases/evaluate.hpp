// A call evaluated in plain loops, as this library's language means it: the expected values of rows that the peers
// refuse and this library takes. It reads the pattern itself and knows nothing of the library's parser.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "call.hpp"
#include "values.hpp"

namespace cases {

struct evaluated {
  shape sizes;
  std::string rule;                           // how operands are filled
  std::optional<std::vector<double>> values;  // nothing where there are too many points for loops
};

namespace detail {

class loops {
 public:
  explicit loops(const call& c) : c_(c) {}

  /// Nothing where the text is none or does not fit the operands.
  std::optional<evaluated> run() {
    if (!computes() || !read_text() || !read_operands() || !solve() || !read_result() || !sides_agree())
      return {};
    evaluated out;
    for (const axis& a : result_) out.sizes.push_back(product(a));
    out.rule = c_.op == "einsum" ? "einsum" : c_.reduction == "prod" ? "table7" : "arange";
    std::size_t points = 1;
    for (const auto& [label, size] : size_) points *= size;
    if (points == 0 && c_.op == "reduce" && c_.reduction != "sum" && c_.reduction != "prod") return {};
    if (points <= 1'000'000) out.values = values(points, out);
    return out;
  }

 private:
  using axis =
      std::vector<std::string>;  // its labels; those of `...` are called "...0", counted from the right

  bool computes() const {
    static const std::set<std::string> reductions{"sum", "mean", "max", "min", "prod", "logsumexp"};
    const bool floating = c_.dtype == "f32" || c_.dtype == "f64";
    if (c_.op == "reduce") return floating && reductions.count(c_.reduction) != 0;
    return c_.op == "rearrange" || c_.op == "repeat" || (c_.op == "einsum" && floating);
  }

  bool read_text() {
    const std::size_t arrow = c_.pattern.find("->");
    has_result_ = arrow != c_.pattern.npos;
    if (!has_result_ && c_.op != "einsum") return false;
    for (const std::string& word : words_of(c_.pattern))
      for (const char c : word)
        if (static_cast<unsigned char>(c) > 127) return false;  // what letters there are is not known here
    const dialect how{c_.op == "einsum", true, false};
    std::size_t begin = 0;
    const std::size_t end = std::min(arrow, c_.pattern.size());
    for (std::size_t at = begin; at <= end; ++at)
      if (at == end || (c_.pattern[at] == ',' && c_.op == "einsum")) {
        const std::string text = c_.pattern.substr(begin, at - begin);
        if (!is_sound_side(text, how)) return false;
        written_.push_back(sides_of(text).operands[0]);
        begin = at + 1;
      }
    if (!has_result_) return true;
    const std::string text = c_.pattern.substr(arrow + 2);
    if (!is_sound_side(text, {c_.op == "einsum", true, true})) return false;
    written_result_ = sides_of(text).operands[0];
    return true;
  }

  bool read_operands() {
    if (written_.size() != c_.shapes.size()) return false;
    for (const auto& [name, size] : c_.given) size_[name] = size;
    for (std::size_t k = 0; k < written_.size(); ++k) {
      operands_.emplace_back();
      const side& s = written_[k];
      const shape& sizes = c_.shapes[k];
      std::size_t dots = s.size();
      for (std::size_t i = 0; i < s.size(); ++i)
        if (s[i].ellipsis()) dots = i;
      const bool has_dots = dots < s.size();
      const std::size_t written = s.size() - (has_dots ? 1 : 0);
      if (has_dots ? written > sizes.size() : written != sizes.size()) return false;
      dots_ = dots_ || has_dots;
      const std::size_t width = sizes.size() - written;
      for (std::size_t i = 0; i < s.size(); ++i) {
        if (i != dots) {
          axis a;
          if (!read_axis(s[i], a)) return false;
          operands_[k].push_back(a);
          continue;
        }
        for (std::size_t j = width; j-- > 0;) {
          const std::string label = "..." + std::to_string(j);
          std::size_t& size = size_.emplace(label, 1).first->second;
          const std::size_t here = sizes[dots + width - 1 - j];
          if (size == 1) size = here;
          if (here != size && here != 1) return false;
          operands_[k].push_back({label});
          left_.push_back(label);
        }
        width_ = std::max(width_, width);
      }
    }
    const std::set<std::string> unlike(left_.begin(), left_.end());
    return c_.op == "einsum" || unlike.size() == left_.size();
  }
  bool read_axis(const written_axis& written, axis& a) {
    for (const std::string& atom : written.atoms) {
      std::string label = atom;
      if (is_number(atom)) {
        const std::size_t size = std::stoull(atom);
        if (size == 1) continue;
        if (c_.op != "reduce") return false;
        label = "#" + std::to_string(left_.size());
        size_[label] = size;
      }
      a.push_back(label);
      left_.push_back(label);
    }
    return true;
  }

  /// Each round learns the one size that an axis leaves open, until nothing is new.
  bool solve() {
    std::size_t known = 0;
    do {
      known = size_.size();
      for (std::size_t k = 0; k < operands_.size(); ++k)
        for (std::size_t i = 0; i < operands_[k].size(); ++i)
          if (!learn(operands_[k][i], c_.shapes[k][i])) return false;
    } while (size_.size() != known);
    for (const std::string& label : left_)
      if (size_.count(label) == 0) return false;
    return true;
  }
  bool learn(const axis& a, std::size_t size) {
    if (a.size() == 1 && a[0].compare(0, 3, "...") == 0) return true;
    std::size_t product = 1;
    const std::string* open = nullptr;
    for (const std::string& label : a) {
      if (const auto at = size_.find(label); at != size_.end())
        product *= at->second;
      else if (open != nullptr)
        return true;  // for another axis to tell
      else
        open = &label;
    }
    if (open == nullptr) return product == size;
    if (product == 0 || size % product != 0) return false;
    size_[*open] = size / product;
    return true;
  }

  bool read_result() {
    if (!has_result_) {
      imply_result();
      return true;
    }
    for (const written_axis& written : written_result_) {
      axis a;
      for (const std::string& atom : written.atoms) {
        if (atom == "...") {
          if (!dots_ && c_.op != "einsum") return false;
          dots_in_result_ = true;
          for (std::size_t j = width_; j-- > 0;) a.push_back("..." + std::to_string(j));
        } else if (!is_number(atom)) {
          const bool is_new = std::find(left_.begin(), left_.end(), atom) == left_.end();
          if (is_new && (c_.op != "repeat" || size_.count(atom) == 0)) return false;
          a.push_back(atom);
        } else if (const std::size_t size = std::stoull(atom); size > 1) {
          if (c_.op != "repeat") return false;
          a.push_back("#result" + std::to_string(size_.size()));
          size_[a.back()] = size;
        }
      }
      right_.insert(right_.end(), a.begin(), a.end());
      if (written.ellipsis())
        for (const std::string& label : a) result_.push_back({label});
      else
        result_.push_back(a);
    }
    const std::set<std::string> unlike(right_.begin(), right_.end());
    return unlike.size() == right_.size();
  }
  /// numpy's: `...`, then the labels that stand once, sorted.
  void imply_result() {
    dots_in_result_ = true;
    std::map<std::string, std::size_t> times;
    for (const std::string& label : left_) ++times[label];
    for (std::size_t j = width_; j-- > 0;) result_.push_back({"..." + std::to_string(j)});
    for (const auto& [label, n] : times)
      if (n == 1 && label.compare(0, 3, "...") != 0) result_.push_back({label});
  }

  bool sides_agree() const {
    const bool keeps_all = c_.op == "rearrange" || c_.op == "repeat";
    if (dots_ && !dots_in_result_ && (keeps_all || (c_.op == "einsum" && width_ > 0))) return false;
    const std::set<std::string> in_result(right_.begin(), right_.end());
    for (const std::string& label : left_)
      if (keeps_all && in_result.count(label) == 0) return false;
    const std::set<std::string> in_operands(left_.begin(), left_.end());
    for (const auto& [name, size] : c_.given)
      if (in_operands.count(name) == 0 && in_result.count(name) == 0) return false;
    return true;
  }

  std::size_t product(const axis& a) const {
    std::size_t n = 1;
    for (const std::string& label : a) n *= size_.at(label);
    return n;
  }
  /// Where a point lies; an axis of size 1 that stretches is at 0.
  std::size_t offset(const std::vector<axis>& axes, const shape& sizes,
                     const std::map<std::string, std::size_t>& at) const {
    std::size_t place = 0;
    for (std::size_t i = 0; i < axes.size(); ++i)
      for (const std::string& label : axes[i])
        if (sizes[i] != 1 || size_.at(label) == 1) place = place * size_.at(label) + at.at(label);
    return place;
  }

  std::vector<double> values(std::size_t points, const evaluated& out) const {
    std::size_t count = 1;
    for (const std::size_t size : out.sizes) count *= size;
    std::vector<std::vector<double>> terms(count);
    std::map<std::string, std::size_t> at;
    for (std::size_t point = 0; point < points; ++point) {
      std::size_t rest = point;
      for (const auto& [label, size] : size_) {
        at[label] = rest % size;
        rest /= size;
      }
      double term = 1;
      for (std::size_t k = 0; k < operands_.size(); ++k)
        term *= element_of(out.rule, offset(operands_[k], c_.shapes[k], at), k);
      terms[offset(result_, out.sizes, at)].push_back(term);
    }
    std::vector<double> all;
    for (const std::vector<double>& t : terms) all.push_back(combined(t));
    return all;
  }
  double combined(const std::vector<double>& terms) const {
    const std::string& how = c_.reduction;
    if (how == "max") return *std::max_element(terms.begin(), terms.end());
    if (how == "min") return *std::min_element(terms.begin(), terms.end());
    double sum = 0, times = 1, exponentials = 0;
    const double largest = how == "logsumexp" ? *std::max_element(terms.begin(), terms.end()) : 0;
    for (const double x : terms) {
      sum += x;
      times *= x;
      exponentials += std::exp(x - largest);
    }
    if (how == "prod") return times;
    if (how == "logsumexp") return largest + std::log(exponentials);
    return how == "mean" ? sum / static_cast<double>(terms.size()) : sum;
  }

  const call& c_;
  std::vector<side> written_;
  side written_result_;
  std::vector<std::vector<axis>> operands_;
  std::vector<axis> result_;
  std::vector<std::string> left_, right_;  // labels, as often as they stand there
  std::map<std::string, std::size_t> size_;
  std::size_t width_ = 0;  // of `...`
  bool has_result_ = false, dots_ = false, dots_in_result_ = false;
};

}  // namespace detail

/// Nothing where the call does not fit its operands, or its names are beyond ASCII.
inline std::optional<evaluated> evaluate(const call& c) { return detail::loops(c).run(); }

}  // namespace cases
