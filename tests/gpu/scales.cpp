// The kernels that follow the scales of 8-bit floats, on a GPU: the numbers that the host gives, to the bit.
#include "napkin/cuda/scales.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <random>
#include <vector>

#include "napkin/cuda/memory.hpp"
#include "napkin/cuda/transfer.hpp"
#include "napkin/train/delayed_scaling.hpp"
#include "support/device_here.hpp"
#include "support/skip.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;

namespace {

/// Scales of tensors on a device, and of the same on the host.
class both_scales {
 public:
  explicit both_scales(const std::vector<std::size_t>& rows)
      : rows_(rows),
        on_host_(nk::delayed_scales::bytes(rows)),
        memory_(calls_, on_host_.size()),
        settings_(calls_, sizeof(on_cuda::scale_settings)),
        applied_(calls_, sizeof(nk::b8)),
        scales(on_host_.data(), rows_) {
    on_cuda::copy_to_device(on_, memory_.data(), on_host_);
  }

  /// A step of some runs, which see these magnitudes of all rows, one tensor's behind another's.
  void step(const on_cuda::scale_settings& by, const std::vector<std::vector<float>>& runs, bool applied) {
    const nk::b8 update(applied);
    on_cuda::copy_to_device(on_, settings_.data(), std::as_bytes(std::span(&by, 1)));
    on_cuda::copy_to_device(on_, applied_.data(), std::as_bytes(std::span(&update, 1)));
    const auto* const told = reinterpret_cast<const on_cuda::scale_settings*>(settings_.data());
    on_cuda::set_scales(device(), told, on_.handle());
    scales.set({.margin = by.margin});
    scales.forget_runs();
    for (const std::vector<float>& seen : runs) {
      std::size_t row = 0;
      for (std::size_t t = 0; t < rows_.size(); ++t)
        for (std::size_t r = 0; r < rows_[t]; ++r) scales.used(t)[r] = seen[row++];
      scales.add_run();
      const std::size_t lasting = nk::delayed_scales::lasting_bytes(rows_.size());
      on_cuda::copy_to_device(on_, memory_.data() + lasting, std::span(on_host_).subspan(lasting));
      std::vector<on_cuda::seen_rows> all;
      for (std::size_t t = 0; t < rows_.size(); ++t) all.push_back({device_rows(t), rows_[t]});
      on_cuda::add_seen(device(), all, on_.handle());
    }
    on_cuda::keep_seen(device(), told, reinterpret_cast<const nk::b8*>(applied_.data()), on_.handle());
    on_.check_launch("the kernels of scales");
    if (applied) scales.keep(static_cast<std::int64_t>(by.step));
  }
  /// Of what lasts, the bytes that the device has otherwise.
  std::size_t differences() const {
    std::vector<std::byte> found(nk::delayed_scales::lasting_bytes(rows_.size()));
    on_cuda::copy_to_host(on_, found, memory_.data());
    std::size_t n = 0;
    for (std::size_t i = 0; i < found.size(); ++i) n += found[i] != on_host_[i];
    return n;
  }

 private:
  std::vector<std::size_t> rows_;
  std::vector<std::byte> on_host_;
  on_cuda::cuda_calls& calls_ = on_cuda::cuda_runtime();
  on_cuda::stream on_{calls_};
  on_cuda::device_memory memory_, settings_, applied_;

  nk::scale_memory device() const { return nk::delayed_scales::lay_out(memory_.data(), rows_.size()); }
  const float* device_rows(std::size_t tensor) const {
    const std::span all(rows_);
    return reinterpret_cast<const float*>(memory_.data() + nk::delayed_scales::lasting_bytes(all.size()) +
                                          nk::delayed_scales::used_bytes(all.first(tensor)));
  }

 public:
  nk::delayed_scales scales;
};

std::vector<float> magnitudes(std::mt19937& random, std::size_t rows) {
  std::vector<float> x;
  for (std::size_t i = 0; i < rows; ++i)
    x.push_back(std::ldexp(static_cast<float>(random() % 1000) / 1000, static_cast<int>(random() % 60) - 30));
  return x;
}

}  // namespace

TEST_CASE(
    "scales of 8-bit floats on the device are the host's: more tensors than a launch takes, rows of "
    "every length") {
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  std::mt19937 random(5);
  std::vector<std::size_t> rows{1, 31, 511, 512, 513, 2047, 2048, 2049, 5000};
  while (rows.size() < 600) rows.push_back(1 + random() % 40);
  std::size_t all = 0;
  for (const std::size_t n : rows) all += n;
  both_scales s(rows);
  for (std::uint64_t step = 0; step < nk::delayed_scales::history + 2; ++step) {
    s.step({step, static_cast<std::int32_t>(step % 3)}, {magnitudes(random, all), magnitudes(random, all)},
           step % 5 != 3);
    CHECK(s.differences() == 0);
  }
  bool moved = false;
  for (std::size_t t = 0; t < rows.size(); ++t) moved = moved || *s.scales.scale(t) != 1;
  CHECK(moved);
}

TEST_CASE("scales of 8-bit floats on the device: what is not finite in any row of any run is seen") {
  if (const std::string reason = nk::testing::why_no_device(); !reason.empty()) SKIP(reason);
  std::mt19937 random(6);
  constexpr std::size_t rows = 2600;
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const float wrong : {inf, nan})
    for (const std::size_t at : {0u, 33u, 700u, 2047u, 2048u, 2599u}) {
      both_scales s({rows});
      std::vector<float> seen = magnitudes(random, rows);
      seen[at] = wrong;
      s.step({0, 0}, {magnitudes(random, rows), seen, magnitudes(random, rows)}, false);
      CHECK(!s.scales.finite());
      CHECK(s.differences() == 0);
    }
}
