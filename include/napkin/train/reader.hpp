// What a model makes of a text: tokens in, one after another, and out the logits of the one that follows. Two
// that agree but for rounding: one that computes the whole window at each token, one that keeps keys and
// values. Who draws tokens from logits is in train/generate.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "napkin/core/buffer.hpp"
#include "napkin/cpu/executor.hpp"
#include "napkin/nn/cache.hpp"
#include "napkin/ops/reflect.hpp"
#include "napkin/plan/cost.hpp"
#include "napkin/tensor/storage.hpp"
#include "napkin/train/parameter_pointers.hpp"

namespace napkin {

namespace rule {
/// type<Model>
template <class... Facts>
struct model_has_no_logits {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "generator: the model has no constexpr auto logits(input<T, batch, sequence>) const, one function and "
      "no template, that says what follows each token");
};
/// axis<Batch>, but_size<N>
template <class... Facts>
struct generator_writes_one_text {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "generator: one text is written at a time: give it the model with a batch of size 1, to which the "
      "parameters of the trained one belong as well");
};
/// among<Ds...>
template <class... Facts>
struct generator_knows_its_sizes {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(raise,
                                         "generator: it reads texts as long as the compiler knows: give it "
                                         "the model with axes of fixed sizes, to "
                                         "which the parameters of the trained one belong as well");
};
}  // namespace rule

namespace detail {

template <class Function>
struct first_input {
  using type = traced<f32>;  // none
};
template <class Model, class Result, class First, class... Rest>
struct first_input<Result (Model::*)(First, Rest...) const> {
  using type = std::remove_cvref_t<First>;
};
template <class Model>
concept HasLogits = requires {
  inputs_of_member<decltype(&Model::logits)>::count;
};

template <class Text>
struct first_axis {
  using type = dim<"1", 1>;  // none
};
template <class T, class First, class... Rest>
struct first_axis<traced<T, First, Rest...>> {
  using type = First;
};
/// What is wrong with a model that is to write text.
template <class Model>
constexpr auto find_writer_mistake() {
  if constexpr (!HasLogits<Model>) {
    return std::type_identity<rule::model_has_no_logits<fact::type<Model>>>{};
  } else {
    using input = typename first_input<decltype(&Model::logits)>::type;
    using batch = typename first_axis<input>::type;
    if constexpr (has_dynamic_axis<input>)
      return std::type_identity<rule::generator_knows_its_sizes<axes_of<input>>>{};
    else if constexpr (batch::size != 1)
      return std::type_identity<
          rule::generator_writes_one_text<fact::axis<batch>, fact::but_size<batch::size>>>{};
    else
      return std::type_identity<accepted>{};
  }
}
template <class Model>
using writer_mistake = typename decltype(find_writer_mistake<Model>())::type;

}  // namespace detail

/// The graph of a model's `constexpr auto logits(input<u16, batch, sequence>) const`.
template <class Model>
struct logits_graph : model_function_graph<Model, &Model::logits> {
  static constexpr bool simplified = true;
  template <std::int32_t Kept>
  using shortened = passes::shortened_graph<model_function_graph<Model, &Model::logits>, Kept>;
};

/// The graph of a model's logits_at: one position behind those of a cache. Inputs: the parameters, the token,
/// its position, then the cache layer by layer, keys and values of all positions. Outputs: the logits, then
/// keys and values of this position in the same order.
template <class Model>
struct cached_logits_graph {
  static constexpr auto parameters = static_cast<std::size_t>(detail::totals_of<Model>.next);
  static constexpr std::size_t cached = 2 * std::tuple_size_v<typename Model::block_layers>;
  static constexpr graph_sizes capacity{24 * parameters + 256, 4 * parameters + 64, 120 * parameters + 1024,
                                        1 + cached};
  static constexpr bool simplified = true;

  static constexpr graph make() {
    using token = traced<typename Model::token, typename Model::batch>;
    using position = traced<i32, typename Model::batch>;
    builder b;
    b.simplify = true;
    b.reserve(8 * parameters + 256);
    Model m{};
    detail::no_path path;
    detail::record_of_nodes recorded{b};
    detail::walk_parameters(m, path, recorded);
    const shape batch = detail::shape_over<axes<typename Model::batch>>;
    const token text(&b, b.input(recorded.next, dtype_of<typename Model::token>, batch));
    const position at(&b, b.input(recorded.next + 1, dtype::i32, batch));
    nn::key_value_cache<typename Model::seq, typename Model::batch> cache{at, recorded.next + 2};
    const auto logits = m.logits_at(text, cache);
    b.output(detail::node_of(b, logits));
    for (std::size_t i = 0; i < cache.made.size(); ++i) b.output(cache.made[i]);
    return constants_first(b.take());
  }
};

namespace detail {

/// What both readers ask before they begin.
inline void check_reader(std::size_t expected, std::size_t given) {
  if (given != expected)
    throw error("generator: the model has " + std::to_string(expected) + " parameters, " +
                std::to_string(given) + " were given");
}
inline void check_read(std::size_t size, std::size_t more, std::size_t window) {
  if (more == 0) throw error("reader: one token at least is read at a time");
  if (more > window - size)
    throw error("reader: " + std::to_string(size) + " tokens are read and " + std::to_string(more) +
                " more do not fit in a window of " + std::to_string(window) + ": clear it first");
}

}  // namespace detail

/// Computes the logits of a whole window at each call: the plain one, for any model. The model is the trained
/// one with a batch of 1: parameters of the same names and shapes, which are read where the trainer keeps
/// them.
template <class Model>
class window_reader {
  using plan = on_cpu::frozen_plan<logits_graph<Model>>;
  static constexpr shape result() {
    const graph_view g = plan::graph();
    return g.shape_of(g.outputs[0]);
  }
  static_assert(result().size() == 3, "reader: a model's logits have the axes batch, sequence, vocabulary");

 public:
  static constexpr std::size_t window = result()[1];
  static constexpr std::size_t vocabulary = result()[2];
  /// Of a call, however many tokens it reads.
  static constexpr cost_sheet cost = planning::cost_of(plan::view(), plan::graph());

  /// Read at every call.
  ///
  /// Rules  parameters_of_another_model
  template <class Trained, class Raised = raised_by_caller<detail::foreign_parameters<Model, Trained>>>
  explicit window_reader(const parameter_pointers<Trained>& parameters, Raised = {})
      : window_reader(std::span<const void* const>(parameters)) {
    detail::foreign_parameters<Model, Trained>::raise();
  }
  /// Of memory that no type speaks for: pointers to f32, in the order of the model's table.
  explicit window_reader(std::span<const void* const> parameters)
      : arena_(plan::value.peak),
        run_(plan::view(), on_cpu::kernels_of<plan>.data(), static_cast<std::byte*>(arena_.data())),
        tokens_(window),
        logits_(window * vocabulary) {
    detail::check_reader(parameter_table<Model>.size(), parameters.size());
    std::vector<const void*> inputs(parameters.begin(), parameters.end());
    inputs.push_back(tokens_.data());
    void* const outputs[] = {logits_.data()};
    run_.bind(inputs, outputs);
  }

  /// Tokens read since the last `clear`, which forgets them.
  std::size_t size() const { return size_; }
  void clear() { size_ = 0; }

  /// The logits of the token after these, which follow those read before; valid until the next call.
  std::span<const float> read(std::span<const std::uint16_t> tokens) {
    detail::check_read(size_, tokens.size(), window);
    // What lies behind the last token is never looked at: attention is causal.
    for (const std::uint16_t token : tokens) tokens_[size_++] = static_cast<element>(token);
    run_.run();
    return std::span<const float>(logits_).subspan((size_ - 1) * vocabulary, vocabulary);
  }

 private:
  using element = typename detail::first_input<decltype(&Model::logits)>::type::element;
  storage arena_;
  on_cpu::executor run_;
  std::vector<element> tokens_;
  std::vector<float> logits_;
  std::size_t size_ = 0;
};

/// Computes the logits of one position at a time, by the keys and values of those before: the same, but for
/// rounding, at a cost that grows with the window only in attention. For models with logits_at and a batch
/// of 1.
template <class Model>
class cached_reader {
  using make = cached_logits_graph<Model>;
  using plan = on_cpu::frozen_plan<make>;
  static constexpr std::size_t parameters = make::parameters;
  static constexpr shape result() {
    const graph_view g = plan::graph();
    return g.shape_of(g.outputs[0]);
  }
  static_assert(result().size() == 2, "reader: a model's logits_at have the axes batch, vocabulary");

 public:
  static constexpr std::size_t window = Model::seq::size;
  static constexpr std::size_t vocabulary = result()[1];
  /// Of a token.
  static constexpr cost_sheet cost = planning::cost_of(plan::view(), plan::graph());

  /// As window_reader.
  template <class Trained, class Raised = raised_by_caller<detail::foreign_parameters<Model, Trained>>>
  explicit cached_reader(const parameter_pointers<Trained>& values, Raised = {})
      : cached_reader(std::span<const void* const>(values)) {
    detail::foreign_parameters<Model, Trained>::raise();
  }
  explicit cached_reader(std::span<const void* const> values)
      : arena_(plan::value.peak),
        run_(plan::view(), on_cpu::kernels_of<plan>.data(), static_cast<std::byte*>(arena_.data())),
        logits_(vocabulary) {
    detail::check_reader(parameters, values.size());
    const graph_view g = plan::graph();
    std::vector<const void*> inputs(values.begin(), values.end());
    inputs.push_back(&token_);
    inputs.push_back(&position_);
    std::vector<void*> outputs = {logits_.data()};
    for (std::size_t i = 0; i < make::cached; ++i) {
      row_[i].resize(numel(g.shape_of(g.outputs[1 + i])));
      cache_[i].resize(window * row_[i].size());
      inputs.push_back(cache_[i].data());
      outputs.push_back(row_[i].data());
    }
    run_.bind(inputs, outputs);
  }
  cached_reader(const cached_reader&) = delete;  // its plan is bound to its members
  cached_reader& operator=(const cached_reader&) = delete;

  std::size_t size() const { return static_cast<std::size_t>(position_); }
  void clear() { position_ = 0; }

  std::span<const float> read(std::span<const std::uint16_t> tokens) {
    detail::check_read(size(), tokens.size(), window);
    for (const std::uint16_t token : tokens) {
      token_ = static_cast<element>(token);
      run_.run();
      for (std::size_t i = 0; i < make::cached; ++i)
        copy_run(row_[i].data(), row_[i].size(), cache_[i].data() + size() * row_[i].size());
      ++position_;
    }
    return logits_;
  }

 private:
  using element = typename Model::token;
  storage arena_;
  on_cpu::executor run_;
  element token_{};
  std::int32_t position_ = 0;
  std::array<std::vector<float>, make::cached> row_, cache_;  // keys and values: of a position, of all
  std::vector<float> logits_;
};

namespace detail {
template <class Model>
concept HasCachedLogits = requires(const Model& m, traced<typename Model::token, typename Model::batch> text,
                                   nn::key_value_cache<typename Model::seq, typename Model::batch>& cache) {
  m.logits_at(text, cache);
};
template <class Model>
constexpr auto choose_reader() {
  if constexpr (is_mistake<writer_mistake<Model>>)
    return std::type_identity<failed>{};  // which generator tells of
  else if constexpr (HasCachedLogits<Model>)
    return std::type_identity<cached_reader<Model>>{};
  else
    return std::type_identity<window_reader<Model>>{};
}
}  // namespace detail

/// The cheaper one that a model has.
template <class Model>
using reader_of = typename decltype(detail::choose_reader<Model>())::type;

}  // namespace napkin
