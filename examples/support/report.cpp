// The corpus in words, and settings as text that a later run may not trust.
#include "report.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <napkin/core/error.hpp>
#include <napkin/cost/report.hpp>
#include <napkin/cpu/threads.hpp>
#include <napkin/train/atomic_file.hpp>
#include <napkin/train/host_device.hpp>
#include <napkin/train/ngram.hpp>
#include <napkin/train/progress.hpp>
#include <napkin/train/step_account_text.hpp>
#include <napkin/train/utf8.hpp>

namespace nk = napkin;

namespace {

constexpr std::uint64_t most_bytes_to_count = 1'000'000'000;  // some 10 s and 1 GB of memory

void print_part(const char* use, const nk::token_source& part) {
  const auto size = static_cast<double>(part.size());
  std::printf("  %-10s  %s in %zu file%s\n", use,
              nk::number_text(part.holds_bytes() ? size : 2 * size, "B").c_str(), part.files(),
              part.files() == 1 ? "" : "s");
}

void write_page(nk::file_system& files, const std::string& path, const nk::step_account& account) {
  nk::write_atomically(files, path, nk::account_page(account));
}

template <class T>
void take(const nk::tensor_metadata& settings, const char* name, T low, T high, T& to) {
  const auto at = settings.find(name);
  if (at == settings.end())
    throw nk::input_error("the checkpoint does not say its run's " + std::string(name) +
                          ": give it on the command line");
  const char* const end = at->second.data() + at->second.size();
  T found{};
  const auto [stop, problem] = std::from_chars(at->second.data(), end, found);
  if (problem != std::errc{} || stop != end || !(found >= low && found <= high))
    throw nk::input_error("the checkpoint's " + std::string(name) + " is " + nk::in_quotes(at->second) +
                          ", no number that can be: give it on the command line, or begin anew");
  to = found;
}

}  // namespace

std::string print_corpus(const nk::corpus& text) {
  std::printf("data: %s\n", nk::without_controls(text.name).c_str());
  print_part("training", text.train);
  print_part("validation", text.validation);
  if (!text.train.holds_bytes() || !text.validation.holds_bytes())
    return "no byte counts: the data are tokens";
  if (text.train.size() > most_bytes_to_count) return "no byte counts: the data are too long";
  std::string counts = "byte counts reach ";
  for (const std::size_t k : {2u, 3u}) {
    char words[100];
    std::snprintf(words, sizeof words, "%s%.3f given %zu bytes", k == 2 ? "" : ", ",
                  nk::ngram_bits_per_byte(text.train, text.validation, k), k);
    counts += words;
  }
  std::printf("  %s (bits per byte on the validation text)\n", counts.c_str());
  std::fflush(stdout);
  return counts;
}

std::optional<nk::vocabulary> open_vocabulary(nk::file_system& files, const nk::corpus& text,
                                              std::size_t model) {
  if (text.train.holds_bytes() && text.validation.holds_bytes()) return nk::vocabulary::of_bytes();
  const std::string path = nk::vocabulary_path(text.name);
  nk::file_status found;
  if (!nk::find_status(files, text.name, found) || found.kind != nk::file_kind::folder ||
      !nk::find_status(files, path, found))
    return std::nullopt;
  nk::vocabulary words = nk::read_vocabulary(files, path);
  if (words.size() > model)
    throw nk::input_error("the data have " + std::to_string(words.size()) +
                          " different tokens, this program's model " + std::to_string(model) +
                          ": build it for them, scripts/train.sh --vocabulary " +
                          std::to_string(words.size()));
  return words;
}

double bytes_a_token(const std::optional<nk::vocabulary>& words, std::span<const std::uint16_t> tokens) {
  if (!words || tokens.empty()) return 0;
  std::size_t bytes = 0;
  for (const std::uint16_t token : tokens) bytes += words->bytes_of(token).size();
  return static_cast<double>(bytes) / static_cast<double>(tokens.size());
}

std::vector<std::uint16_t> begin_of_sample(const std::optional<nk::vocabulary>& words) {
  return {words ? words->find("\n").value_or(0) : std::uint16_t{0}};
}

std::string text_of_sample(const std::optional<nk::vocabulary>& words,
                           const std::vector<std::uint16_t>& tokens) {
  if (words) return words->text_of(tokens);
  std::string text;
  for (const std::uint16_t token : tokens) text += std::to_string(token) + " ";
  return text;
}

std::string printable(const std::string& text) {
  std::string printed;
  for (const char c : text) {
    if (c == '\n' || c == '\t' || (c >= ' ' && c < 0x7f)) {
      printed += c;
    } else {
      printed += nk::escaped(c);
    }
  }
  return printed;
}

void print_model(std::uint64_t parameters, std::uint64_t flops, std::uint64_t memory, std::uint64_t tokens) {
  std::printf("model: %s parameters; a step: %s tokens, %s, %s of memory, on %zu threads\n",
              nk::with_separators(parameters).c_str(), nk::with_separators(tokens).c_str(),
              nk::flops_text(flops).c_str(), nk::bytes_text(memory).c_str(), nk::on_cpu::threads());
  std::fflush(stdout);
}

std::string validation_text(std::int64_t step, double loss, double bytes_a_token) {
  return "step " + std::to_string(step) + ": validation " + nk::bits_text(loss, bytes_a_token);
}

void print_saved(std::int64_t step, std::int64_t steps, const std::string& path) {
  std::printf("saved after %lld of %lld steps: %s\n", static_cast<long long>(step),
              static_cast<long long>(steps), nk::without_controls(path).c_str());
  if (step < steps) std::printf("to go on, run the same command with --resume\n");
  std::fflush(stdout);
}

void print_speed(std::int64_t steps, double seconds, std::uint64_t flops, std::uint64_t tokens) {
  if (steps <= 0 || seconds <= 0) return;
  const double each = seconds / static_cast<double>(steps);
  std::printf("measured: %s, %.0f ms a step, %s tokens/s, %s/s (validation and saving included)\n",
              nk::duration_text(seconds).c_str(), each * 1000,
              nk::with_separators(static_cast<std::uint64_t>(static_cast<double>(tokens) / each)).c_str(),
              nk::number_text(static_cast<double>(flops) / each, "FLOP").c_str());
}

nk::tensor_metadata settings_of(const train_options& o) {
  char rate[40];
  const auto [end, problem] = std::to_chars(rate, rate + sizeof rate, o.learning_rate);
  return {{"data", o.data}, {"learning_rate", std::string(rate, end)}, {"steps", std::to_string(o.steps)}};
}

void take_settings(const nk::run_state& state, train_options& o) {
  if (o.seed_given && o.seed != state.sampler.seed)
    throw nk::input_error("the run in " + nk::in_quotes(o.out) + " was begun with the seed " +
                          std::to_string(state.sampler.seed) + ": leave --seed out, or begin anew");
  o.seed = state.sampler.seed;
  const auto data = state.settings.find("data");
  if (!o.data_given && data != state.settings.end()) o.data = data->second;
  if (!o.steps_given) take<std::int64_t>(state.settings, "steps", 1, 1'000'000'000'000, o.steps);
  if (!o.learning_rate_given) take(state.settings, "learning_rate", 1e-12, 1e3, o.learning_rate);
}

nk::device device_of(const train_options& o, const std::string& runs_on) {
  const std::string& name = o.device.empty() ? runs_on : o.device;
  return name.empty() ? nk::host_device() : nk::device_named(name);
}

std::optional<nk::device> known_device(const std::string& runs_on) {
  if (runs_on.empty()) return nk::host_device();
  try {
    return nk::device_named(runs_on);
  } catch (const nk::input_error&) {
    return std::nullopt;
  }
}

nk::run_log open_log(nk::file_system& files, const train_options& o, nk::run_begun begun) {
  begun.settings = settings_of(o);
  begun.settings["seed"] = std::to_string(o.seed);
  return {files, {o.log.empty() ? o.out + "/log.jsonl" : o.log, o.tensorboard}, begun};
}

int print_account(const nk::step_account& account, const train_options& o) {
  if (!o.report.empty()) write_page(nk::posix_file_system(), o.report, account);
  const std::string text = o.json ? nk::account_json(account) : nk::account_table(account);
  return std::fwrite(text.data(), 1, text.size(), stdout) != text.size();
}

run_report::run_report(nk::file_system& files, std::string path, nk::step_account account)
    : files_(files), path_(std::move(path)), account_(std::move(account)) {
  const nk::atomic_file probe(files_, path_, 1);  // gone again at the end of this function
}
void run_report::write(const nk::step_recorder& recorder) {
  nk::add_timing(account_, recorder.timing(), recorder.losses());
  write_page(files_, path_, account_);
  std::printf("report: %s\n", nk::without_controls(path_).c_str());
}

void print_resumed(const nk::resumed_run& run) {
  for (const std::string& reason : run.passed_over) std::printf("passed over: %s\n", reason.c_str());
  std::printf("going on from step %llu: %s\n", static_cast<unsigned long long>(run.state.step),
              nk::without_controls(run.path).c_str());
}

void prepare(nk::checkpoint_folder& folder, std::uint64_t bytes, bool resumed) {
  folder.prepare(bytes);
  if (!resumed && !folder.list().empty())
    std::printf("%s has checkpoints of a run before: this one's will take their place\n",
                nk::without_controls(folder.path()).c_str());
}
