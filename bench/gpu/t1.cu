// T1: a training step of nanoGPT's smallest model, 4 layers of 128, on 12 windows of 64 letters.
#include <napkin/optim/adamw.hpp>

#include "gpt.hpp"

namespace nk = napkin;

using model = nk::nn::gpt<nk::benched::gpt_config<nk::benched::sized(4, 2), nk::benched::sized(128, 32), 4,
                                                  nk::benched::sized(64, 16), nk::benched::sized(12, 2), 65>>;

std::vector<nk::benched::rung_case> nk::benched::cases() {
  return {step_case<nk::train_step<model, nk::adamw, nk::cuda>>("tiny f32"),
          step_case<nk::train_step<model, nk::adamw, nk::compute_in<nk::bf16>, nk::cuda>>("tiny bf16")};
}
