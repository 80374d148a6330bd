// A checkpoint as a file: which tensors and which metadata make one, and what is checked when it is read. Not
// whose tensors they are: train/checkpoint.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "napkin/core/hash.hpp"
#include "napkin/graph/graph.hpp"
#include "napkin/train/file_system.hpp"
#include "napkin/train/loss_scale.hpp"
#include "napkin/train/safetensors.hpp"
#include "napkin/train/sampler.hpp"

namespace napkin {

/// What a checkpoint keeps beside tensors.
struct run_state {
  std::uint64_t step = 0;  // updates made
  sampler_state sampler;
  tensor_metadata settings;  // the program's own: its learning rate, its number of steps, ...
  // Of a GPU's matrix products (cuda/blas_choices.hpp): those recorded, and whether they are what runs now;
  // if not, sums may round otherwise than before.
  std::string algorithms{};
  bool same_algorithms = true;
  bool finite = true;                 // every number of the tensors; found when they are saved
  std::optional<loss_scale> scale{};  // of a step in f16
  std::vector<float> remembered{};    // of a step in f8: delayed_scales::remembered
};

namespace detail {

// What the metadata has beside checksums: these as numbers, the optimizer's name, and texts.
inline constexpr std::string_view checkpoint_numbers[] = {
    "checkpoint.version", "finite", "graph", "sampler.seed", "sampler.step", "schema", "step", "world.size"};
// Of a step in f16: the bits of the scale, and the steps since it changed.
inline constexpr std::string_view checkpoint_scale_keys[] = {"loss_scale.bits", "loss_scale.good_steps"};
// Of a step in f8: the bits of each number that the scales follow from, so many letters each.
inline constexpr std::string_view checkpoint_remembered_key = "f8.history";
inline constexpr std::size_t remembered_digits = 8;
inline constexpr std::string_view checkpoint_optimizer_key = "optimizer";
inline constexpr std::string_view checkpoint_settings_prefix = "run.";
inline constexpr std::string_view checkpoint_algorithms_key = "blas.algorithms";

/// FNV-1a, 64 bits, of all that must agree for a file to be read: the tensors, the optimizer, the processes
/// that share a run.
constexpr std::uint64_t schema_of(std::string_view tensors, std::string_view optimizer, std::uint64_t world) {
  fnv1a hash;
  hash.add(tensors);
  hash.add_byte(0);
  hash.add(optimizer);
  hash.add(world);
  return hash.value;
}
inline constexpr std::uint64_t checkpoint_world_size = 1;  // processes

/// What is saved, and what a file must hold to be loaded.
struct checkpoint_contents {
  std::vector<tensor_record> tensors;  // data: where they lie, to be read or to be filled
  std::string optimizer;
  std::uint64_t graph = 0;  // checksum of the model's loss
  // The header's text of the tensors, as a constant, of which the schema is; empty: it is not compared.
  std::string_view header{};
};

/// Whether the header bears its own checksum, or that of these tensors in the order of this program: a tool
/// may have written it anew.
bool header_is_sound(const safetensors_file& file, const checkpoint_contents& contents);

/// Whether all elements are finite; integers are.
bool all_finite(const tensor_record& tensor);

/// Returns whether all elements are finite.
bool save_contents(file_system& files, const std::string& path, const checkpoint_contents& contents,
                   const run_state& state);
/// `checkpoint_error` for a file that is missing, damaged or another program's; `only_finite`: also for one
/// with numbers that are not finite. Then nothing is changed.
run_state load_contents(file_system& files, const std::string& path, const checkpoint_contents& contents,
                        bool only_finite = false);

/// FNV-1a, 64 bits, of operations, shapes, constants and outputs; not of where nodes come from.
std::uint64_t checksum_of(const graph_view& g);

}  // namespace detail
}  // namespace napkin
