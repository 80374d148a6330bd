// The host's peaks to and from a file of a few lines, each "name value".
#include "napkin/train/host_device.hpp"

#include <unistd.h>

#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include "napkin/core/error.hpp"
#include "napkin/cpu/measure.hpp"
#include "napkin/cpu/threads.hpp"
#include "napkin/train/atomic_file.hpp"
#include "napkin/train/cache_path.hpp"

namespace napkin {
namespace {

constexpr std::uint64_t largest_cache = 4096;  // bytes
constexpr const char* version = "napkin host 4";

std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("model name") && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "unknown";
}

std::string whose() {
  return std::string(version) + "\nprocessor " + processor() + "\nthreads " +
         std::to_string(on_cpu::threads()) + "\n";
}

/// A rate of a cache: a number of FLOP/s or bytes a second that some machine could have.
bool is_rate(double x) { return x >= 1e6 && x < 1e18; }

bool read_cache(file_system& files, const std::string& path, on_cpu::measured_peaks& peaks) {
  try {
    if (path.empty()) return false;
    const std::string text = read_text(files, path, largest_cache), begins = whose();
    if (!text.starts_with(begins)) return false;
    std::istringstream rest(text.substr(begins.size()));
    std::map<std::string, double> rates;
    std::string name;
    for (double rate = 0; rest >> name >> rate;) rates[name] = rate;
    peaks = {rates["f32"], rates["f64"], rates["bf16"], rates["bandwidth"]};
    return is_rate(peaks.f32) && is_rate(peaks.f64) && is_rate(peaks.bf16) && is_rate(peaks.bandwidth);
  } catch (const error&) {
    return false;
  }
}

void write_cache(file_system& files, const std::string& path, const on_cpu::measured_peaks& peaks) {
  if (path.empty()) return;
  try {
    std::ostringstream text;
    text.precision(17);
    text << whose() << "f32 " << peaks.f32 << "\nf64 " << peaks.f64 << "\nbf16 " << peaks.bf16
         << "\nbandwidth " << peaks.bandwidth << '\n';
    make_folders(files, folder_of(path));
    write_atomically(files, path, text.str());
  } catch (const error&) {  // measured again next time
  }
}

}  // namespace

device host_device(file_system& files, const std::string& cache) {
  on_cpu::measured_peaks peaks;
  if (!read_cache(files, cache, peaks)) {
    peaks = on_cpu::measure_peaks();
    write_cache(files, cache, peaks);
  }
  device host{"host CPU"};
  host.processors = on_cpu::threads();
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0)
    host.memory = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  host.bandwidth = static_cast<std::uint64_t>(peaks.bandwidth);
  const auto rate = [](double x) { return dense_flops{static_cast<std::uint64_t>(x)}; };
  return host.with(arithmetic::f32, rate(peaks.f32))
      .with(arithmetic::f64, rate(peaks.f64))
      .with(arithmetic::bf16, rate(peaks.bf16))
      .with(arithmetic::f16, rate(peaks.f32));
}

device host_device() { return host_device(posix_file_system(), cache_path("host")); }

}  // namespace napkin
