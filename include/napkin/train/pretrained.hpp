// Weights by the names and layouts of other programs: read from their safetensors files into a model's
// parameters, and written back. What is where is a table; those of Hugging Face's GPT-2 and Llama are in
// train/huggingface.hpp.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "napkin/core/dtype.hpp"
#include "napkin/core/rules.hpp"
#include "napkin/train/file_system.hpp"
#include "napkin/train/named_memory.hpp"
#include "napkin/train/trainer.hpp"

namespace napkin {

namespace rule {
/// type<Model>
template <class... Facts>
struct weights_have_no_names {
  NAPKIN_UNLESS no<Facts...> NAPKIN_SAYS(
      raise,
      "load_pretrained, save_pretrained: nothing says under which names this model's parameters stand in "
      "files; nn::gpt and nn::llama are known by napkin/train/huggingface.hpp, else specialise "
      "nk::pretrained<model>");
};
}  // namespace rule

/// A parameter as a part of a tensor of the file. Seen as a matrix: its first `in_axes` axes are the rows,
/// the others the columns; with no in_axes it is a vector.
struct weight_name {
  std::string_view ours;    // "blocks.*.attention.query": * stands for one number, the same one in both names
  std::string_view theirs;  // "transformer.h.*.attn.c_attn.weight"
  std::size_t in_axes = 0;
  bool transposed = false;  // the file has (columns, rows), as torch.nn.Linear
  // Of several matrices side by side, by columns, the one in this place.
  std::size_t part = 0, parts = 1;
  bool first_rows = false;          // the file may have more rows, which are left out
  std::string_view otherwise = {};  // the tensor to read where the file has none of that name; of its shape
};

/// What config.json says beside the weights, as JSON.
struct config_fact {
  std::string key;          // "rope_theta|rope_parameters.rope_theta": the first that is there
  std::string value;        // "10000"
  bool checked = false;     // no shape shows it: what the file says must be equal
  std::string unsaid = {};  // what holds where it is not said; empty: anything
};

struct weight_map {
  std::vector<weight_name> names;
  std::string_view prefix = {};                // of their names; a file may leave it out
  std::vector<std::string_view> ignored = {};  // tensors that are no weights, * as above
  // A tensor that a file may have if it equals another: the head tied to the embedding.
  std::string_view tied = {}, tied_to = {};
  std::vector<config_fact> config = {};
};

/// Specialise it for a model of one's own: static weight_map map().
template <class Model>
struct pretrained {};

/// Read parameters from `path`: a safetensors file, or a folder with model.safetensors or
/// model-*.safetensors. f64, f32, f16 and bf16 become f32. A config.json beside is checked too, for what no
/// shape shows.
///
/// All is read and found sound before a parameter is changed; takes as much memory again.
/// Errors  `input_error` that says everything that does not fit, but no more than a hundred things: tensors
///         that are missing, of other shapes or of a dtype that is no float, tensors left over, facts of
///         config.json. `error` for a parameter that the map does not name.
void load_weights(file_system& files, const std::string& path, const weight_map& map,
                  std::span<const named_memory> parameters);

/// Write parameters as `folder`/model.safetensors, in f32 or rounded to f16 or bf16, and a config.json where
/// there is none. One that is there and says otherwise is an `input_error`, a finite number that the type
/// makes infinite an `error` with the parameter's name, both before anything is written.
void save_weights(file_system& files, const std::string& folder, const weight_map& map,
                  std::span<const named_memory> parameters, dtype type = dtype::f32);

namespace detail {

template <class Model>
concept HasWeightMap = requires {
  pretrained<Model>::map();
};

template <class Trainer>
std::vector<named_memory> parameters_of(const Trainer& t) {
  std::vector<named_memory> all;
  for (std::size_t i = 0; i < t.parameters; ++i) all.push_back(t.value(i));
  return all;
}

}  // namespace detail

/// Set a trainer's parameters to a model's from elsewhere; optimizer and step stay. Errors as `load_weights`.
///
/// Rules    weights_have_no_names
/// Example  nk::load_pretrained("gpt2", trainer);
template <class Step, class Backend>
auto load_pretrained(const std::string& path, trainer<Step, Backend>& t,
                     file_system& files = posix_file_system()) {
  if constexpr (is_failed<trainer<Step, Backend>>) {
    return failed{};
  } else if constexpr (!detail::HasWeightMap<typename Step::model>) {
    return rule::weights_have_no_names<fact::type<typename Step::model>>::raise();
  } else {
    if constexpr (requires { t.fetch(); }) t.fetch();  // what is stored again are the states too
    load_weights(files, path, pretrained<typename Step::model>::map(), detail::parameters_of(t));
    if constexpr (requires { t.store(); }) t.store();
  }
}

/// Write a trainer's parameters for other programs. Errors as `save_weights`.
template <class Step, class Backend>
auto save_pretrained(const std::string& folder, const trainer<Step, Backend>& t, dtype type = dtype::f32,
                     file_system& files = posix_file_system()) {
  if constexpr (is_failed<trainer<Step, Backend>>) {
    return failed{};
  } else if constexpr (!detail::HasWeightMap<typename Step::model>) {
    return rule::weights_have_no_names<fact::type<typename Step::model>>::raise();
  } else {
    if constexpr (requires { t.fetch(); }) t.fetch();
    save_weights(files, folder, pretrained<typename Step::model>::map(), detail::parameters_of(t), type);
  }
}

}  // namespace napkin
