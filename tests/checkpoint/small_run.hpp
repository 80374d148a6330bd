// A run without a model, for tests of checkpoints as files: a few tensors whose numbers follow from the step,
// so that a mix of two saves, or a torn one, is seen.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "napkin/core/error.hpp"
#include "napkin/train/checkpoint_folder.hpp"

/// The first file that has a checkpoint's name and is not whole; empty if there is none.
inline std::string torn_file(napkin::file_system& files, const std::string& folder) {
  const napkin::checkpoint_folder checkpoints(files, folder);
  for (const napkin::checkpoint_name& name : checkpoints.list()) {
    const std::string path = checkpoints.path_of(name);
    try {
      napkin::safetensors_file::open(files, path, napkin::checksums::required).verify();
    } catch (const napkin::error& problem) {
      return problem.what();
    }
  }
  return "";
}

struct small_run {
  std::vector<float> weight = std::vector<float>(50 * 30), bias = std::vector<float>(7),
                     moment = std::vector<float>(50 * 30);

  explicit small_run(std::uint64_t step) { set(step); }

  void set(std::uint64_t step) {
    std::uint32_t bits = static_cast<std::uint32_t>(step) * 2654435761u + 1;
    for (std::vector<float>* tensor : {&weight, &bias, &moment})
      for (float& x : *tensor) {
        bits = bits * 1664525u + 1013904223u;
        x = static_cast<float>(bits >> 8) / 1e6f;
      }
  }
  napkin::detail::checkpoint_contents contents() const {
    return {{{"up.weight", napkin::dtype::f32, {50, 30}, weight.data()},
             {"up.bias", napkin::dtype::f32, {7}, bias.data()},
             {"optimizer.moment.up.weight", napkin::dtype::f32, {50, 30}, moment.data()}},
            "momentum",
            99};
  }
  static napkin::run_state state(std::uint64_t step) {
    return {step, {5, step + 1}, {{"steps", "100"}, {"of", std::to_string(step)}}};
  }

  std::string save(napkin::checkpoint_folder& folder, std::uint64_t step) {
    set(step);
    return folder.save(contents(), state(step));
  }

  /// The step of a folder's checkpoint if all that it holds is of that step; -1 if it is a mix.
  static std::int64_t step_in(napkin::checkpoint_folder& folder, napkin::resumed_run* run = nullptr) {
    small_run found(0);
    const napkin::resumed_run resumed = folder.load(found.contents());
    if (run != nullptr) *run = resumed;
    const std::uint64_t step = resumed.state.step;
    const small_run expected(step);
    const napkin::run_state wanted = state(step);
    const bool whole = found.weight == expected.weight && found.bias == expected.bias &&
                       found.moment == expected.moment && resumed.state.sampler == wanted.sampler &&
                       resumed.state.settings == wanted.settings;
    return whole ? static_cast<std::int64_t>(step) : -1;
  }
};
