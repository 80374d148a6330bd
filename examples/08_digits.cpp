// Handwritten digits, 8 x 8 pixels: a multilayer perceptron and a small convolutional network, trained on
// 1,500 images and asked about 297 others. With dropout, label smoothing, and a group of parameters of its
// own rate.
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <napkin/napkin.hpp>
#include <span>
#include <string>
#include <vector>

namespace nk = napkin;

struct height : nk::dim<"height", 8> {};
struct width : nk::dim<"width", 8> {};
struct gray : nk::dim<"gray", 1> {};  // channels of an image
struct digit : nk::dim<"digit", 10> {};

template <std::size_t Batch>
using batch_of = nk::dim<"batch", Batch>;
template <std::size_t Batch>
using images = nk::input<nk::f32, batch_of<Batch>, height, width, gray>;
template <std::size_t Batch>
using classes = nk::input<nk::u8, batch_of<Batch>>;

struct hidden : nk::dim<"hidden", 96> {};

template <std::size_t Batch>
struct perceptron {
  static constexpr const char* name = "perceptron";
  using head_layer = nk::nn::linear<hidden, digit>;
  BOOST_HANA_DEFINE_STRUCT(perceptron, (nk::param<height, width, gray, hidden>, up),
                           (nk::param<hidden>, bias), (head_layer, head));

  constexpr perceptron() {
    up.initial = nk::init::kaiming_normal(height::size * width::size);
    bias.initial = nk::init::zeros();
  }
  /// (batch, digit)
  constexpr auto logits(images<Batch> x, nk::input<nk::i64> noise) const {
    const auto h = nk::relu(nk::dot<"height", "width", "gray">(x, up) + bias);  // [batch, hidden]
    return head(nk::dropout(h, 0.2, noise));
  }
  constexpr auto loss(images<Batch> x, classes<Batch> y, nk::input<nk::i64> noise) const {
    return nk::cross_entropy<"digit">(logits(x, noise), y, 0.05);
  }
};

struct down : nk::dim<"down", 3> {};  // a kernel's taps
struct across : nk::dim<"across", 3> {};
struct edges : nk::dim<"edges", 12> {};
struct shapes : nk::dim<"shapes", 24> {};
template <class In, class Out>
using conv3x3 = nk::nn::conv<In, Out, nk::nn::along<height, down>, nk::nn::along<width, across>>;

template <std::size_t Batch>
struct convolutional {
  static constexpr const char* name = "convolutional";
  using first_layer = conv3x3<gray, edges>;
  // the second convolution's axes are halved by then
  using half_height = nk::dim<"height", height::size / 2>;
  using half_width = nk::dim<"width", width::size / 2>;
  using second_layer =
      nk::nn::conv<edges, shapes, nk::nn::along<half_height, down>, nk::nn::along<half_width, across>>;
  using flat_layer = nk::param<nk::dim<"height", 2>, nk::dim<"width", 2>, shapes, digit>;
  BOOST_HANA_DEFINE_STRUCT(convolutional, (first_layer, first), (second_layer, second), (flat_layer, head),
                           (nk::param<digit>, head_bias));

  constexpr convolutional() {
    head.initial = nk::init::fan_in(4 * shapes::size);
    head_bias.initial = nk::init::zeros();
  }
  /// (batch, digit)
  constexpr auto logits(images<Batch> x, nk::input<nk::i64> noise) const {
    const auto a = nk::max_pool<2, "height", "width">(nk::relu(first(x)));   // [batch, 4, 4, edges]
    const auto b = nk::max_pool<2, "height", "width">(nk::relu(second(a)));  // [batch, 2, 2, shapes]
    return nk::dot<"height", "width", "shapes">(nk::dropout(b, 0.2, noise), head) + head_bias;
  }
  constexpr auto loss(images<Batch> x, classes<Batch> y, nk::input<nk::i64> noise) const {
    return nk::cross_entropy<"digit">(logits(x, noise), y, 0.05);
  }
};

constexpr std::size_t batch = 50, trained_on = 1500, tested_on = 297;

/// The last layer learns half as fast as the rest.
struct slow_head {
  static constexpr nk::parameter_group value[] = {{.pattern = "head*", .rate_scale = 0.5}};
};

struct data_set {
  std::vector<float> pixels;  // of 0 to 1
  std::vector<nk::u8> labels;
};
data_set read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  constexpr std::size_t record = height::size * width::size + 1;
  if (bytes.size() != (trained_on + tested_on) * record)
    throw nk::input_error(path + ": 1,797 digits of 65 bytes are expected, " + std::to_string(bytes.size()) +
                          " bytes were found");
  data_set d;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % record == record - 1)
      d.labels.push_back(static_cast<nk::u8>(bytes[i]));
    else
      d.pixels.push_back(static_cast<float>(bytes[i]) / 16);
  }
  return d;
}

// How many images at a time a board of 16 MB could train the convolutional network on: one more does not fit.
// The compiler plans steps of a few batches to find out.
template <std::size_t Batch>
using convolutional_step = nk::train_step<convolutional<Batch>, nk::adamw, nk::groups<slow_head>>;
constexpr nk::device board{.name = "a small board", .memory = 16'000'000};
static_assert(nk::fits<board, convolutional_step<batch>>);
constexpr std::size_t largest_batch = nk::max_batch<board, convolutional_step>;

/// Trains, and returns the share of the other images that is told right.
template <template <std::size_t> class Model>
double train(const data_set& digits) {
  using model = Model<batch>;
  using step = nk::train_step<model, nk::adamw, nk::groups<slow_head>>;
  nk::trainer<step> trainer(nk::seed{1}, {.optimizer = {.beta2 = 0.99, .weight_decay = 0.05}});
  const nk::warmup_cosine rate{.peak = 0.01, .warmup_steps = 20, .total_steps = 450};
  constexpr std::size_t pixels = height::size * width::size;
  std::vector<float> x(batch * pixels);
  std::vector<nk::u8> y(batch);
  for (std::int64_t s = 0; s < rate.total_steps; ++s) {
    const nk::random_stream draw = nk::stream_of(1, "batch", static_cast<std::uint64_t>(s));
    for (std::size_t i = 0; i < batch; ++i) {
      const std::size_t k = nk::integer(draw, i, trained_on);
      std::copy_n(digits.pixels.begin() + static_cast<std::ptrdiff_t>(k * pixels), pixels,
                  x.begin() + static_cast<std::ptrdiff_t>(i * pixels));
      y[i] = digits.labels[k];
    }
    const nk::step_result r = trainer.step(rate(s), x, y, std::array{s});  // the step is the dropout's noise
    if (s % 150 == 0)
      std::printf("  step %3d  loss %.4f\n", static_cast<int>(s), static_cast<double>(r.loss));
  }

  using tested = Model<tested_on>;
  nk::predictor<tested, &tested::logits> predict(trainer.value_pointers());
  const std::span<const float> logits = predict(std::span(digits.pixels).last(tested_on * pixels),
                                                std::array{std::int64_t{-1}});  // nothing dropped
  std::size_t right = 0;
  for (std::size_t i = 0; i < tested_on; ++i) {
    const float* row = logits.data() + i * digit::size;
    right += std::max_element(row, row + digit::size) - row == digits.labels[trained_on + i];
  }
  const double share = static_cast<double>(right) / tested_on;
  std::printf("%s: %zu parameters, %.1f%% of %zu unseen digits right\n", model::name,
              nk::count_parameters<model>, 100 * share, tested_on);
  return share;
}

int main(int count, char** arguments) try {
  const auto beside_this_file = std::filesystem::path(__FILE__).parent_path() / "data/digits.bin";
  const data_set digits = read(count > 1 ? arguments[1] : beside_this_file.string());
  std::printf("%zu images at a time would fit in %zu bytes\n", largest_batch,
              static_cast<std::size_t>(board.memory));
  const double first = train<perceptron>(digits), second = train<convolutional>(digits);
  return first > 0.9 && second > 0.93 ? 0 : 1;
} catch (const nk::error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
