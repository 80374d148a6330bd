// A checkpoint as a file: which tensors and which metadata make one, and what is checked when it is read. Not
// whose tensors they are: train/checkpoint.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  std::optional<loss_scale> scale{};  // of a step in f16
};

namespace detail {

// What the metadata has beside checksums: these as numbers, the optimizer's name, and texts.
inline constexpr std::string_view checkpoint_numbers[] = {"checkpoint.version", "graph", "sampler.seed",
                                                          "sampler.step", "step"};
// Of a step in f16: the bits of the scale, and the steps since it changed.
inline constexpr std::string_view checkpoint_scale_keys[] = {"loss_scale.bits", "loss_scale.good_steps"};
inline constexpr std::string_view checkpoint_optimizer_key = "optimizer";
inline constexpr std::string_view checkpoint_settings_prefix = "run.";
inline constexpr std::string_view checkpoint_algorithms_key = "blas.algorithms";

/// What is saved, and what a file must hold to be loaded.
struct checkpoint_contents {
  std::vector<tensor_record> tensors;  // data: where they lie, to be read or to be filled
  std::string optimizer;
  std::uint64_t graph = 0;  // checksum of the model's loss
};
void save_contents(file_system& files, const std::string& path, const checkpoint_contents& contents,
                   const run_state& state);
run_state load_contents(file_system& files, const std::string& path, const checkpoint_contents& contents);

/// FNV-1a, 64 bits, of operations, shapes, constants and outputs; not of where nodes come from.
std::uint64_t checksum_of(const graph_view& g);

}  // namespace detail
}  // namespace napkin
