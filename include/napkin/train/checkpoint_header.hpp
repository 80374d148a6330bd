// Which tensors a checkpoint of a step has, as constants: their list, and the header's text that says their
// names, dtypes, shapes and places, so that a file is compared with what the program knows. Metadata are not
// here: train/checkpoint_file.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "napkin/train/checkpoint_file.hpp"
#include "napkin/train/tensor_list.hpp"

namespace napkin {

namespace detail {

/// Put the tensors' part of the header: "name":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},...}
template <class Step, class F>
constexpr void spell_checkpoint_tensors(F&& put) {
  const auto number = [&put](std::uint64_t n) {
    char digits[20];
    std::size_t first = sizeof digits;
    do {
      digits[--first] = static_cast<char>('0' + n % 10);
      n /= 10;
    } while (n > 0);
    put(std::string_view(digits + first, sizeof digits - first));
  };
  std::uint64_t offset = 0;
  for_each_trained_tensor<Step>([&](std::size_t i, int state) {
    const parameter_info& p = parameter_table<typename Step::model>[i];
    put(offset == 0 ? std::string_view("\"") : std::string_view(",\""));
    for_each_piece_of_name<Step>(i, state, put);
    put(std::string_view("\":{\"dtype\":\""));
    put(safetensors_name(dtype::f32));
    put(std::string_view("\",\"shape\":["));
    bool first = true;
    for (const std::size_t size : p.sizes) {
      if (!first) put(std::string_view(","));
      first = false;
      number(size);
    }
    put(std::string_view("],\"data_offsets\":["));
    number(offset);
    put(std::string_view(","));
    offset += p.count * sizeof(f32);
    number(offset);
    put(std::string_view("]}"));
  });
  put(std::string_view("}"));
}

struct checkpoint_lengths {
  std::size_t tensors = 0, names = 0;  // how many, and the letters of their names together
  std::size_t text = 0;                // letters of their part of the header
  std::uint64_t data = 0;              // bytes
};
template <class Step>
constexpr checkpoint_lengths find_checkpoint_lengths() {
  checkpoint_lengths n;
  for_each_trained_tensor<Step>([&n](std::size_t i, int state) {
    ++n.tensors;
    n.data += parameter_table<typename Step::model>[i].count * sizeof(f32);
    for_each_piece_of_name<Step>(i, state, [&n](std::string_view piece) { n.names += piece.size(); });
  });
  spell_checkpoint_tensors<Step>([&n](std::string_view text) { n.text += text.size(); });
  return n;
}
template <class Step>
inline constexpr checkpoint_lengths checkpoint_lengths_of = find_checkpoint_lengths<Step>();

template <class Step>
constexpr auto make_checkpoint_header() {
  std::array<char, checkpoint_lengths_of<Step>.text> letters{};
  char* to = letters.data();
  spell_checkpoint_tensors<Step>([&to](std::string_view text) {
    for (const char letter : text) *to++ = letter;
  });
  return letters;
}
template <class Step>
inline constexpr auto checkpoint_header_letters = make_checkpoint_header<Step>();

}  // namespace detail

/// The text that the header of every checkpoint of a step ends with, but for the padding: each tensor's name,
/// dtype, shape and place. Before it stand the metadata.
template <class Step>
inline constexpr std::string_view checkpoint_header{detail::checkpoint_header_letters<Step>.data(),
                                                    detail::checkpoint_header_letters<Step>.size()};

template <class Step>
inline constexpr std::uint64_t checkpoint_schema = detail::schema_of(checkpoint_header<Step>,
                                                                     Step::optimizer::name,
                                                                     detail::checkpoint_world_size);

}  // namespace napkin
