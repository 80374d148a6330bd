// choices.json: what this library does with each feature by which it differs from the peers, and why.
//   [{"feature": NAME, "refused": SENTENCE or [SENTENCE, ...], "why": TEXT}, or
//    {"feature": NAME, "accepted": HOW, "why": TEXT}, ...]
// A row with a refused feature must be refused by one of these sentences, each of which is how one sentence of the
// library begins and no other.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "features.hpp"

namespace cases {

struct choice {
  std::vector<std::string> refused;  // the sentences; none where the feature is accepted
  std::string why;
};

namespace detail {

inline choice choice_from(const nlohmann::json& entry, const std::string& name,
                          const std::set<std::string>& sentences) {
  const auto fail = [&](const std::string& what) {
    throw std::runtime_error("choices.json, \"" + name + "\": " + what);
  };
  const auto accepted = feature::accepted.find(name);
  if (accepted == feature::accepted.end()) fail("there is no such feature");
  const std::string says = accepted->second ? "accepted" : "refused";
  for (const auto& [key, value] : entry.items())
    if (key != "feature" && key != "why" && key != says) fail("'" + key + "' has no meaning here");
  choice out;
  out.why = entry.value("why", "");
  if (out.why.empty()) fail("'why' is missing");
  const nlohmann::json said = entry.value(says, nlohmann::json());
  const auto all = said.is_string()  ? std::vector{said.get<std::string>()}
                   : said.is_array() ? said.get<std::vector<std::string>>()
                                     : std::vector<std::string>{};
  if (all.empty()) fail("'" + says + "' is missing");
  for (const std::string& sentence : all) {
    if (sentence.empty()) fail("'" + says + "' is empty: any sentence would pass");
    if (accepted->second) continue;
    std::size_t begun = 0;
    for (const std::string& rule : sentences)
      begun += rule.compare(0, sentence.size(), sentence) == 0 ? 1 : 0;
    if (begun != 1)
      fail(std::to_string(begun) + " sentences of the library, not one, begin with \"" + sentence + '"');
    out.refused.push_back(sentence);
  }
  return out;
}

}  // namespace detail

/// By feature. Throws where an entry says nothing that a row could be judged by, or a feature has none.
inline std::map<std::string, choice> read_choices(const std::filesystem::path& file,
                                                  const std::set<std::string>& sentences) {
  std::ifstream in(file);
  std::map<std::string, choice> out;
  for (const nlohmann::json& entry : nlohmann::json::parse(in)) {
    const std::string name = entry.at("feature");
    if (!out.emplace(name, detail::choice_from(entry, name, sentences)).second)
      throw std::runtime_error("choices.json, \"" + name + "\": stands twice");
  }
  for (const auto& [name, accepted] : feature::accepted)
    if (out.count(name) == 0) throw std::runtime_error("choices.json has nothing of \"" + name + '"');
  return out;
}

}  // namespace cases
