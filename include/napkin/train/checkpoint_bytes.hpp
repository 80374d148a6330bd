// How long a checkpoint's file is, as a constant of the step: the header's text is spelled out in numbers
// alone, since every number in it that training changes has a fixed width. What a checkpoint is:
// train/checkpoint.hpp.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>

#include "napkin/train/checkpoint_file.hpp"
#include "napkin/train/step.hpp"

namespace napkin {

/// A text that a program keeps in its checkpoints: run_state::settings, an entry.
struct checkpoint_setting {
  std::string_view name, text;
};

namespace detail {

/// Counts the letters of a safetensors header.
class header_length {
 public:
  /// An entry of the metadata. Commas are counted with the entry before them.
  constexpr void metadata(std::size_t key, std::size_t text) { letters_ += key + text + 6; }  // "key":"text",
  /// A tensor of the parameter's shape, by its name behind a prefix of so many letters.
  constexpr void tensor(std::size_t prefix, const parameter_info& p) {
    const std::size_t name = prefix + p.name.size();
    metadata(tensor_checksum_prefix.size() + name, checksum_digits);
    const std::uint64_t end = offset_ + p.count * sizeof(f32);
    letters_ += name + std::string_view(R"("":{"dtype":"F32","shape":[],"data_offsets":[,]},)").size();
    for (const std::size_t size : p.sizes) letters_ += digits(size) + 1;
    letters_ += digits(offset_) + digits(end) - (p.sizes.size() > 0 ? 1 : 0);
    offset_ = end;
  }
  /// Of the file: the header's length, the header with its brackets and padding, and the data.
  constexpr std::uint64_t file() const {
    // the metadata's last entry has no comma; nor has the last tensor, or, without one, the metadata
    const std::size_t text = letters_ - 2 + std::string_view(R"({"__metadata__":{},})").size();
    return (8 + text + data_alignment - 1) / data_alignment * data_alignment + offset_;
  }

  /// As JSON writes it.
  static constexpr std::size_t escaped(std::string_view text) {
    std::size_t n = 0;
    for (const char c : text) {
      const bool is_short =
          c == '"' || c == '\\' || c == '\b' || c == '\f' || c == '\n' || c == '\r' || c == '\t';
      n += is_short ? 2 : static_cast<unsigned char>(c) < 0x20 ? 6 : 1;
    }
    return n;
  }

 private:
  static constexpr std::size_t digits(std::uint64_t n) {
    std::size_t count = 1;
    for (; n >= 10; n /= 10) ++count;
    return count;
  }
  std::size_t letters_ = 0;
  std::uint64_t offset_ = 0;
};

template <class Step>
constexpr std::uint64_t find_checkpoint_bytes(const checkpoint_setting* settings, std::size_t count,
                                              std::string_view algorithms) {
  const auto& table = parameter_table<typename Step::model>;
  header_length header;
  for (const std::string_view key : checkpoint_numbers) header.metadata(key.size(), metadata_digits);
  if (Step::scales_loss)
    for (const std::string_view key : checkpoint_scale_keys) header.metadata(key.size(), metadata_digits);
  header.metadata(checkpoint_optimizer_key.size(), header_length::escaped(Step::optimizer::name));
  header.metadata(header_checksum_key.size(), checksum_digits);
  if (!algorithms.empty())
    header.metadata(checkpoint_algorithms_key.size(), header_length::escaped(algorithms));
  for (std::size_t i = 0; i < count; ++i)
    header.metadata(checkpoint_settings_prefix.size() + header_length::escaped(settings[i].name),
                    header_length::escaped(settings[i].text));
  std::size_t states = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    header.tensor(0, table[i]);
    if (Step::states_of(i) > states) states = Step::states_of(i);
  }
  for (std::size_t s = 0; s < states; ++s)
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (s >= Step::states_of(i)) continue;
      header.tensor(std::string_view("optimizer..").size() + Step::state_name(s, i).size(), table[i]);
    }
  return header.file();
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
