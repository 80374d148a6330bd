// How long a checkpoint's file is, as a constant of the step: the header's text is spelled out in numbers
// alone, since every number in it that training changes has a fixed width. What a checkpoint is:
// train/checkpoint.hpp.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>

#include "napkin/train/checkpoint_file.hpp"
#include "napkin/train/checkpoint_header.hpp"
#include "napkin/train/step.hpp"

namespace napkin {

/// A text that a program keeps in its checkpoints: run_state::settings, an entry.
struct checkpoint_setting {
  std::string_view name, text;
};

namespace detail {

/// Letters of a text as JSON writes it.
constexpr std::size_t escaped_length(std::string_view text) {
  std::size_t n = 0;
  for (const char c : text) {
    const bool is_short =
        c == '"' || c == '\\' || c == '\b' || c == '\f' || c == '\n' || c == '\r' || c == '\t';
    n += is_short ? 2 : static_cast<unsigned char>(c) < 0x20 ? 6 : 1;
  }
  return n;
}

template <class Step>
constexpr std::uint64_t find_checkpoint_bytes(const checkpoint_setting* settings, std::size_t count,
                                              std::string_view algorithms) {
  constexpr checkpoint_lengths tensors = checkpoint_lengths_of<Step>;
  std::size_t letters = 0;  // of the metadata, each with a comma behind it
  const auto add = [&letters](std::size_t key, std::size_t text) {
    letters += std::string_view(R"("":"",)").size() + key + text;
  };
  for (const std::string_view key : checkpoint_numbers) add(key.size(), metadata_digits);
  if (Step::scales_loss)
    for (const std::string_view key : checkpoint_scale_keys) add(key.size(), metadata_digits);
  if (Step::quantized_tensors > 0)
    add(checkpoint_remembered_key.size(),
        remembered_digits * delayed_scales::history * Step::quantized_tensors);
  add(checkpoint_optimizer_key.size(), escaped_length(Step::optimizer::name));
  add(header_checksum_key.size(), checksum_digits);
  if (!algorithms.empty()) add(checkpoint_algorithms_key.size(), escaped_length(algorithms));
  for (std::size_t i = 0; i < count; ++i)
    add(checkpoint_settings_prefix.size() + escaped_length(settings[i].name),
        escaped_length(settings[i].text));
  for (std::size_t i = 0; i < tensors.tensors; ++i) add(tensor_checksum_prefix.size(), checksum_digits);
  letters += tensors.names - 1;  // and no comma behind the last
  letters += std::string_view(R"({"__metadata__":{},)").size() + tensors.text;
  return (8 + letters + data_alignment - 1) / data_alignment * data_alignment + tensors.data;
}

}  // namespace detail

/// Bytes of the file that save_checkpoint writes of a trainer on the CPU, without settings of the program:
/// the same at every step, whatever the numbers.
///
/// Example  static_assert(nk::checkpoint_bytes<step> < 4'000'000);
template <class Step>
requires(std::is_same_v<typename Step::backend, cpu>) inline constexpr std::uint64_t checkpoint_bytes =
    detail::find_checkpoint_bytes<Step>(nullptr, 0, {});

/// The same with settings, and, of a trainer on a GPU, with the algorithms that its products run by.
template <class Step>
constexpr std::uint64_t checkpoint_bytes_with(std::initializer_list<checkpoint_setting> settings,
                                              std::string_view algorithms = {}) {
  return detail::find_checkpoint_bytes<Step>(settings.begin(), settings.size(), algorithms);
}

}  // namespace napkin
