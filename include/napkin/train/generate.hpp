// Text from a model, token by token: each is drawn from what the model makes of those before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "napkin/train/reader.hpp"
#include "napkin/train/sampling.hpp"

namespace napkin {

/// Writes by a model: the trained one with a batch of 1 (train/reader.hpp), on the CPU.
///
/// Rules    model_has_no_logits, generator_writes_one_text, parameters_of_another_model
/// Example  nk::generator<writer> write(trainer.value_pointers());
///          write(prompt, 100, {.temperature = 0.8}, nk::stream_of(7, "sample"), [&](auto token) { ... });
template <class Model, class Reader = reader_of<Model>>
class generator {
 public:
  static constexpr std::size_t window = Reader::window;
  static constexpr std::size_t vocabulary = Reader::vocabulary;

  /// Read at every token; as the reader takes them.
  template <class Trained, class Raised = raised_by_caller<detail::foreign_parameters<Model, Trained>>>
  explicit generator(const parameter_pointers<Trained>& parameters, Raised = {})
      : reader_(std::span<const void* const>(parameters)) {
    detail::foreign_parameters<Model, Trained>::raise();
  }
  /// Of a trainer that a rule has refused.
  explicit generator(const failed&) : reader_(std::span<const void* const>()) {}
  explicit generator(std::span<const void* const> parameters) : reader_(parameters) {}

  /// Draw `count` tokens that follow `prompt` (not empty), and hand each to `take`. Token i is drawn by
  /// element i of the stream, so that equal arguments give equal text. Of a text longer than the window the
  /// model sees the end: where the window is full, its latter half is read anew.
  template <class Take>
  void operator()(std::span<const std::uint16_t> prompt, std::size_t count, sampling_options how,
                  random_stream stream, Take&& take) {
    if (prompt.empty()) throw input_error("a prompt has one token at least");
    token_sampler draw(how);
    const auto last = prompt.last(prompt.size() < window ? prompt.size() : window);
    std::vector<std::uint16_t> seen(last.begin(), last.end());
    reader_.clear();
    std::span<const std::uint16_t> unread = seen;
    for (std::size_t i = 0; i < count; ++i) {
      const auto token = static_cast<std::uint16_t>(draw(reader_.read(unread), stream, i));
      take(token);
      const bool full = seen.size() == window;
      if (full) {
        seen.erase(seen.begin(), seen.end() - static_cast<std::ptrdiff_t>(window / 2));
        reader_.clear();
      }
      seen.push_back(token);
      unread = full ? std::span<const std::uint16_t>(seen) : std::span<const std::uint16_t>(seen).last(1);
    }
  }

 private:
  Reader reader_;
};

/// Of a model that a rule refuses: says so, and then lets the rest of the program through.
template <class Model, class Reader>
requires(is_mistake<detail::writer_mistake<Model>>) class generator<Model, Reader> : public failed {
  using raised = decltype(detail::writer_mistake<Model>::raise());

 public:
  template <class Parameters>
  explicit generator(const Parameters&) {}
  template <class Take>
  void operator()(std::span<const std::uint16_t>, std::size_t, sampling_options, random_stream, Take&&) {}
};

}  // namespace napkin
