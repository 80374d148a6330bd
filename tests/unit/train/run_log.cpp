// The log's lines are JSON with the fields that docs/training.md lists, whole even where a run before was cut
// off.
#include "napkin/train/run_log.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "napkin/core/error.hpp"
#include "support/failing_files.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace nk = napkin;
using nlohmann::json;

namespace {

nk::run_begun begun() { return {"a program", 4, 100, 123, "a device", {10, 1000, {4000}}, {{"seed", "7"}}}; }

std::vector<json> lines_of(const std::string& path) {
  std::vector<json> lines;
  std::istringstream text(read_whole(path));
  for (std::string line; std::getline(text, line);) lines.push_back(json::parse(line, nullptr, false));
  return lines;
}

std::vector<std::string> keys_of(const json& line) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : line.items()) keys.push_back(key);
  return keys;  // in order of the alphabet
}

}  // namespace

TEST_CASE("run log: a line of JSON for each thing that happens") {
  const temporary_folder folder;
  const std::string path = folder / "log.jsonl";
  {
    nk::run_log log(nk::posix_file_system(), {path, ""}, begun());
    log.step({5, 2.25, 0.5, 1e-3, 0.5});
    log.validation(5, 2);
    log.sample(5, "a \"b\"\n\xff");
    log.step({6, std::nan(""), std::numeric_limits<double>::infinity(), 1e-3, 0.5, false});
    log.end(6, "diverged");
  }
  const std::vector<json> lines = lines_of(path);
  REQUIRE(lines.size() == 6);
  for (const json& line : lines) CHECK(line["time"].get<double>() > 1.7e9);
  CHECK(lines[0]["event"] == "run");
  CHECK(lines[0]["version"] == 1);
  CHECK(lines[0]["step"] == 4);
  CHECK(lines[0]["steps"] == 100);
  CHECK(lines[0]["peak_flops_per_second"] == 4000);
  CHECK(lines[0]["settings"]["seed"] == "7");
  CHECK(keys_of(lines[0]) == std::vector<std::string>{"device", "event", "flops_per_step", "parameters",
                                                      "peak_flops_per_second", "program", "settings", "step",
                                                      "steps", "time", "tokens_per_step", "version"});
  CHECK(lines[1]["loss"] == 2.25);
  CHECK(lines[1]["tokens_per_second"] == 20);
  CHECK(lines[1]["flops_per_second"] == 2000);
  CHECK(lines[1]["mfu"] == 0.5);
  CHECK(lines[1]["applied"] == true);
  CHECK(keys_of(lines[1]) == std::vector<std::string>{"applied", "event", "flops_per_second", "gradient_norm",
                                                      "learning_rate", "loss", "mfu", "seconds", "step",
                                                      "time", "tokens_per_second"});
  CHECK(lines[2]["event"] == "validation");
  CHECK(lines[2]["loss"] == 2);
  CHECK(lines[3]["text"] == "a \"b\"\n\xef\xbf\xbd");
  CHECK(lines[4]["loss"].is_null());
  CHECK(lines[4]["gradient_norm"].is_null());
  CHECK(lines[4]["applied"] == false);
  CHECK(lines[5]["why"] == "diverged");

  // Every field stands on the page that documents them.
  const std::string page = read_whole(NAPKIN_SOURCE_DIR "/docs/training.md");
  for (const json& line : lines)
    for (const std::string& key : keys_of(line)) {
      INFO(key);
      CHECK(page.find("`" + key + "`") != std::string::npos);
    }
}

TEST_CASE("run log: where no peak is known there is no MFU") {
  const temporary_folder folder;
  nk::run_begun unknown = begun();
  unknown.work.peak = {};
  const std::string path = folder / "log.jsonl";
  nk::run_log log(nk::posix_file_system(), {path, ""}, unknown);
  log.step({5, 2, 1, 1e-3, 0.5});
  const std::vector<json> lines = lines_of(path);
  CHECK(lines[0]["peak_flops_per_second"].is_null());
  CHECK(lines[1]["mfu"].is_null());
}

TEST_CASE("run log: goes on in the same file, behind what a crash left of a line") {
  const temporary_folder folder;
  const std::string path = folder.write("log.jsonl", "{\"event\":\"run\"}\n{\"event\":\"st");
  { const nk::run_log log(nk::posix_file_system(), {path, ""}, begun()); }
  const std::vector<json> lines = lines_of(path);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["event"] == "run");
  CHECK(lines[1].is_discarded());
  CHECK(lines[2]["event"] == "run");
}

TEST_CASE("run log: TensorBoard's curves lie beside it") {
  const temporary_folder folder;
  nk::run_log log(nk::posix_file_system(), {"", folder / "curves"}, begun());
  log.step({5, 2, 1, 1e-3, 0.5});
  log.validation(5, 2);
  CHECK(files_in(folder / "curves") == 1);
  CHECK(files_in(folder.path()) == 1);  // and no log of lines, which was not asked for
}

TEST_CASE("run log: short writes are gone on with, and a failed one says of which file") {
  const temporary_folder folder;
  const std::string path = folder / "log.jsonl";
  failing_files files;
  files.short_calls = true;
  {
    nk::run_log log(files, {path, ""}, begun());
    log.end(4, "finished");
    CHECK(lines_of(path).at(1)["why"] == "finished");
    files.fail_at = files.calls + 1;
    files.error_number = ENOSPC;
    CHECK(message_of<nk::system_error>([&] { log.end(4, "finished"); }).find(path) != std::string::npos);
  }
  CHECK(files.opened == 0);
  CHECK_THROWS_AS(nk::run_log(nk::posix_file_system(), {folder / "nowhere/log", ""}, begun()),
                  nk::input_error);
  CHECK_THROWS_AS(nk::run_log(nk::posix_file_system(), {folder.path(), ""}, begun()), nk::input_error);
}
