// From files of other programs to parameters and back, by a table of names.
#include "napkin/train/pretrained.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "json_text.hpp"
#include "napkin/core/error.hpp"
#include "napkin/train/atomic_file.hpp"
#include "napkin/train/safetensors.hpp"
#include "safetensors_header.hpp"

namespace napkin {
namespace {

using json = nlohmann::json;
using shape_list = std::vector<std::uint64_t>;

constexpr std::uint64_t longest_config = 1u << 20;  // bytes

// What * stands for where `name` is as `pattern` says, and only digits; nothing where it is not.
std::optional<std::string_view> match(std::string_view pattern, std::string_view name) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos)
    return pattern == name ? std::optional(std::string_view{}) : std::nullopt;
  const std::string_view before = pattern.substr(0, star), after = pattern.substr(star + 1);
  if (name.size() <= before.size() + after.size() || !name.starts_with(before) || !name.ends_with(after))
    return std::nullopt;
  const std::string_view number = name.substr(before.size(), name.size() - before.size() - after.size());
  if (number.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
  return number;
}
std::string with_number(std::string_view pattern, std::string_view number) {
  std::string text(pattern);
  if (const std::size_t star = text.find('*'); star != std::string::npos) text.replace(star, 1, number);
  return text;
}

// A parameter and the place of its elements in a tensor of the file.
struct placed {
  const named_memory* parameter;
  const weight_name* row;
  std::string theirs, otherwise;
  std::size_t rows = 1, columns = 1;

  shape_list shape() const {
    const std::uint64_t across = row->parts * columns;
    if (row->in_axes == 0) return {across};
    return row->transposed ? shape_list{across, rows} : shape_list{rows, across};
  }
  // Element (r, c) of the parameter among the file's.
  std::size_t at(std::size_t r, std::size_t c) const {
    const std::size_t column = row->part * columns + c;
    return row->transposed ? column * rows + r : r * row->parts * columns + column;
  }
};

std::vector<placed> place(const weight_map& map, std::span<const named_memory> parameters) {
  std::vector<placed> all;
  for (const named_memory& p : parameters) {
    const auto row = std::find_if(map.names.begin(), map.names.end(),
                                  [&](const weight_name& w) { return match(w.ours, p.name).has_value(); });
    if (row == map.names.end())
      throw error("the map of weights does not name the parameter " + in_quotes(p.name));
    const std::string_view number = *match(row->ours, p.name);
    placed one{&p, &*row, with_number(row->theirs, number), with_number(row->otherwise, number)};
    for (std::size_t i = 0; i < p.sizes.size(); ++i)
      (i < row->in_axes ? one.rows : one.columns) *= p.sizes[i];
    all.push_back(std::move(one));
  }
  return all;
}

// Everything that does not fit, each thing once; all are counted, and the first are said.
class problem_list {
 public:
  void add(const std::string& text) {
    if (found_.insert(text).second && texts_.size() < most_said) texts_.push_back(text);
  }
  void raise(const std::string& path) const {
    const std::size_t count = found_.size();
    if (count == 0) return;
    std::string all = in_quotes(path) + " does not fit the model, " +
                      (count == 1 ? "one thing" : std::to_string(count) + " things") + ": ";
    for (std::size_t i = 0; i < texts_.size(); ++i) all += (i == 0 ? "" : "; ") + texts_[i];
    if (count > texts_.size()) all += "; and " + std::to_string(count - texts_.size()) + " more";
    throw input_error(all);
  }

 private:
  static constexpr std::size_t most_said = 100;
  std::set<std::string> found_;
  std::vector<std::string> texts_;
};

// The files of a model as one.
class weight_files {
 public:
  weight_files(file_system& files, const std::string& path) : folder_(path) {
    file_status status;
    if (!find_status(files, path, status))
      throw input_error(in_quotes(path) + ": there is no such file or folder");
    if (status.kind != file_kind::folder) {
      folder_ = folder_of(path);
      parts_.push_back(safetensors_file::open(files, path));
    } else {
      for (const std::string& name : list_folder(files, path))
        if (name == "model.safetensors") parts_.push_back(safetensors_file::open(files, path + "/" + name));
      if (parts_.empty())
        for (const std::string& name : list_folder(files, path))
          if (name.starts_with("model-") && name.ends_with(".safetensors"))
            parts_.push_back(safetensors_file::open(files, path + "/" + name));
      if (parts_.empty())
        throw input_error(in_quotes(path) +
                          ": expected model.safetensors or model-*.safetensors, found neither");
    }
  }

  const std::string& folder() const { return folder_; }
  const std::vector<safetensors_file>& parts() const { return parts_; }

  struct found {
    const safetensors_file* file = nullptr;
    const tensor_entry* entry = nullptr;
  };
  // By its name, or by that without the prefix.
  found find(std::string_view name, std::string_view prefix) const {
    if (name.empty()) return {};
    for (const safetensors_file& file : parts_) {
      if (const tensor_entry* entry = file.find(name)) return {&file, entry};
      if (prefix.empty() || !name.starts_with(prefix)) continue;
      if (const tensor_entry* entry = file.find(name.substr(prefix.size()))) return {&file, entry};
    }
    return {};
  }

 private:
  std::string folder_;
  std::vector<safetensors_file> parts_;
};

std::vector<float> read_floats(const weight_files::found& from) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(from.entry->bytes()));
  from.file->read(*from.entry, bytes);
  std::vector<float> values(bytes.size() / size_of(from.entry->type));
  const auto convert = [&](auto type) {
    using T = typename decltype(type)::type;
    for (std::size_t i = 0; i < values.size(); ++i) {
      T one;
      std::memcpy(&one, bytes.data() + i * sizeof(T), sizeof(T));
      values[i] = static_cast<float>(one);
    }
  };
  switch (from.entry->type) {
    case dtype::f64:
      convert(std::type_identity<f64>{});
      break;
    case dtype::f32:
      convert(std::type_identity<f32>{});
      break;
    case dtype::f16:
      convert(std::type_identity<f16>{});
      break;
    default:
      convert(std::type_identity<bf16>{});
  }
  return values;
}

bool is_weight_type(dtype type) {
  return type == dtype::f64 || type == dtype::f32 || type == dtype::f16 || type == dtype::bf16;
}

// "a|b.c": the value under a, else under c in b.
const json* find_value(const json& config, std::string_view keys) {
  for (std::size_t begin = 0; begin <= keys.size();) {
    const std::string_view key = keys.substr(begin, keys.find('|', begin) - begin);
    begin += key.size() + 1;
    const json* at = &config;
    for (std::size_t from = 0; at != nullptr && from <= key.size();) {
      const std::string part(key.substr(from, key.find('.', from) - from));
      from += part.size() + 1;
      const auto inside = at->is_object() ? at->find(part) : at->end();
      at = at->is_object() && inside != at->end() && !inside->is_null() ? &*inside : nullptr;
    }
    if (at != nullptr) return at;
  }
  return nullptr;
}

// A value for a message, whatever it is: of others' files, it may be long.
std::string short_text(const json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return value.is_string() ? in_quotes(value.get_ref<const std::string&>()) : value.dump();
}

// JSON's numbers compare by value: 10000 is 10000.0.
void check_config(const std::string& path, const std::string& text, const weight_map& map,
                  problem_list& problems) {
  const json config = detail::parse_json(text);
  if (!config.is_object()) throw input_error(in_quotes(path) + ": expected a JSON object: it is damaged");
  for (const config_fact& fact : map.config) {
    if (!fact.checked) continue;
    const json* said = find_value(config, fact.key);
    const json usual = json::parse(fact.unsaid, nullptr, false);
    if (said == nullptr && fact.unsaid.empty()) continue;
    const json& found = said != nullptr ? *said : usual;
    if (found == json::parse(fact.value)) continue;
    problems.add("config.json: " + fact.key.substr(0, fact.key.find('|')) + " is " + short_text(found) +
                 (said == nullptr ? ", unsaid" : "") + ", the model's " + json::parse(fact.value).dump());
  }
}

bool check_config_beside(file_system& files, const std::string& folder, const weight_map& map,
                         problem_list& problems) {
  const std::string path = folder + "/config.json";
  file_status status;
  if (!find_status(files, path, status)) return false;
  check_config(path, read_text(files, path, longest_config), map, problems);
  return true;
}

std::string config_text(const weight_map& map, dtype type) {
  json config = json::object();
  for (const config_fact& fact : map.config) {
    const std::string key = fact.key.substr(0, fact.key.find('|'));
    if (key.find('.') != std::string::npos) continue;
    config[key] = json::parse(fact.value);
  }
  config["torch_dtype"] = type == dtype::f32 ? "float32" : type == dtype::f16 ? "float16" : "bfloat16";
  return config.dump(2) + "\n";
}

bool fits(const placed& p, const tensor_entry& entry) {
  const shape_list wanted = p.shape();
  if (entry.shape == wanted) return true;
  return p.row->first_rows && entry.shape.size() == 2 && entry.shape[1] == wanted[1] &&
         entry.shape[0] >= wanted[0];
}

// Where each parameter is read from. What is missing there, or does not fit, is a problem.
std::vector<weight_files::found> find_sources(const std::vector<placed>& all, const weight_files& there,
                                              const weight_map& map, problem_list& problems) {
  std::vector<weight_files::found> sources;
  for (const placed& p : all) {
    weight_files::found from = there.find(p.theirs, map.prefix);
    if (from.entry == nullptr) from = there.find(p.otherwise, map.prefix);
    sources.push_back(from);
    const std::string tensor = "tensor " + in_quotes(p.theirs) + ": expected ";
    const std::string wanted = tensor + "shape " + detail::shape_text(p.shape());
    if (from.entry == nullptr) {
      problems.add(wanted + ", found none of that name");
      continue;
    }
    if (!fits(p, *from.entry)) problems.add(wanted + ", found " + detail::shape_text(from.entry->shape));
    if (!is_weight_type(from.entry->type))
      problems.add(tensor + "F32, BF16, F16 or F64, found " +
                   std::string(safetensors_name(from.entry->type)));
  }
  return sources;
}

// Tensors that are none of those known, nor of those that are no weights.
void find_leftovers(const weight_files& there, const weight_map& map,
                    const std::set<const tensor_entry*>& known, problem_list& problems) {
  for (const safetensors_file& file : there.parts())
    for (const tensor_entry& entry : file.entries()) {
      const auto is_ignored = [&](std::string_view pattern) {
        return match(pattern, entry.name) || match(pattern, std::string(map.prefix) + entry.name);
      };
      if (!known.contains(&entry) && std::none_of(map.ignored.begin(), map.ignored.end(), is_ignored))
        problems.add("tensor " + in_quotes(entry.name) + " of shape " + detail::shape_text(entry.shape) +
                     " is none of the model's");
    }
}

// Of each parameter. What several share, as they do one tensor of queries, keys and values, is read once.
std::vector<std::vector<float>> read_values(const std::vector<placed>& all,
                                            const std::vector<weight_files::found>& sources) {
  std::vector<std::vector<float>> read;
  const tensor_entry* held = nullptr;
  std::vector<float> source;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const placed& p = all[i];
    if (sources[i].entry != held) source = read_floats(sources[i]);
    held = sources[i].entry;
    std::vector<float> values(p.parameter->count);
    for (std::size_t r = 0; r < p.rows; ++r)
      for (std::size_t c = 0; c < p.columns; ++c) values[r * p.columns + c] = source[p.at(r, c)];
    read.push_back(std::move(values));
  }
  return read;
}

}  // namespace

void load_weights(file_system& files, const std::string& path, const weight_map& map,
                  std::span<const named_memory> parameters) {
  const std::vector<placed> all = place(map, parameters);
  const weight_files there(files, path);
  problem_list problems;
  check_config_beside(files, there.folder(), map, problems);
  const std::vector<weight_files::found> sources = find_sources(all, there, map, problems);
  const weight_files::found tied = there.find(map.tied, {}), tied_to = there.find(map.tied_to, map.prefix);
  std::set<const tensor_entry*> known = {tied.entry};
  for (const weight_files::found& source : sources) known.insert(source.entry);
  find_leftovers(there, map, known, problems);
  problems.raise(path);

  if (tied.entry != nullptr && tied_to.entry != nullptr &&
      (!is_weight_type(tied.entry->type) || read_floats(tied) != read_floats(tied_to)))
    problems.add("tensor " + in_quotes(map.tied) + " is not " + in_quotes(map.tied_to) +
                 ", to which the model's is tied");
  problems.raise(path);

  const std::vector<std::vector<float>> values = read_values(all, sources);
  for (std::size_t i = 0; i < all.size(); ++i)
    std::copy(values[i].begin(), values[i].end(), all[i].parameter->data);
}

void save_weights(file_system& files, const std::string& folder, const weight_map& map,
                  std::span<const named_memory> parameters, dtype type) {
  if (type != dtype::f32 && type != dtype::f16 && type != dtype::bf16)
    throw error("save_weights: weights are written in f32, f16 or bf16, not in " +
                std::string(name_of(type)));
  const std::vector<placed> all = place(map, parameters);
  make_folders(files, folder);
  problem_list problems;
  const bool described = check_config_beside(files, folder, map, problems);
  problems.raise(folder);

  const auto fail = [type](const placed& p, float value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", static_cast<double>(value));
    throw error("save_weights: the parameter " + in_quotes(p.parameter->name) + " has the number " + text +
                ", which is infinite in " + std::string(name_of(type)) + ": write f32");
  };
  std::vector<tensor_record> records;
  std::map<std::string, std::vector<std::byte>> data;  // whose nodes stay where they are
  for (const placed& p : all) {
    const std::size_t width = size_of(type);
    auto [at, is_new] = data.try_emplace(p.theirs, p.row->parts * p.parameter->count * width);
    if (is_new) records.push_back({p.theirs, type, p.shape(), at->second.data()});
    for (std::size_t r = 0; r < p.rows; ++r)
      for (std::size_t c = 0; c < p.columns; ++c) {
        const float value = p.parameter->data[r * p.columns + c];
        std::byte* const to = at->second.data() + p.at(r, c) * width;
        const auto put = [&](const auto& rounded) {
          if (std::isfinite(value) && !std::isfinite(static_cast<float>(rounded))) fail(p, value);
          std::memcpy(to, &rounded, sizeof rounded);
        };
        if (type == dtype::f32)
          put(value);
        else if (type == dtype::f16)
          put(static_cast<f16>(value));
        else
          put(static_cast<bf16>(value));
      }
  }
  save_safetensors(files, folder + "/model.safetensors", records, {{"format", "pt"}});
  if (!described) write_atomically(files, folder + "/config.json", config_text(map, type));
}

}  // namespace napkin
