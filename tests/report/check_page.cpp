// check_page JSON: whether the parts of an account add up to its totals.
// check_page DOM JSON: also whether the page that a browser made (its dumped DOM) shows what the JSON says:
// the JSON within it is the same, each marked number reads as the library words it, and each kernel and
// buffer is drawn.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "napkin/cost/report.hpp"
#include "napkin/train/progress.hpp"

namespace {

using nlohmann::json;

int failures = 0;
void expect(bool holds, const std::string& what) {
  if (holds) return;
  ++failures;
  std::printf("check_page: %s\n", what.c_str());
}

std::string text_of(const char* path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string two_decimals_cut(double x) {
  const auto hundredths = static_cast<std::uint64_t>(x * 100);
  const std::string rest = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + (rest.size() < 2 ? ".0" : ".") + rest;
}
std::string worded(const json& value, const std::string& unit) {
  if (unit == "count") return napkin::with_separators(value.get<std::uint64_t>());
  if (unit == "flops") return napkin::flops_text(value.get<std::uint64_t>());
  if (unit == "bytes") return napkin::bytes_text(value.get<std::uint64_t>());
  if (unit == "seconds") return napkin::seconds_text(value.get<double>());
  if (unit == "rate") return napkin::number_text(value.get<double>(), "FLOP/s");
  if (unit == "bandwidth") return napkin::number_text(value.get<double>(), "B/s");
  if (unit == "intensity") return two_decimals_cut(value.get<double>());
  if (unit == "part") {
    char words[40];
    std::snprintf(words, sizeof words, "%.1f %%", 100 * value.get<double>());
    return words;
  }
  return "a unit that the check does not know: " + unit;
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

std::uint64_t number_at(const json& j, const char* path) {
  return j.at(json::json_pointer(path)).get<std::uint64_t>();
}

void check_sums(const json& account) {
  for (const char* what :
       {"/flops/total", "/flops/matmul", "/flops/transcendental", "/bytes/read", "/bytes/written"}) {
    const std::uint64_t total = number_at(account.at("total"), what);
    std::uint64_t kernels = 0, layers = 0, phases = 0;
    for (const json& k : account.at("kernels")) kernels += number_at(k, "/runs") * number_at(k, what);
    for (const json& l : account.at("layers")) layers += number_at(l, what);
    for (const json& p : account.at("phases")) phases += number_at(p, what);
    expect(total > 0 && kernels == total, std::string("kernels do not add up to the total of ") + what);
    expect(layers == total, std::string("layers do not add up to the total of ") + what);
    expect(phases == total, std::string("phases do not add up to the total of ") + what);
  }
  double seconds = 0;
  for (const json& k : account.at("kernels"))
    seconds += static_cast<double>(number_at(k, "/runs")) * k.at("least_seconds").get<double>();
  const double least = account.at("total").at("least_seconds").get<double>();
  expect(least > 0 && std::abs(seconds - least) <= 1e-12 * least, "least times do not add up");

  const json& recomputed = account.at("recomputed");
  if (recomputed.is_object()) {
    std::uint64_t values = 0, groups = 0, count = 0, freed = 0, kept = 0;
    for (const json& v : recomputed.at("values")) {
      const json& maker = account.at("kernels").at(v.at("kernel").get<std::size_t>());
      values += number_at(v, "/flops") * number_at(maker, "/runs");
      (v.at("made") == "kept" ? kept : freed) += number_at(v, "/bytes");
    }
    for (const json& g : recomputed.at("groups")) {
      groups += number_at(g, "/bytes");
      count += number_at(g, "/count");
    }
    expect(values == number_at(recomputed, "/flops") &&
               values == number_at(account.at("total"), "/flops/recomputed"),
           "values made again do not add up to their FLOPs");
    expect(groups == freed + kept && count == recomputed.at("values").size(),
           "groups of values made again do not have all of them");
    expect(freed - kept == number_at(recomputed, "/kept_less_bytes"),
           "values made again do not free what is kept less");
  }

  const json& memory = account.at("memory");
  std::uint64_t parts = 0, end = 0, parameters = 0;
  for (const char* part : {"/parameters", "/narrow_copies", "/gradients", "/optimizer_state", "/inputs",
                           "/tables", "/other", "/arena"})
    parts += number_at(memory, part);
  expect(parts == number_at(memory, "/peak"), "the parts of memory do not add up to the peak");
  for (const json& b : memory.at("buffers"))
    end = std::max(end, number_at(b, "/offset") + number_at(b, "/bytes"));
  expect(end == number_at(memory, "/arena"), "the highest buffer does not end where the arena does");
  for (const json& l : account.at("layers")) parameters += number_at(l, "/parameters");
  expect(parameters == number_at(account, "/parameters"), "layers have not all parameters");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return std::fprintf(stderr, "usage: check_page [DOM] JSON\n"), 2;
  const json expected = json::parse(text_of(argv[argc - 1]));
  check_sums(expected);
  if (argc == 2) return failures == 0 ? 0 : 1;
  const std::string dom = text_of(argv[1]);

  const std::string opening = "<script type=\"application/json\" id=\"account\">";
  const std::size_t begin = dom.find(opening), end = dom.find("</script>", begin);
  if (begin == std::string::npos || end == std::string::npos)
    return std::printf("check_page: the page has no JSON\n"), 1;
  expect(json::parse(dom.substr(begin + opening.size(), end - begin - opening.size())) == expected,
         "the page's JSON is not the program's");
  expect(dom.find("data-drawn=\"yes\"") != std::string::npos, "the script did not run to its end");

  const std::string visible = dom.substr(0, begin);
  const std::regex number("<span data-path=\"([^\"]+)\" data-unit=\"([^\"]+)\">([^<]*)</span>");
  std::set<std::string> seen;
  for (std::sregex_iterator i(visible.begin(), visible.end(), number), none; i != none; ++i) {
    const std::string path = (*i)[1], unit = (*i)[2], shown = (*i)[3];
    const json& value = expected.at(json::json_pointer(path));
    const std::string wanted = worded(value, unit);
    expect(shown == wanted, path + " is shown as \"" + shown + "\", not as \"" + wanted + "\"");
    seen.insert(path);
  }
  const bool measured = expected.contains("measured");
  std::vector<std::string> wanted{
      "/total/flops/total", "/total/bytes/total", "/total/least_seconds", "/memory/peak", "/tokens",
      "/parameters"};
  if (measured) wanted.insert(wanted.end(), {"/measured/step_seconds", "/measured/mfu"});
  const std::size_t kernels = expected.at("kernels").size();
  for (std::size_t k = 0; k < kernels; ++k)
    for (const char* what : {"/flops/total", "/bytes/total", "/intensity", "/least_seconds", "/live_bytes"})
      wanted.push_back("/kernels/" + std::to_string(k) + what);
  for (std::size_t k = 0; k < kernels && measured; ++k)
    wanted.push_back("/kernels/" + std::to_string(k) + "/measured/seconds");
  if (expected.at("recomputed").is_object())
    for (std::size_t g = 0; g < expected.at("recomputed").at("groups").size(); ++g)
      wanted.push_back("/recomputed/groups/" + std::to_string(g) + "/count");
  for (const std::string& path : wanted) expect(seen.count(path) == 1, path + " is nowhere on the page");

  expect(count(visible, "class=\"point kernel ") == kernels,
         "the roofline has not one point for each kernel");
  expect(count(visible, "class=\"life ") == expected.at("memory").at("buffers").size(),
         "the timeline has not one block for each buffer");
  expect(count(visible, "class=\"mark-line\"") == 2, "the peak is not marked");
  expect(count(visible, "class=\"tile ") > 3, "the treemap is empty");
  expect(count(visible, "class=\"group") > 3, "the fusion graph is empty");
  expect(count(visible, "class=\"edge\"") > 3, "the fusion graph has no lines");
  expect((count(visible, "class=\"curve\"") == 1) == measured,
         "the loss curve is there without a run, or not after one");
  std::printf("check_page: %zu numbers, %zu kernels, %d failures\n", seen.size(), kernels, failures);
  return failures == 0 ? 0 : 1;
}
