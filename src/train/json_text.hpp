// JSON from files of others, by nlohmann-json, whose copies, comparisons and printing go as deep into the stack
// as a value is nested. Private to src/train.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace napkin::detail {

/// Lists and objects within one another that are taken.
inline constexpr int deepest_json = 64;

/// What the text says; `is_discarded()` where it is no JSON, or nested more deeply.
inline nlohmann::json parse_json(const std::string& text) {
  bool too_deep = false;
  const auto look = [&too_deep](int depth, nlohmann::json::parse_event_t event, const nlohmann::json&) {
    using events = nlohmann::json::parse_event_t;
    const bool begins = event == events::object_start || event == events::array_start;
    too_deep = too_deep || (begins && depth >= deepest_json);
    return !too_deep;
  };
  nlohmann::json value = nlohmann::json::parse(text, look, false);
  if (too_deep) value = nlohmann::json::value_t::discarded;
  return value;
}

}  // namespace napkin::detail
