// The text of progress, and where it goes.
#include "napkin/train/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "napkin/cost/report.hpp"

namespace napkin {
namespace {

template <class... Arguments>
std::string formatted(const char* format, Arguments... arguments) {
  char text[128];
  const int n = std::snprintf(text, sizeof text, format, arguments...);
  return {text, static_cast<std::size_t>(std::clamp(n, 0, static_cast<int>(sizeof text) - 1))};
}

std::size_t width_of(std::FILE* terminal) {
  winsize size{};
  if (::ioctl(::fileno(terminal), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

constexpr double smoothing = 0.95;       // a mean over some 20 steps
constexpr double refresh_seconds = 0.1;  // on a terminal

}  // namespace

bool is_terminal(std::FILE* file) { return ::isatty(::fileno(file)) == 1; }

double bits_of(double nats) { return nats / std::numbers::ln2; }

std::string bits_text(double nats_a_token, double bytes_a_token) {
  const bool known = bytes_a_token > 0;
  return formatted("%.3f bits per %s", bits_of(nats_a_token) / (known ? bytes_a_token : 1),
                   known ? "byte" : "token");
}

std::string duration_text(double seconds) {
  const auto s = static_cast<long long>(std::llround(std::clamp(seconds, 0.0, 1e12)));
  if (s < 60) return formatted("%lld s", s);
  if (s < 3600) return formatted("%lld min %02lld s", s / 60, s % 60);
  return formatted("%lld h %02lld min", s / 3600, s / 60 % 60);
}

std::string number_text(double number, std::string_view unit) {
  const char* const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t p = 0;
  while (std::abs(number) >= 999.5 && p + 1 < std::size(prefixes)) {
    number /= 1000;
    ++p;
  }
  const bool whole = p == 0 && number == std::floor(number);
  const int decimals = whole || std::abs(number) >= 99.95 ? 0 : std::abs(number) >= 9.995 ? 1 : 2;
  std::string text = formatted("%.*f", decimals, number);
  if (p > 0 || !unit.empty()) text += " " + std::string(prefixes[p]) + std::string(unit);
  return text;
}

std::string progress_text(const progress_facts& f, std::size_t width) {
  struct part {
    std::string text;
    int rank;  // of two, the one with the lower stands longer
  };
  std::vector<part> parts = {
      {formatted("step %lld of %lld", static_cast<long long>(f.step), static_cast<long long>(f.steps)), 0},
      {formatted("%.3f nats", f.loss), 4},
      {bits_text(f.loss, f.bytes_a_token), 0}};
  if (f.rates.tokens_per_second > 0)
    parts.push_back({with_separators(static_cast<std::uint64_t>(
                         std::llround(std::min(f.rates.tokens_per_second, 1e18)))) +
                         " tokens/s",
                     1});
  if (f.rates.flops_per_second > 0)
    parts.push_back({number_text(f.rates.flops_per_second, "FLOP") + "/s", 3});
  if (f.rates.mfu > 0) parts.push_back({formatted("MFU %.1f%%", 100 * f.rates.mfu), 2});
  parts.push_back({formatted("rate %.2e", f.rate), 6});
  parts.push_back({formatted("gradient %.2f", f.norm), 5});
  if (f.seconds_left >= 0) parts.push_back({duration_text(f.seconds_left) + " left", 0});

  const std::string between = " | ";
  const auto joined = [&] {
    std::string text;
    for (const part& p : parts) text += (text.empty() ? "" : between) + p.text;
    return text;
  };
  std::string text = joined();
  while (width > 0 && text.size() >= width) {
    const auto last = std::max_element(parts.begin(), parts.end(),
                                       [](const part& a, const part& b) { return a.rank < b.rank; });
    if (last->rank == 0) return text.substr(0, width - 1);
    parts.erase(last);
    text = joined();
  }
  return text;
}

progress::progress(std::int64_t first, std::int64_t steps, const step_work& work, options o)
    : options_(o), first_(first), work_(work) {
  facts_.step = first;
  facts_.steps = steps;
  facts_.bytes_a_token = o.bytes_a_token;
}

double progress::elapsed() const { return steady_seconds() - begin_; }

void progress::update(const step_made& made) {
  // Weights that sum to one from the first step on, so that the means do not begin at zero.
  weight_ = smoothing * weight_ + 1 - smoothing;
  const double share = (1 - smoothing) / weight_;
  facts_.loss += (made.loss - facts_.loss) * share;
  seconds_ += (made.seconds - seconds_) * share;
  facts_.step = made.step;
  facts_.norm = made.norm;
  facts_.rate = made.rate;
  facts_.rates = rates_of(work_, seconds_);
  const double now = elapsed();  // with validation and saving, which the rest of the run will have too
  const auto steps = static_cast<double>(made.step - first_);
  if (now > 0 && steps > 0) {
    facts_.seconds_left = static_cast<double>(facts_.steps - made.step) * now / steps;
    if (options_.seconds > 0)
      facts_.seconds_left = std::min(facts_.seconds_left, std::max(0.0, options_.seconds - now));
  }
  const double wait = options_.terminal ? refresh_seconds : options_.line_seconds;
  if (shown_ >= 0 && now - shown_ < wait && made.step != facts_.steps) return;
  shown_ = now;
  show();
}

void progress::show() {
  const std::string text = progress_text(facts_, options_.terminal ? width_of(options_.to) : 0);
  if (options_.terminal) {
    std::fprintf(options_.to, "\r%s\x1b[K", text.c_str());
    visible_ = true;
  } else {
    std::fprintf(options_.to, "%s\n", text.c_str());
  }
  std::fflush(options_.to);
}

void progress::say(const std::string& line) {
  const bool again = visible_;
  clear();
  std::fprintf(options_.to, "%s\n", line.c_str());
  if (again) show();
  std::fflush(options_.to);
}

void progress::clear() {
  if (!visible_) return;
  std::fprintf(options_.to, "\r\x1b[K");
  std::fflush(options_.to);
  visible_ = false;
}

}  // namespace napkin
