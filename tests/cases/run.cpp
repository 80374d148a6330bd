// The program of the generated cases: runs each and prints "passed <id>" or "failed <id> <why>" for each.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "case.hpp"
#include "count.hpp"
#include "napkin/passes/contract.hpp"

namespace cases {

namespace {

[[noreturn]] void fail(const auto&... words) {
  std::ostringstream text;
  text.precision(17);
  (text << ... << words);
  throw std::runtime_error(text.str());
}

std::string in_words(std::span<const std::size_t> sizes) {
  std::string text = "(";
  for (const std::size_t s : sizes) text += (text.size() > 1 ? ", " : "") + std::to_string(s);
  return text + ")";
}

double weighted(const values& y, const values& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * weights[i];
  return sum;
}

constexpr std::size_t probes = 6;  // elements of each operand whose derivatives are compared

}  // namespace

std::vector<part>& all_parts() {
  static std::vector<part> parts;
  return parts;
}

void compare_shape(const row& r, std::span<const std::size_t> shape) {
  if (!std::equal(shape.begin(), shape.end(), r.shape.begin(), r.shape.end()))
    fail("shape ", in_words(shape), ", expected ", in_words(r.shape));
}

void compare_values(const row& r, const values& found) {
  std::size_t count = 1;
  for (const std::size_t s : r.shape) count *= s;
  if (found.size() != count) fail(found.size(), " elements, expected ", count);
  if (r.first.size() != std::min<std::size_t>(8, count))
    fail("the row has ", r.first.size(), " first elements");
  for (std::size_t i = 0; i < r.first.size(); ++i)
    if (!(std::abs(found[i] - r.first[i]) <= r.rtol * std::max(1.0, std::abs(r.first[i]))))
      fail("element ", i, " is ", found[i], ", expected ", r.first[i]);
  const double sum = weighted_sum(found);
  if (!(std::abs(sum - r.sum) <= r.rtol * r.abs_sum)) fail("weighted sum ", sum, ", expected ", r.sum);
}

void compare_flops(const row& r, const nk::graph& g) {
  if (!r.flops) return;
  const nk::graph_view v = g.view();
  for (int id = 0; id < static_cast<int>(v.size()); ++id) {
    if (v[id].kind != nk::op::einsum) continue;
    const std::uint64_t direct = nk::passes::contraction_flops(v, id);
    const std::uint64_t sums_first = nk::passes::contraction_flops(v, id, true);
    if (direct != *r.flops) fail("planned FLOPs ", direct, ", expected ", *r.flops);
    if (sums_first != *r.flops_sums_first)
      fail("planned FLOPs, sums first, ", sums_first, ", expected ", *r.flops_sums_first);
    return;
  }
  fail("the graph has no einsum");
}

void expect_count(const std::string& of_what, std::uint64_t found, std::uint64_t expected) {
  if (found != expected) fail(of_what, " is ", found, ", expected ", expected);
}

void compare_counts(const count_row& r, const std::vector<counted_operation>& operations) {
  nk::conventions::counts sum;
  std::vector<std::uint64_t> one(2);
  for (const counted_operation& o : operations) {
    expect_count("FLOPs of one operation", o.cost.flops.forward, o.flops);
    sum.forward += o.count * o.cost.flops.forward;
    sum.backward += o.count * o.cost.flops.backward;
    one.resize(std::max(one.size(), o.cost.one_operand.size()));
    for (std::size_t k = 0; k < o.cost.one_operand.size(); ++k) one[k] += o.count * o.cost.one_operand[k];
  }
  expect_count("FLOPs forward", sum.forward, r.forward);
  if (r.backward) expect_count("FLOPs backward", sum.backward, *r.backward);
  expect_count("FLOPs in all", r.backward ? sum.total() : sum.forward, r.total);
  if (!r.one_operand) return;
  for (std::size_t k = 0; k < one.size(); ++k)
    expect_count("FLOPs backward for operand " + std::to_string(k) + " alone", one[k], *r.one_operand);
}

void compare_gradient(const row&, const differentiated& d, double step) {
  std::vector<values> x = d.operands;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (d.gradients[k].size() != x[k].size()) fail("the gradient of operand ", k, " has another size");
    const std::size_t stride = std::max<std::size_t>(1, x[k].size() / probes);
    for (std::size_t i = stride / 2; i < x[k].size(); i += stride) {
      const double at = x[k][i];
      x[k][i] = at + step;
      const values above = d.evaluate(x);
      x[k][i] = at - step;
      const values below = d.evaluate(x);
      x[k][i] = at;
      values change(above.size());
      double scale = 1;
      for (std::size_t j = 0; j < above.size(); ++j) {
        change[j] = (above[j] - below[j]) / (2 * step);
        scale += (std::abs(above[j]) + std::abs(below[j])) * 1e-6;
      }
      const double expected = weighted(change, d.weights), found = d.gradients[k][i];
      if (!(std::abs(found - expected) <= 1e-9 * std::max(scale, std::abs(expected))))
        fail("the derivative by element ", i, " of operand ", k, " is ", found, ", differences give ",
             expected);
    }
  }
}

}  // namespace cases

// run [ID...]: leaves these cases out, which crashed before.
int main(int count, char** arguments) {
  const std::vector<std::string> left_out(arguments + 1, arguments + count);
  const std::vector<cases::part>& parts = cases::all_parts();
  for (std::size_t i = 0; i < parts.size();) {
    const std::string id = parts[i].expected.id;
    std::string why;
    const bool runs = std::find(left_out.begin(), left_out.end(), id) == left_out.end();
    if (runs) std::cout << "begun " << id << std::endl;  // flushed: the next line may end the program
    for (; i < parts.size() && id == parts[i].expected.id; ++i) {
      try {
        if (runs && why.empty()) parts[i].check(parts[i].expected);
      } catch (const std::exception& e) {
        why = e.what();
      }
    }
    if (runs) std::cout << (why.empty() ? "passed " : "failed ") << id << ' ' << why << '\n';
  }
  std::cout << "ended" << std::endl;
}
