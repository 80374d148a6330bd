// Writing and checking what a checkpoint is made of.
#include "napkin/train/checkpoint_file.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <span>

#include "napkin/core/error.hpp"
#include "safetensors_header.hpp"

namespace napkin::detail {
namespace {

constexpr const char* version_key = "checkpoint.version";
constexpr std::uint64_t version = 2;
// After so many there is no next one: they are counted in 64 bits with a sign.
constexpr auto too_many_steps = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

[[noreturn]] void mismatch(const std::string& text) {
  throw checkpoint_error(text + ": use the program that wrote it", true);
}

// What the program expects of a file's tensors, said of the first that differs.
void check_tensors(const safetensors_file& file, const checkpoint_contents& contents) {
  std::set<std::string_view> known;
  for (const tensor_record& tensor : contents.tensors) {
    try {
      file.expect(tensor.name, tensor.type, tensor.shape);
    } catch (const input_error& problem) {
      mismatch(problem.what());
    }
    known.insert(tensor.name);
  }
  for (const tensor_entry& entry : file.entries())
    if (!known.contains(entry.name))
      mismatch(in_quotes(file.path()) + ": expected no tensor " + in_quotes(entry.name) + ", found one, " +
               std::string(safetensors_name(entry.type)) + " of shape " + shape_text(entry.shape));
}

void check_number(const safetensors_file& file, const std::string& key, std::uint64_t expected,
                  const std::string& meaning) {
  if (const std::uint64_t found = file.number(key); found != expected)
    mismatch(in_quotes(file.path()) + ": " + meaning + ": expected " + std::to_string(expected) + " for " +
             in_quotes(key) + ", found " + std::to_string(found));
}

// A number is a scale if it is one that training could have come to.
loss_scale scale_of(const safetensors_file& file) {
  const std::uint64_t bits = file.number(std::string(checkpoint_scale_keys[0])),
                      steps = file.number(std::string(checkpoint_scale_keys[1]));
  const float value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (bits >> 32 != 0 || !(value >= loss_scale::least && value <= loss_scale::most) ||
      steps >= too_many_steps)
    throw checkpoint_error(in_quotes(file.path()) +
                           " says that its loss was scaled by a number that cannot be: the file is damaged");
  return {value, static_cast<std::int64_t>(steps)};
}

std::string remembered_text(std::span<const float> numbers) {
  std::string text;
  for (const float x : numbers) {
    char spelled[remembered_digits];
    const char* const end =
        std::to_chars(spelled, spelled + sizeof spelled, std::bit_cast<std::uint32_t>(x), 16).ptr;
    text.append(static_cast<std::size_t>(spelled + sizeof spelled - end), '0')
        .append(std::string_view(spelled, end));
  }
  return text;
}
std::vector<float> remembered_of(const safetensors_file& file) {
  const std::string& text = file.text(std::string(checkpoint_remembered_key));
  std::vector<float> numbers;
  for (std::size_t at = 0; at < text.size(); at += remembered_digits) {
    const char* const first = text.data() + at;
    const char* const last = first + std::min(remembered_digits, text.size() - at);
    std::uint32_t bits = 0;
    const auto [end, error] = std::from_chars(first, last, bits, 16);
    numbers.push_back(std::bit_cast<float>(bits));
    if (error != std::errc() || end != first + remembered_digits || !(numbers.back() >= 0) ||
        !std::isfinite(numbers.back()))
      throw checkpoint_error(in_quotes(file.path()) + " has " + in_quotes(std::string(first, last)) +
                             " in \"" + std::string(checkpoint_remembered_key) +
                             "\", which is no magnitude: the file is damaged");
  }
  return numbers;
}

// The first objection to a file as a checkpoint of these contents, before its data are read.
void check(const safetensors_file& file, const checkpoint_contents& contents) {
  const std::string path = in_quotes(file.path());
  if (!file.metadata().contains(version_key))
    throw checkpoint_error(path + " has tensors but is no checkpoint of a run: it has no \"" + version_key +
                           "\" in its metadata; name a file that a run has saved");
  if (!header_is_sound(file, contents))
    throw checkpoint_error(
        path +
        ": the header is damaged: it is not as it was written, and its checksum is not that "
        "of this program's tensors in another order either");
  check_number(file, version_key, version, "is a checkpoint of another version than this program's");
  if (const std::string& found = file.text(std::string(checkpoint_optimizer_key));
      found != contents.optimizer)
    mismatch(path + ": was trained with another optimizer: expected " + in_quotes(contents.optimizer) +
             ", found " + in_quotes(found));
  check_number(file, "world.size", checkpoint_world_size, "was written by another number of processes");
  check_tensors(file, contents);
  if (!contents.header.empty())
    check_number(file, "schema", schema_of(contents.header, contents.optimizer, checkpoint_world_size),
                 "its tensors fit, but the schema is another");
  check_number(
      file, "graph", contents.graph,
      "is of another model: its tensors fit, but its loss is computed otherwise (the heads, the batch "
      "or the sequence differ)");
  if (file.number("step") >= too_many_steps)
    throw checkpoint_error(path + " says that " + std::to_string(file.number("step")) +
                           " steps were made, which cannot be: the file is damaged");
}

// Whether any word has all bits of the exponent, in a loop that vectorises.
template <class Word>
bool any_full(const tensor_record& tensor, std::size_t bytes, Word exponent) {
  const auto* at = static_cast<const std::byte*>(tensor.data);
  unsigned full = 0;
  for (std::size_t i = 0; i < bytes; i += sizeof(Word)) {
    Word word;
    std::memcpy(&word, at + i, sizeof word);
    full |= static_cast<Word>(word & exponent) == exponent ? 1u : 0u;
  }
  return full != 0;
}

}  // namespace

bool header_is_sound(const safetensors_file& file, const checkpoint_contents& contents) {
  return file.header_is_intact() || checksum_of_spelling(contents.tensors, file.metadata()) ==
                                        file.text(std::string(header_checksum_key));
}

bool all_finite(const tensor_record& tensor) {
  const auto bytes = static_cast<std::size_t>(bytes_of(tensor.type, tensor.shape).value());
  switch (tensor.type) {
    case dtype::f64:
    case dtype::c128:
      return !any_full<std::uint64_t>(tensor, bytes, 0x7ff0000000000000u);
    case dtype::f32:
    case dtype::c64:
      return !any_full<std::uint32_t>(tensor, bytes, 0x7f800000u);
    case dtype::f16:
      return !any_full<std::uint16_t>(tensor, bytes, 0x7c00u);
    case dtype::bf16:
      return !any_full<std::uint16_t>(tensor, bytes, 0x7f80u);
    case dtype::f8e5m2:
      return !any_full<std::uint8_t>(tensor, bytes, 0x7cu);
    case dtype::f8e4m3:
      return !any_full<std::uint8_t>(tensor, bytes, 0x7fu);  // has no infinity, and one NaN of each sign
    default:
      return true;
  }
}

std::uint64_t checksum_of(const graph_view& g) {
  fnv1a hash;
  const auto add = [&hash](std::uint64_t value) { hash.add(value); };
  const auto add_all = [&add](const auto& values) {
    add(values.size());
    for (const auto v : values) add(static_cast<std::uint64_t>(v));
  };
  for (int id = 0; id < static_cast<int>(g.size()); ++id) {
    add(static_cast<std::uint64_t>(g[id].kind));
    add(static_cast<std::uint64_t>(g[id].type));
    add(std::bit_cast<std::uint64_t>(g[id].value));
    add_all(g.shape_of(id));
    add_all(g.operands(id));
    add_all(g.attributes(id));
  }
  add_all(g.output_ids());
  return hash.value;
}

bool save_contents(file_system& files, const std::string& path, const checkpoint_contents& contents,
                   const run_state& state) {
  const bool finite = std::all_of(contents.tensors.begin(), contents.tensors.end(), all_finite);
  const std::uint64_t schema = schema_of(contents.header, contents.optimizer, checkpoint_world_size);
  tensor_metadata metadata{{version_key, metadata_text(version)},
                           {"finite", metadata_text(finite ? 1 : 0)},
                           {"graph", metadata_text(contents.graph)},
                           {std::string(checkpoint_optimizer_key), contents.optimizer},
                           {"sampler.seed", metadata_text(state.sampler.seed)},
                           {"sampler.step", metadata_text(state.sampler.step)},
                           {"schema", metadata_text(schema)},
                           {"step", metadata_text(state.step)},
                           {"world.size", metadata_text(checkpoint_world_size)}};
  if (!state.algorithms.empty()) metadata[std::string(checkpoint_algorithms_key)] = state.algorithms;
  if (state.scale) {
    metadata[std::string(checkpoint_scale_keys[0])] =
        metadata_text(std::bit_cast<std::uint32_t>(state.scale->value));
    metadata[std::string(checkpoint_scale_keys[1])] =
        metadata_text(static_cast<std::uint64_t>(state.scale->good_steps));
  }
  if (!state.remembered.empty())
    metadata[std::string(checkpoint_remembered_key)] = remembered_text(state.remembered);
  for (const auto& [name, text] : state.settings)
    metadata[std::string(checkpoint_settings_prefix) + name] = text;
  save_safetensors(files, path, contents.tensors, metadata);
  return finite;
}

namespace {

run_state load(file_system& files, const std::string& path, const checkpoint_contents& contents,
               bool only_finite) {
  const safetensors_file file = safetensors_file::open(files, path, checksums::of_tensors);
  check(file, contents);
  if (only_finite && file.number("finite") == 0)
    throw checkpoint_error(in_quotes(path) + " has numbers that are not finite: training had diverged");

  std::uint64_t size = 0;
  for (const tensor_record& tensor : contents.tensors) size += *bytes_of(tensor.type, tensor.shape);
  std::vector<std::byte> read(static_cast<std::size_t>(size));
  std::size_t at = 0;
  for (const tensor_record& tensor : contents.tensors) {
    const auto bytes = static_cast<std::size_t>(*bytes_of(tensor.type, tensor.shape));
    file.read(file.expect(tensor.name, tensor.type, tensor.shape), std::span(read).subspan(at, bytes));
    at += bytes;
  }

  run_state state;
  state.step = file.number("step");
  state.finite = file.number("finite") != 0;
  state.sampler = {file.number("sampler.seed"), file.number("sampler.step")};
  for (const auto& [key, text] : file.metadata())
    if (key.starts_with(checkpoint_settings_prefix))
      state.settings[key.substr(checkpoint_settings_prefix.size())] = text;

  if (const auto found = file.metadata().find(std::string(checkpoint_algorithms_key));
      found != file.metadata().end())
    state.algorithms = found->second;

  if (file.metadata().contains(std::string(checkpoint_scale_keys[0]))) state.scale = scale_of(file);
  if (file.metadata().contains(std::string(checkpoint_remembered_key)))
    state.remembered = remembered_of(file);

  at = 0;  // nothing throws from here on
  for (const tensor_record& tensor : contents.tensors) {
    const auto bytes = static_cast<std::size_t>(*bytes_of(tensor.type, tensor.shape));
    // The record's pointer is to the trainer's own memory, const only because saving shares the type.
    if (bytes != 0) std::memcpy(const_cast<void*>(tensor.data), read.data() + at, bytes);
    at += bytes;
  }
  return state;
}

}  // namespace

run_state load_contents(file_system& files, const std::string& path, const checkpoint_contents& contents,
                        bool only_finite) {
  try {
    return load(files, path, contents, only_finite);
  } catch (const checkpoint_error&) {
    throw;
  } catch (const input_error& problem) {
    throw checkpoint_error(problem.what());
  }
}

}  // namespace napkin::detail
