// T3: a training step of nanoGPT's model of letters, 6 layers of 384, on 64 windows of 256.
#include <napkin/optim/adamw.hpp>

#include "gpt.hpp"

namespace nk = napkin;

using model =
    nk::nn::gpt<nk::benched::gpt_config<6, nk::benched::sized(384, 96), 6, nk::benched::sized(256, 32),
                                        nk::benched::sized(64, 2), 65>>;

std::vector<nk::benched::rung_case> nk::benched::cases() {
  return {step_case<nk::train_step<model, nk::adamw, nk::compute_in<nk::bf16>, nk::cuda>>("letters bf16")};
}
