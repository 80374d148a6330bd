// The lines of the log, by nlohmann-json, and the names of the curves.
#include "napkin/train/run_log.hpp"

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

namespace napkin {
namespace {

using nlohmann::ordered_json;

/// Of the schema; another where a reader of this one would misread a line.
constexpr int log_version = 1;

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// A number, or null where there is none: JSON knows neither NaN nor infinity.
ordered_json finite(double x) { return std::isfinite(x) ? ordered_json(x) : ordered_json(nullptr); }

ordered_json record_of(std::string_view event, std::int64_t step) {
  return {{"event", event}, {"time", seconds_since_1970()}, {"step", step}};
}

}  // namespace

template <class Record>
void run_log::write(const Record& record) {
  // Text that is no UTF-8, as a model of bytes may write, has U+FFFD in place of what is none.
  const std::string line = record.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
  json_->append(std::as_bytes(std::span(line)));
}

run_log::run_log(file_system& files, const places& to, const run_begun& begun) : work_(begun.work) {
  if (!to.tensorboard.empty()) make_folders(files, to.tensorboard);  // refused before any file is written
  if (!to.json.empty()) {
    json_.emplace(files, to.json);
    // A machine that went down may have left half a line: this run's first is one of its own.
    if (const std::uint64_t size = json_->size(); size > 0) {
      std::byte last{};
      input_file(files, to.json).read(size - 1, std::span(&last, 1));
      const std::byte end{'\n'};
      if (last != end) json_->append(std::span(&end, 1));
    }
    ordered_json run = record_of("run", begun.first);
    run["version"] = log_version;
    run["program"] = begun.program;
    run["steps"] = begun.steps;
    run["parameters"] = begun.parameters;
    run["tokens_per_step"] = begun.work.tokens;
    run["flops_per_step"] = begun.work.flops;
    run["device"] = begun.device;
    const std::uint64_t peak = begun.work.peak.per_second;
    run["peak_flops_per_second"] = peak > 0 ? ordered_json(peak) : ordered_json(nullptr);
    run["settings"] = begun.settings;
    write(run);
  }
  if (!to.tensorboard.empty())
    tensorboard_.emplace(files, to.tensorboard, seconds_since_1970(), begun.first + 1);
}

void run_log::step(const step_made& made) {
  const step_rates rates = rates_of(work_, made.seconds);
  if (json_) {
    ordered_json step = record_of("step", made.step);
    step["loss"] = finite(made.loss);
    step["gradient_norm"] = finite(made.norm);
    step["learning_rate"] = made.rate;
    step["applied"] = made.applied;
    step["seconds"] = made.seconds;
    step["tokens_per_second"] = rates.tokens_per_second;
    step["flops_per_second"] = rates.flops_per_second;
    step["mfu"] = rates.mfu > 0 ? ordered_json(rates.mfu) : ordered_json(nullptr);
    write(step);
  }
  if (tensorboard_) {
    std::vector<event_scalar> scalars = {
        {"loss/training", static_cast<float>(made.loss)},
        {"training/gradient_norm", static_cast<float>(made.norm)},
        {"training/learning_rate", static_cast<float>(made.rate)},
        {"speed/tokens_per_second", static_cast<float>(rates.tokens_per_second)},
        {"speed/flops_per_second", static_cast<float>(rates.flops_per_second)}};
    if (rates.mfu > 0) scalars.push_back({"speed/mfu", static_cast<float>(rates.mfu)});
    tensorboard_->append(seconds_since_1970(), made.step, scalars);
  }
}

void run_log::validation(std::int64_t step, double loss) {
  if (json_) {
    ordered_json found = record_of("validation", step);
    found["loss"] = finite(loss);
    write(found);
  }
  const event_scalar scalar{"loss/validation", static_cast<float>(loss)};
  if (tensorboard_) tensorboard_->append(seconds_since_1970(), step, std::span(&scalar, 1));
}

void run_log::sample(std::int64_t step, std::string_view text) {
  if (!json_) return;
  ordered_json found = record_of("sample", step);
  found["text"] = text;
  write(found);
}

void run_log::end(std::int64_t step, std::string_view why) {
  if (!json_) return;
  ordered_json found = record_of("end", step);
  found["why"] = why;
  write(found);
}

}  // namespace napkin
