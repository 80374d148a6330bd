// Chosen algorithms as lines of text.
#include "napkin/cuda/blas_choices.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>

#include "napkin/core/hash.hpp"

namespace napkin::on_cuda {

struct blas_choices::entry {
  std::string key;
  blas_algorithm algorithm;
  mutable bool asked = false;
  bool operator==(const entry& other) const { return key == other.key && algorithm == other.algorithm; }
};

namespace {

void append_hex(std::string& to, std::uint64_t value) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, value, 16).ptr;
  to.append(16 - static_cast<std::size_t>(end - digits), '0').append(digits, end);
}

std::uint64_t checksum_of(std::string_view text) {
  fnv1a hash;
  hash.add(text);
  return hash.value;
}

bool take_hex(std::string_view& from, std::uint64_t& value) {
  if (from.size() < 16) return false;
  const auto [end, failed] = std::from_chars(from.data(), from.data() + 16, value, 16);
  if (failed != std::errc{} || end != from.data() + 16) return false;
  from.remove_prefix(16);
  return true;
}

constexpr std::size_t value_digits = 16 * 10, checksum_digits = 16;

bool parse(std::string_view line, std::string& key, blas_algorithm& algorithm) {
  constexpr std::size_t tail = value_digits + checksum_digits + 2;
  if (line.size() <= tail) return false;
  const std::string_view body = line.substr(0, line.size() - checksum_digits - 1);
  std::string_view checksum_text = line.substr(line.size() - checksum_digits);
  std::uint64_t checksum = 0;
  if (line[body.size()] != '\t' || !take_hex(checksum_text, checksum) || checksum != checksum_of(body))
    return false;
  if (body[body.size() - value_digits - 1] != '\t') return false;
  key = body.substr(0, body.size() - value_digits - 1);
  std::string_view values = body.substr(body.size() - value_digits);
  for (std::uint64_t& x : algorithm.data)
    if (!take_hex(values, x)) return false;
  std::uint64_t how = 0;
  if (!take_hex(values, algorithm.workspace) || !take_hex(values, how)) return false;
  algorithm.by_addresses = how % 2 != 0;
  algorithm.left = static_cast<apart>(how / 2);
  return how / 2 < ways_apart;
}

/// The first entry of a sorted table that does not come before the key.
template <class Table>
auto at_or_after(Table& table, const std::string& key) {
  return std::lower_bound(table.begin(), table.end(), key,
                          [](const auto& entry, const std::string& wanted) { return entry.key < wanted; });
}
template <class Table>
const blas_algorithm* find_in(const Table& from, const std::string& key) {
  const auto found = at_or_after(from, key);
  if (found == from.end() || found->key != key) return nullptr;
  found->asked = true;
  return &found->algorithm;
}
template <class Table>
void set_in(Table& to, const std::string& key, const blas_algorithm& algorithm) {
  auto at = at_or_after(to, key);
  if (at == to.end() || at->key != key) at = to.insert(at, {key, {}});
  at->algorithm = algorithm;
  at->asked = true;
}

}  // namespace

blas_choices::blas_choices() = default;
blas_choices::blas_choices(const blas_choices&) = default;
blas_choices::blas_choices(blas_choices&&) noexcept = default;
blas_choices& blas_choices::operator=(const blas_choices&) = default;
blas_choices& blas_choices::operator=(blas_choices&&) noexcept = default;
blas_choices::~blas_choices() = default;

std::size_t blas_choices::size() const { return chosen_.size(); }

const blas_algorithm* blas_choices::find(const std::string& key) const { return find_in(chosen_, key); }
void blas_choices::set(const std::string& key, const blas_algorithm& algorithm) {
  set_in(chosen_, key, algorithm);
}
const blas_algorithm* blas_choices::find_guess(const std::string& key) const {
  return find_in(guessed_, key);
}
void blas_choices::set_guess(const std::string& key, const blas_algorithm& algorithm) {
  set_in(guessed_, key, algorithm);
}
bool blas_choices::operator==(const blas_choices& other) const { return chosen_ == other.chosen_; }

std::string blas_choices::text() const {
  std::string out, line;
  for (const auto& [key, algorithm, asked] : chosen_) {
    line = key;
    line += '\t';
    for (const std::uint64_t x : algorithm.data) append_hex(line, x);
    append_hex(line, algorithm.workspace);
    append_hex(line, algorithm.by_addresses + 2 * static_cast<std::uint64_t>(algorithm.left));
    const std::uint64_t checksum = checksum_of(line);
    line += '\t';
    append_hex(line, checksum);
    out += line;
    out += '\n';
  }
  return out;
}

void blas_choices::add(std::string_view text) {
  std::vector<std::string> complaints;
  add(text, complaints);
}

void blas_choices::add(std::string_view text, std::vector<std::string>& complaints) {
  std::size_t number = 0, bad = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    ++number;
    std::string key;
    blas_algorithm algorithm;
    if (parse(line, key, algorithm))
      set(key, algorithm);
    else if (++bad <= 10)
      complaints.push_back("line " + std::to_string(number) +
                           " of the chosen algorithms is damaged and left out");
  }
}

void blas_choices::add_missing(const blas_choices& others) {
  for (const entry& e : others.chosen_)
    if (find(e.key) == nullptr) set(e.key, e.algorithm);
  for (const entry& e : others.guessed_)
    if (find_guess(e.key) == nullptr) set_guess(e.key, e.algorithm);
}

blas_choices blas_choices::asked() const {
  blas_choices those;
  for (const entry& e : chosen_)
    if (e.asked) those.chosen_.push_back(e);
  return those;
}
void blas_choices::forget_asked() {
  for (const entry& e : chosen_) e.asked = false;
}

}  // namespace napkin::on_cuda
