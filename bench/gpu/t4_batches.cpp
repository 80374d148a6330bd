// The largest batches of T4's step that fit in a device's memory, as constants: six steps are planned for it,
// which g++ does in 20 s where nvcc would take minutes. Not what the driver takes beside.
#include <map>
#include <napkin/cost/devices.hpp>
#include <napkin/cuda.hpp>
#include <napkin/optim/adamw.hpp>
#include <napkin/train/fits.hpp>
#include <string>

#include "gpt_config.hpp"

namespace napkin::benched {

template <std::size_t Batch>
using t4_step =
    train_step<nn::gpt<gpt_config<12, 768, 12, 1024, Batch, 50304>>, adamw, compute_in<bf16>, cuda>;

std::map<std::string, std::size_t> largest_batches() {
  return {{"largest batch of an H100, 80 GB", max_batch<h100_sxm, t4_step, 1024>},
          {"largest batch of an H200, 141 GB", max_batch<h200, t4_step, 1024>}};
}

}  // namespace napkin::benched
