// Writing and checking what a checkpoint is made of.
#include "napkin/train/checkpoint_file.hpp"

#include <bit>
#include <cstring>
#include <limits>
#include <set>

#include "napkin/core/error.hpp"

namespace napkin::detail {
namespace {

constexpr const char* version_key = "checkpoint.version";
constexpr std::uint64_t version = 1;

std::uint64_t bytes_of(const tensor_record& tensor) {
  std::uint64_t n = size_of(tensor.type);
  for (const std::uint64_t size : tensor.shape) n *= size;
  return n;
}

// A number is a scale if it is one that training could have come to.
loss_scale scale_of(const safetensors_file& file) {
  const std::uint64_t bits = file.number(std::string(checkpoint_scale_keys[0])),
                      steps = file.number(std::string(checkpoint_scale_keys[1]));
  const float value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (bits >> 32 != 0 || !(value >= loss_scale::least && value <= loss_scale::most) ||
      steps > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    throw input_error(in_quotes(file.path()) +
                      " says that its loss was scaled by a number that cannot be: the file is damaged");
  return {value, static_cast<std::int64_t>(steps)};
}

// The first objection to a file as a checkpoint of these contents, before its data are read.
void check(const safetensors_file& file, const checkpoint_contents& contents) {
  const std::string path = in_quotes(file.path());
  if (!file.metadata().contains(version_key))
    throw input_error(path + " has tensors but is no checkpoint of a run: it has no \"" + version_key +
                      "\" in its metadata; name a file that a run has saved");
  if (const std::uint64_t found = file.number(version_key); found != version)
    throw input_error(path + " is a checkpoint of version " + std::to_string(found) +
                      ", this program reads version " + std::to_string(version) +
                      ": use the program that wrote it");
  if (const std::string& found = file.text("optimizer"); found != contents.optimizer)
    throw input_error(path + " was trained with the optimizer " + in_quotes(found) + ", this program uses " +
                      in_quotes(contents.optimizer) + ": use the program that wrote it");
  std::set<std::string_view> known;
  for (const tensor_record& tensor : contents.tensors) {
    file.expect(tensor.name, tensor.type, tensor.shape);
    known.insert(tensor.name);
  }
  for (const tensor_entry& entry : file.entries())
    if (!known.contains(entry.name))
      throw input_error(path + " has a tensor " + in_quotes(entry.name) +
                        " that this model has not: use the program that wrote it");
  if (file.number("graph") != contents.graph)
    throw input_error(path +
                      " is of another model: its tensors fit, but its loss is computed otherwise (the heads, "
                      "the batch or the sequence differ); use the program that wrote it");
  if (file.number("step") > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    throw input_error(path + " says that " + std::to_string(file.number("step")) +
                      " steps were made, which cannot be: the file is damaged");
}

}  // namespace

std::uint64_t checksum_of(const graph_view& g) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&hash](std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) hash = (hash ^ ((value >> shift) & 0xff)) * 0x100000001b3u;
  };
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
  return hash;
}

void save_contents(file_system& files, const std::string& path, const checkpoint_contents& contents,
                   const run_state& state) {
  tensor_metadata metadata{{version_key, metadata_text(version)},
                           {"graph", metadata_text(contents.graph)},
                           {"optimizer", contents.optimizer},
                           {"sampler.seed", metadata_text(state.sampler.seed)},
                           {"sampler.step", metadata_text(state.sampler.step)},
                           {"step", metadata_text(state.step)}};
  if (!state.algorithms.empty()) metadata[std::string(checkpoint_algorithms_key)] = state.algorithms;
  if (state.scale) {
    metadata[std::string(checkpoint_scale_keys[0])] =
        metadata_text(std::bit_cast<std::uint32_t>(state.scale->value));
    metadata[std::string(checkpoint_scale_keys[1])] =
        metadata_text(static_cast<std::uint64_t>(state.scale->good_steps));
  }
  for (const auto& [name, text] : state.settings)
    metadata[std::string(checkpoint_settings_prefix) + name] = text;
  save_safetensors(files, path, contents.tensors, metadata);
}

run_state load_contents(file_system& files, const std::string& path, const checkpoint_contents& contents) {
  const safetensors_file file = safetensors_file::open(files, path, checksums::required);
  check(file, contents);

  std::uint64_t size = 0;
  for (const tensor_record& tensor : contents.tensors) size += bytes_of(tensor);
  std::vector<std::byte> read(static_cast<std::size_t>(size));
  std::size_t at = 0;
  for (const tensor_record& tensor : contents.tensors) {
    const auto bytes = static_cast<std::size_t>(bytes_of(tensor));
    file.read(*file.find(tensor.name), std::span(read).subspan(at, bytes));
    at += bytes;
  }

  run_state state;
  state.step = file.number("step");
  state.sampler = {file.number("sampler.seed"), file.number("sampler.step")};
  for (const auto& [key, text] : file.metadata())
    if (key.starts_with(checkpoint_settings_prefix))
      state.settings[key.substr(checkpoint_settings_prefix.size())] = text;

  if (const auto found = file.metadata().find(std::string(checkpoint_algorithms_key));
      found != file.metadata().end())
    state.algorithms = found->second;

  if (file.metadata().contains(std::string(checkpoint_scale_keys[0]))) state.scale = scale_of(file);

  at = 0;  // nothing throws from here on
  for (const tensor_record& tensor : contents.tensors) {
    const auto bytes = static_cast<std::size_t>(bytes_of(tensor));
    // The record's pointer is to the trainer's own memory, const only because saving shares the type.
    if (bytes != 0) std::memcpy(const_cast<void*>(tensor.data), read.data() + at, bytes);
    at += bytes;
  }
  return state;
}

}  // namespace napkin::detail
