// Text from a model, token by token: each is drawn from what the model makes of the window before it. The
// whole window is computed anew for each token; no keys and values are kept.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "napkin/cpu/executor.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/tensor/storage.hpp"
#include "napkin/train/sampling.hpp"

namespace napkin {

/// The graph of a model's `constexpr auto logits(input<u16, batch, sequence>) const`.
template <class Model>
struct logits_graph : model_function_graph<Model, &Model::logits> {
  static constexpr bool simplified = true;
  template <std::int32_t Kept>
  using shortened = passes::shortened_graph<model_function_graph<Model, &Model::logits>, Kept>;
};

/// Runs `Model::logits` on a batch of one window, forward only. The model is the trained one with another
/// batch: parameters of the same names and shapes, which are read where the trainer keeps them.
template <class Model>
class generator {
  using plan = on_cpu::frozen_plan<logits_graph<Model>>;
  static constexpr shape result() {
    const graph_view g = plan::graph();
    return g.shape_of(g.outputs[0]);
  }
  static_assert(result().size() == 3 && result()[0] == 1,
                "generator: the model's logits have the axes batch, sequence, vocabulary, and a batch of 1");

 public:
  static constexpr std::size_t window = result()[1];
  static constexpr std::size_t vocabulary = result()[2];

  /// `parameters` are pointers to f32, in the order of the model's table; read at every token.
  explicit generator(std::span<const void* const> parameters)
      : arena_(plan::value.peak),
        run_(plan::view(), on_cpu::kernels_of<plan>.data(), static_cast<std::byte*>(arena_.data())),
        tokens_(window),
        logits_(window * vocabulary) {
    if (parameters.size() != parameter_table<Model>.size())
      throw error("generator: the model has " + std::to_string(parameter_table<Model>.size()) +
                  " parameters, " + std::to_string(parameters.size()) + " were given");
    std::vector<const void*> inputs(parameters.begin(), parameters.end());
    inputs.push_back(tokens_.data());
    void* const outputs[] = {logits_.data()};
    run_.bind(inputs, outputs);
  }

  /// Draw `count` tokens that follow `prompt` (not empty), and hand each to `take`. Token i is drawn by
  /// element i of the stream, so that equal arguments give equal text.
  template <class Take>
  void operator()(std::span<const std::uint16_t> prompt, std::size_t count, sampling_options how,
                  random_stream stream, Take&& take) {
    if (prompt.empty()) throw input_error("a prompt has one token at least");
    token_sampler draw(how);
    const std::size_t known = std::min(prompt.size(), window);
    const auto last = prompt.last(known);
    std::copy(last.begin(), last.end(), tokens_.begin());
    // What lies behind the last token is never looked at: attention is causal.
    std::fill(tokens_.begin() + static_cast<std::ptrdiff_t>(known), tokens_.end(), std::uint16_t{0});
    std::size_t filled = known;
    for (std::size_t i = 0; i < count; ++i) {
      run_.run();
      const auto row = std::span<const float>(logits_).subspan((filled - 1) * vocabulary, vocabulary);
      const auto token = static_cast<std::uint16_t>(draw(row, stream, i));
      take(token);
      if (filled == window) {
        std::copy(tokens_.begin() + 1, tokens_.end(), tokens_.begin());
        --filled;
      }
      tokens_[filled++] = token;
    }
  }

 private:
  storage arena_;
  on_cpu::executor run_;
  std::vector<std::uint16_t> tokens_;
  std::vector<float> logits_;
};

}  // namespace napkin
