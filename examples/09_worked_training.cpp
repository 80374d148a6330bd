// The runs of CS336's lecture 2, done right: tokens in a file that is mapped and not read, a learning rate
// that is really tuned, a checkpoint with all that a run needs, and how much of the machine a step used.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <napkin/napkin.hpp>
#include <napkin/optim/sgd.hpp>
#include <napkin/train/host_device.hpp>
#include <vector>

namespace nk = napkin;

// ---- the lecture's "Cruncher": square layers, and a head of one output

template <std::size_t B, std::size_t D, std::size_t L>
struct cruncher {
  struct batch : nk::dim<"batch", B> {};
  using in = nk::dim<"in", D>;
  using out = nk::dim<"out", D>;
  struct one : nk::dim<"one", 1> {};
  struct layer {
    BOOST_HANA_DEFINE_STRUCT(layer, (nk::param<in, out>, weight));
  };
  using layers = std::array<layer, L>;
  BOOST_HANA_DEFINE_STRUCT(cruncher, (layers, hidden), (nk::param<in, one>, head));

  constexpr cruncher() {  // so that values neither grow nor vanish: deviation 1 / sqrt(D), cut at three
    for (layer& l : hidden) l.weight.initial = nk::init::fan_in(D);
    head.initial = nk::init::fan_in(D);
  }
  constexpr auto loss(nk::input<nk::f32, batch, in> x, nk::input<nk::f32, batch> y) const {
    auto h = x;  // [batch, in]
    for (const layer& l : hidden) h = nk::rename<"out", "in">(nk::dot<"in">(h, l.weight));
    const auto error = nk::index<"one", 0>(nk::dot<"in">(h, head)) - y;  // [batch]
    return nk::mean(error * error);
  }
};

// ---- D1: tokens on disk, batches of them

bool read_back_tokens(const std::string& folder) {
  const std::vector<std::uint16_t> written{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const std::string path = folder + "/tokens.bin";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(written.data()), static_cast<std::streamsize>(2 * written.size()));
  nk::file_system& files = nk::posix_file_system();
  const nk::token_source mapped(files, "the tokens", {nk::find_tokens(files, path)}, 11);
  std::vector<std::uint16_t> read(written.size());
  mapped.copy(0, read.size(), read.data());

  constexpr std::size_t batch = 2, time = 4;
  std::vector<std::uint16_t> tokens(batch * time), targets(batch * time);
  nk::batch_sampler batches(mapped, batch, time, {.seed = 0, .step = 0});
  batches.next(tokens, targets);
  bool follows = true;
  for (std::size_t i = 0; i < tokens.size(); ++i) follows = follows && targets[i] == tokens[i] + 1;
  std::printf("D1  %zu tokens mapped; a batch of [%zu, %zu] begins with %d, its targets with %d\n",
              read.size(), batch, time, tokens[0], targets[0]);
  return read == written && follows;
}

// ---- W1: weights 0 .. 15 are found again, if the rate is what one asked for

using linear = cruncher<4, 16, 0>;
using linear_step = nk::train_step<linear, nk::sgd>;

void draw(std::int64_t i, std::vector<float>& x, std::vector<float>& y) {
  const nk::random_stream stream = nk::stream_of(static_cast<std::uint64_t>(i), "data");
  for (std::size_t b = 0; b < y.size(); ++b) {
    y[b] = 0;
    for (std::size_t d = 0; d < 16; ++d) {
      x[b * 16 + d] = nk::normal<float>(stream, b * 16 + d);
      y[b] += x[b * 16 + d] * static_cast<float>(d);
    }
  }
}
float largest_error(double rate, std::int64_t steps) {
  nk::trainer<linear_step> trainer(nk::seed{1}, {.clip_norm = 0});
  std::vector<float> x(4 * 16), y(4);
  for (std::int64_t i = 0; i < steps; ++i) {
    draw(i, x, y);
    trainer.step(rate, x, y);
  }
  float worst = 0;
  const nk::named_memory w = trainer.value(0);
  for (std::size_t d = 0; d < w.count; ++d)
    worst = std::max(worst, std::abs(w.data[d] - static_cast<float>(d)));
  return worst;
}
bool tune() {
  const float slow = largest_error(0.01, 10), fast = largest_error(0.05, 10),
              whole = largest_error(0.05, 400);
  std::printf(
      "W1  largest error of a weight after 10 steps: %.2f at a rate of 0.01, %.2f at 0.05; after 400: %.5f\n",
      static_cast<double>(slow), static_cast<double>(fast), static_cast<double>(whole));
  return slow != fast && whole < 1e-2f;
}

// ---- K1: a checkpoint of parameters, optimizer, step and the data's place, whole or not there

using deep = cruncher<4, 64, 3>;
using deep_step = nk::train_step<deep, nk::adamw>;
static_assert(nk::count_parameters<deep> == 12'352);

bool save_and_go_on(const std::string& folder) {
  nk::file_system& files = nk::posix_file_system();
  const std::string path = folder + "/cruncher.safetensors";
  std::vector<float> x(4 * 64, 0.5f), y(4, 1.0f);
  nk::trainer<deep_step> first(nk::seed{1}), second(nk::seed{2});
  for (int i = 0; i < 3; ++i) first.step(1e-3, x, y);
  nk::save_checkpoint(files, path, first, {.seed = 7, .step = 3});
  const nk::run_state state = nk::load_checkpoint(files, path, second);
  const float a = first.step(1e-3, x, y).loss, b = second.step(1e-3, x, y).loss;
  std::printf("K1  %zu parameters, %ju bytes on disk, step %ju; the next loss is %.6f from either\n",
              nk::count_parameters<deep>, static_cast<std::uintmax_t>(std::filesystem::file_size(path)),
              static_cast<std::uintmax_t>(state.step), static_cast<double>(a));
  return std::memcmp(&a, &b, sizeof a) == 0 && state.step == 3 && state.sampler.step == 3;
}

// ---- F2: the median of five trials, each of some steps that are done when the clock is read

using wide = cruncher<256, 512, 2>;
using wide_step = nk::train_step<wide, nk::sgd>;

bool measure() {
  const nk::device host = nk::host_device();
  nk::trainer<wide_step> trainer(nk::seed{1});
  const std::vector<float> x(256 * 512, 0.1f), y(256, 1.0f);
  trainer.step(1e-3, x, y);
  constexpr int steps = 10;
  std::vector<double> seconds;
  for (int trial = 0; trial < 5; ++trial) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; ++i) trainer.step(1e-3, x, y);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() /
                      steps);
  }
  std::sort(seconds.begin(), seconds.end());
  const double used = nk::mfu<wide_step>(host, seconds[2]);  // above 1 it would throw
  std::printf("F2  a step of %.2f ms: MFU %.2f; at least %.2f ms on this machine, %.4f ms on an H100\n",
              seconds[2] * 1e3, used, nk::time_on_device<wide_step>(host).seconds * 1e3,
              nk::time_on<nk::h100_sxm, wide_step>.seconds * 1e3);
  return used > 0 && used <= 1;
}

int main() {
  std::string folder = (std::filesystem::temp_directory_path() / "napkin_worked_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const bool good[] = {read_back_tokens(folder), tune(), save_and_go_on(folder), measure()};
  std::filesystem::remove_all(folder);
  return std::find(std::begin(good), std::end(good), false) == std::end(good) ? 0 : 1;
}
