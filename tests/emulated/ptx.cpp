// From text to kernels: statements, names and scopes; labels become numbers, and registers are shared.
#include "emulated/ptx.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <stdexcept>

#include "emulated/instructions.hpp"

namespace napkin::testing::ptx {
namespace {

[[noreturn]] void unknown(std::string_view what, std::string_view statement) {
  throw std::runtime_error("emulated: PTX: " + std::string(what) + ": " + std::string(statement));
}

std::string_view trimmed(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front())) != 0) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back())) != 0) s.remove_suffix(1);
  return s;
}

/// The next word: up to white space, or one of ",[]{}|+()<>".
std::string_view take_word(std::string_view& s) {
  s = trimmed(s);
  const std::string_view marks = ",[]{}|+()<>=";
  std::size_t n = 0;
  while (n < s.size() && std::isspace(static_cast<unsigned char>(s[n])) == 0 && marks.find(s[n]) == s.npos)
    ++n;
  if (n == 0 && !s.empty()) n = 1;
  const std::string_view word = s.substr(0, n);
  s.remove_prefix(n);
  return word;
}

std::uint64_t number_of(std::string_view s, std::string_view statement) {
  const bool negative = s.starts_with('-');
  if (negative) s.remove_prefix(1);
  std::uint64_t value = 0;
  int base = 10;
  if (s.starts_with("0x")) base = 16, s.remove_prefix(2);
  if (s.ends_with('U')) s.remove_suffix(1);
  const auto [end, failed] = std::from_chars(s.data(), s.data() + s.size(), value, base);
  if (failed != std::errc{} || end != s.data() + s.size()) unknown("a number", statement);
  return negative ? 0 - value : value;
}

const std::pair<std::string_view, std::int32_t> special_names[] = {{"%tid.x", tid_x},
                                                                   {"%tid.y", tid_y},
                                                                   {"%tid.z", tid_z},
                                                                   {"%ntid.x", ntid_x},
                                                                   {"%ntid.y", ntid_y},
                                                                   {"%ntid.z", ntid_z},
                                                                   {"%ctaid.x", ctaid_x},
                                                                   {"%ctaid.y", ctaid_y},
                                                                   {"%ctaid.z", ctaid_z},
                                                                   {"%nctaid.x", nctaid_x},
                                                                   {"%nctaid.y", nctaid_y},
                                                                   {"%nctaid.z", nctaid_z},
                                                                   {"%laneid", laneid},
                                                                   {"%warpid", warpid},
                                                                   {"%lanemask_lt", lanemask_lt},
                                                                   {"%lanemask_le", lanemask_le}};

std::size_t aligned(std::size_t x, std::size_t to) { return (x + to - 1) / to * to; }

/// Of ".align 8 .b8 name[712]" and the like.
struct declaration {
  std::string_view name;
  std::size_t align = 0, element = 0, count = 1;
  std::size_t bytes() const { return element * count; }
};
declaration declared(std::string_view s) {
  const std::string_view all = s;
  declaration d;
  for (std::string_view word = take_word(s); !word.empty(); word = take_word(s)) {
    if (word == ".align") {
      d.align = number_of(take_word(s), all);
    } else if (word == "[") {
      word = take_word(s);
      d.count = word == "]" ? 0 : number_of(word, all);
    } else if (word.starts_with('.')) {
      const std::string_view digits = word.substr(word.find_first_of("0123456789"));
      if (word.find_first_of("0123456789") != word.npos) d.element = number_of(digits, all) / 8;
    } else if (word != "]") {
      d.name = word;
      if (s.starts_with('=')) unknown("a variable with a value", all);
    }
  }
  if (d.align == 0) d.align = d.element;
  return d;
}

class reader {
 public:
  explicit reader(std::string_view text) : left_(text) {}

  module read() {
    for (std::string_view s = statement(); !s.empty() || !left_.empty(); s = statement()) {
      if (s.empty()) continue;
      const std::size_t entry = s.find(".entry ");
      if (entry != s.npos)
        read_kernel(s.substr(entry + 7));
      else if (s.find(".extern .shared ") != s.npos)
        module_names_[std::string(declared(s.substr(s.find(".shared ") + 8)).name)] = behind_all;
      else if (s.find(".shared ") != s.npos)
        add_shared(s.substr(s.find(".shared ") + 8), module_shared_, module_names_);
      else if (s.find(".global ") != s.npos)
        add_global(s.substr(s.find(".global ") + 8));
      else
        unknown("a directive", s);
    }
    return std::move(made_);
  }

 private:
  using names = std::map<std::string, std::uint64_t, std::less<>>;

  std::string_view left_;
  module made_;
  names module_names_;             // of variables: an offset in shared memory, or an address
  std::size_t module_shared_ = 0;  // bytes
  // What a launch adds of shared memory lies behind a kernel's own, which is known at its end. This is no
  // offset and no address.
  static constexpr std::uint64_t behind_all = 0xbe41'9d00'0000'0000;
  std::string plain_;  // of the statement, without comments
  char ended_by_ = ';';

  /// Up to and without the next ';', '{', '}' or ':' that ends one; `ended_by_` says which.
  std::string_view statement() {
    plain_.clear();
    int depth = 0;
    bool quoted = false;
    while (!left_.empty()) {
      const char c = left_.front();
      if (!quoted && left_.starts_with("//")) {
        left_.remove_prefix(std::min(left_.find('\n'), left_.size()));
        continue;
      }
      left_.remove_prefix(1);
      if (c == '"') quoted = !quoted;
      const bool begun = !trimmed(plain_).empty();
      // What stands on a line of its own.
      if (c == '\n' && (plain_.starts_with(".version") || plain_.starts_with(".target") ||
                        plain_.starts_with(".address_size"))) {
        plain_.clear();
        continue;
      }
      if (c == '{' && begun && plain_.find(".entry") == plain_.npos) ++depth;
      if (c == '}' && depth > 0) {
        --depth;
      } else if (!quoted && depth == 0 && (c == ';' || c == '{' || c == '}' || c == ':')) {
        ended_by_ = c;
        return trimmed(plain_);
      }
      if (begun || std::isspace(static_cast<unsigned char>(c)) == 0) plain_ += c;
    }
    return trimmed(plain_);
  }

  static void add_shared(std::string_view s, std::size_t& bytes, names& to) {
    const declaration d = declared(s);
    bytes = aligned(bytes, d.align);
    to[std::string(d.name)] = bytes;
    bytes += d.bytes();
  }
  void add_global(std::string_view s) {
    const declaration d = declared(s);
    made_.globals.push_back(std::make_unique<std::uint64_t[]>(d.bytes() / 8 + 1));
    module_names_[std::string(d.name)] = reinterpret_cast<std::uint64_t>(made_.globals.back().get());
  }

  // ---- a kernel

  struct scope {
    std::map<std::string, std::int32_t, std::less<>> registers;  // by name, or by what comes before a number
  };
  kernel* k_ = nullptr;
  std::vector<scope> scopes_;
  names names_;
  std::map<std::uint64_t, std::int32_t> constants_;
  std::map<std::string, std::int32_t, std::less<>> labels_;
  std::vector<std::pair<std::size_t, std::string>> jumps_;

  void read_kernel(std::string_view head) {
    const std::string_view name = take_word(head);
    kernel& k = made_.kernels[std::string(name)];
    k_ = &k;
    k.name = name;
    names_ = module_names_;
    k.shared_bytes = module_shared_;
    constants_.clear();
    labels_.clear();
    jumps_.clear();
    const std::size_t open = head.find('('), close = head.find(')');
    if (open != head.npos) {
      std::string_view list = head.substr(open + 1, close - open - 1);
      while (!trimmed(list).empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        const declaration d =
            declared(trimmed(list.substr(0, comma)).substr(std::string_view(".param").size()));
        k.parameter_bytes = aligned(k.parameter_bytes, d.align);
        k.parameters.push_back({k.parameter_bytes, d.bytes()});
        names_[std::string(d.name)] = k.parameter_bytes;
        k.parameter_bytes += d.bytes();
        list.remove_prefix(std::min(comma + 1, list.size()));
      }
      head.remove_prefix(close + 1);
    }
    for (std::string_view word = take_word(head); !word.empty(); word = take_word(head))
      if (word == ".maxntid") k.max_threads = number_of(take_word(head), head);
    scopes_.assign(1, {});
    while (!scopes_.empty()) {
      const std::string text(statement());
      if (ended_by_ == ':') {
        labels_[text] = static_cast<std::int32_t>(k.code.size());
        continue;
      }
      if (!text.empty()) read_statement(text);
      if (ended_by_ == '{') scopes_.emplace_back();
      if (ended_by_ == '}') scopes_.pop_back();
      if (left_.empty() && !scopes_.empty()) unknown("a kernel without an end", name);
    }
    for (const auto& [at, label] : jumps_) {
      const auto found = labels_.find(label);
      if (found == labels_.end()) unknown("no such label", label);
      k.code[at].target = found->second;
    }
    share_registers(k);
    k.shared_bytes = aligned(k.shared_bytes, 16);
    for (auto& [r, value] : k.constants)
      if (value == behind_all) value = k.shared_bytes;
  }

  /// Registers that never hold something at once become one: what a warp has then stays in the host's caches.
  /// A register holds something from where it is first named to where it is last, and all along a loop at
  /// whose begin it may hold something.
  void share_registers(kernel& k) {
    struct range {
      std::int32_t first = -1, last = -1;
      bool is_read_first = false;
    };
    std::vector<range> ranges(static_cast<std::size_t>(k.registers));
    const auto each_operand = [](auto& i, auto f) {
      if (i.guard >= 0) f(i.guard, false);
      if (i.mask >= 0) f(i.mask, false);
      for (std::size_t n = 0; n < std::size(i.x); ++n)
        if (i.x[n] >= 0) f(i.x[n], n < i.writes && i.guard < 0);
    };
    std::vector<std::pair<std::int32_t, std::int32_t>> loops;  // from a label to a jump back to it
    for (std::int32_t at = 0; at < static_cast<std::int32_t>(k.code.size()); ++at) {
      const instruction& i = k.code[static_cast<std::size_t>(at)];
      if (i.what == control::branch && i.target <= at) loops.emplace_back(i.target, at);
      each_operand(i, [&](std::int32_t r, bool writes) {
        range& x = ranges[static_cast<std::size_t>(r)];
        if (x.first < 0) x.first = at, x.is_read_first = !writes;
        x.last = at;
      });
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (range& x : ranges)
        for (const auto& [from, to] : loops) {
          if (x.first < 0 || x.first > to || x.last < from) continue;
          const bool is_within = x.first >= from && x.last <= to;
          if (is_within && !x.is_read_first) continue;
          const range wide{std::min(x.first, from), std::max(x.last, to), x.is_read_first};
          changed = changed || wide.first != x.first || wide.last != x.last;
          x = wide;
        }
    }
    std::vector<bool> is_fixed(ranges.size(), false);
    for (std::size_t r = 0; r < specials; ++r) is_fixed[r] = true;
    std::int32_t given = specials;
    std::vector<std::int32_t> becomes(ranges.size(), -1);
    for (std::size_t r = 0; r < specials; ++r) becomes[r] = static_cast<std::int32_t>(r);
    for (const auto& [value, r] : constants_) {
      is_fixed[static_cast<std::size_t>(r)] = true;
      becomes[static_cast<std::size_t>(r)] = given;
      k.constants.emplace_back(given++, value);
    }
    std::vector<std::size_t> order;
    for (std::size_t r = 0; r < ranges.size(); ++r)
      if (!is_fixed[r] && ranges[r].first >= 0) order.push_back(r);
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return ranges[a].first < ranges[b].first; });
    std::multimap<std::int32_t, std::int32_t> held;  // by the last use
    std::vector<std::int32_t> idle;
    for (const std::size_t r : order) {
      while (!held.empty() && held.begin()->first < ranges[r].first) {
        idle.push_back(held.begin()->second);
        held.erase(held.begin());
      }
      if (idle.empty()) idle.push_back(given++);
      becomes[r] = idle.back();
      idle.pop_back();
      held.emplace(ranges[r].last, becomes[r]);
    }
    for (instruction& i : k.code) {
      const auto rename = [&](std::int32_t& r) {
        if (r >= 0) r = becomes[static_cast<std::size_t>(r)];
      };
      rename(i.guard);
      rename(i.mask);
      for (std::int32_t& x : i.x) rename(x);
    }
    k.registers = given;
  }

  void read_statement(std::string_view s) {
    if (s.starts_with(".pragma") || s.starts_with(".loc")) return;
    if (s.starts_with(".reg")) return add_registers(s.substr(4));
    if (s.starts_with(".shared")) return add_shared(s.substr(7), k_->shared_bytes, names_);
    if (s.starts_with('.')) unknown("a directive", s);
    instruction i;
    i.text = s;
    if (s.starts_with('@')) {
      s.remove_prefix(1);
      i.guard_is_negated = s.starts_with('!');
      if (i.guard_is_negated) s.remove_prefix(1);
      i.guard = operand(take_word(s), i.text);
    }
    const std::string_view op = take_word(s);
    std::vector<std::string_view> parts;
    for (std::string_view rest = op; !rest.empty();) {
      const std::size_t dot = std::min(rest.find('.'), rest.size());
      parts.push_back(rest.substr(0, dot));
      rest.remove_prefix(std::min(dot + 1, rest.size()));
    }
    if (parts[0] == "bra") {
      i.what = control::branch;
      jumps_.emplace_back(k_->code.size(), std::string(trimmed(s)));
    } else {
      // Operands in order; a list in braces is as many of them.
      std::size_t n = 0;
      const auto add = [&](std::int32_t r) {
        if (n == std::size(i.x)) unknown("too many operands", i.text);
        i.x[n++] = r;
      };
      std::size_t listed = 0, in_list = 0;
      bool in_braces = false;
      for (std::string_view word = take_word(s); !word.empty(); word = take_word(s)) {
        if (word == "," || word == "|" || word == "]") continue;
        if (word == "{" || word == "}") {
          in_braces = word == "{";
          if (in_braces) in_list = 0;
          if (!in_braces && listed == 0) listed = in_list;
        } else if (word == "[") {
          add(operand(take_word(s), i.text));
          if (trimmed(s).starts_with('+')) {
            take_word(s);
            i.offset = static_cast<std::int64_t>(number_of(take_word(s), i.text));
          }
        } else {
          add(operand(word, i.text));
          ++in_list;
        }
      }
      i.count = static_cast<std::uint8_t>(listed == 0 ? 1 : listed);
      if (!find(parts, i)) unknown("an instruction", i.text);
      k_->waits = k_->waits || op == "griddepcontrol.wait";
    }
    k_->code.push_back(std::move(i));
  }

  void add_registers(std::string_view s) {
    const std::string_view all = s;
    take_word(s);  // the type
    while (!s.empty()) {
      const std::string_view name = take_word(s);
      if (name == ",") continue;
      std::size_t count = 1;
      std::string key(name);
      if (trimmed(s).starts_with('<')) {
        take_word(s);
        count = number_of(take_word(s), all);
        take_word(s);
        key += '#';
      }
      scopes_.back().registers[key] = k_->registers;
      k_->registers += static_cast<std::int32_t>(count);
    }
  }

  std::int32_t constant(std::uint64_t value) {
    const auto [at, is_new] = constants_.try_emplace(value, k_->registers);
    if (is_new) ++k_->registers;
    return at->second;
  }

  std::int32_t operand(std::string_view word, std::string_view statement) {
    for (const auto& [name, r] : special_names)
      if (word == name) return r;
    for (auto s = scopes_.rbegin(); s != scopes_.rend(); ++s) {
      if (const auto found = s->registers.find(word); found != s->registers.end()) return found->second;
      const std::size_t digits = word.find_last_not_of("0123456789") + 1;
      if (digits == word.size() || digits == 0) continue;
      const auto found = s->registers.find(std::string(word.substr(0, digits)) + '#');
      if (found != s->registers.end())
        return found->second + static_cast<std::int32_t>(number_of(word.substr(digits), statement));
    }
    if (word == "_") return constant(0);
    if (const auto found = names_.find(word); found != names_.end()) return constant(found->second);
    if (word.starts_with("0f") || word.starts_with("0d"))
      return constant(number_of("0x" + std::string(word.substr(2)), statement));
    if (word.starts_with('-') || std::isdigit(static_cast<unsigned char>(word.front())) != 0)
      return constant(number_of(word, statement));
    unknown("an operand, '" + std::string(word) + "'", statement);
  }
};

}  // namespace

module read(std::string_view text) { return reader(text).read(); }

}  // namespace napkin::testing::ptx
