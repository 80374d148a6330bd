// What every plan owes whoever runs it, asked of its tables: nothing is read that was not written before,
// every output is written, and what an instruction touches is alive while it runs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "napkin/plan/records.hpp"

namespace napkin::testing {

/// Outputs `first_output` and following lie where the inputs from `first_slot` on do, as accumulations may.
struct in_place {
  std::size_t first_slot = 0, first_output = 0, count = 0;
};

namespace detail {

template <class Product>
class plan_reader {
 public:
  plan_reader(const planning::plan<Product>& plan, std::size_t outputs, in_place same)
      : p_(plan), same_(same), lives_(plan.lives.size(), false), outputs_(outputs, false) {}

  /// Empty where all is well.
  std::string first_flaw() {
    for (std::size_t i = 0; i < p_.instructions.size() && flaw_.empty(); ++i) visit(p_.instructions[i]);
    for (std::size_t o = 0; o < outputs_.size() && flaw_.empty(); ++o)
      if (!outputs_[o]) flaw_ = "output " + std::to_string(o) + " is never written";
    return flaw_;
  }

 private:
  const planning::plan<Product>& p_;
  in_place same_;
  std::vector<bool> lives_, outputs_;  // written so far
  std::string flaw_;

  void fail(const planning::instruction& now, const std::string& what) {
    if (flaw_.empty()) flaw_ = "instruction of node " + std::to_string(now.node) + " " + what;
  }
  void touch(const planning::instruction& now, const planning::location& l) {
    if (l.where != planning::region::arena) return;
    const passes::lifetime& life = p_.lives[l.at];
    if (now.time < life.first || now.time > life.last)
      fail(now, "touches buffer " + std::to_string(l.at) + ", which is not alive");
  }
  void read(const planning::instruction& now, const planning::location& l) {
    touch(now, l);
    if (l.where == planning::region::input) {
      if (l.at < same_.first_slot || l.at >= same_.first_slot + same_.count) return;
      const std::size_t o = l.at - same_.first_slot + same_.first_output;
      if (outputs_[o]) fail(now, "reads input " + std::to_string(l.at) + " after its output was written");
      if (now.first_output) fail(now, "adds to output " + std::to_string(o) + " for the first output");
      return;
    }
    const bool written = l.where == planning::region::output ? outputs_[l.at] : lives_[l.at];
    if (!written)
      fail(now, (l.where == planning::region::output ? "reads output " : "reads buffer ") +
                    std::to_string(l.at) + " before it is written");
  }
  void write(const planning::instruction& now, const planning::location& l) {
    touch(now, l);
    if (l.where == planning::region::output) outputs_[l.at] = true;
    if (l.where == planning::region::arena) lives_[l.at] = true;
  }

  void visit(const planning::instruction& now) {
    if (now.kind == planning::unit_kind::kernel) return visit_kernel(now, p_.kernels[index(now.index)]);
    if (now.kind == planning::unit_kind::contraction) {
      visit_product(now, p_.contractions[index(now.index)]);
      if (now.epilogue >= 0) visit_kernel(now, p_.kernels[index(now.epilogue)]);
    } else if (now.kind == planning::unit_kind::attention) {
      const planning::attention_record& r = p_.attentions[index(now.index)];
      for (const planning::attention_operand& x : r.operands)
        if (x.there && !x.written) read(now, x.at);
      for (const planning::attention_operand& x : r.operands)
        if (x.there && x.written) write(now, x.at);
    } else {
      const planning::movement_record& r = p_.movements[index(now.index)];
      read(now, r.from);
      if (r.kind == planning::unit_kind::gather || r.kind == planning::unit_kind::scatter_add)
        read(now, r.index);
      write(now, r.to);
    }
  }
  /// What a later phase needs again is read from where an earlier one stored it.
  void visit_kernel(const planning::instruction& now, const planning::kernel_record& r) {
    std::vector<planning::location> own;
    for (std::int32_t a = 0; a < r.accesses; ++a)
      if (const planning::access_record& x = p_.accesses[index(r.first_access + a)]; x.written)
        own.push_back(x.base);
    for (std::int32_t a = 0; a < r.accesses; ++a) {
      const planning::access_record& x = p_.accesses[index(r.first_access + a)];
      bool is_own = false;
      for (const planning::location& l : own) is_own = is_own || l == x.base;
      if (!is_own) read(now, x.base);
    }
    for (std::int32_t c = 0; c < r.columns; ++c)
      if (const planning::column_record& x = p_.columns[index(r.first_column + c)]; x.adds)
        read(now, x.added);
    for (const planning::location& l : own) write(now, l);
    for (std::int32_t c = 0; c < r.columns; ++c) write(now, p_.columns[index(r.first_column + c)].to);
  }
  void visit_product(const planning::instruction& now, const planning::contraction_record& r) {
    read(now, r.a), read(now, r.b);
    for (const planning::contraction_record::other& x : r.others)
      if (x.bytes > 0 && !x.written) read(now, x.at);
    write(now, r.c);
    for (const planning::contraction_record::other& x : r.others)
      if (x.bytes > 0 && x.written) write(now, x.at);
  }
  static std::size_t index(std::int32_t i) { return static_cast<std::size_t>(i); }
};

}  // namespace detail

/// The first thing that is wrong with a plan whose memory is not settled yet (make_unsettled_plan); empty
/// where nothing is.
template <class Product>
std::string flaw_of(const planning::plan<Product>& p, std::size_t outputs, in_place same = {}) {
  return detail::plan_reader<Product>(p, outputs, same).first_flaw();
}

}  // namespace napkin::testing
