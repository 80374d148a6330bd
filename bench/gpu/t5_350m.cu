// T5: a training step of GPT-2 350M on 32 windows of 1,024 tokens.
#include <napkin/optim/adamw.hpp>

#include "gpt.hpp"

namespace nk = napkin;

std::vector<nk::benched::rung_case> nk::benched::cases() {
  using model = nk::benched::gpt2<24, 1024, nk::benched::sized(16, 2), 32>;
  return {step_case<nk::train_step<model, nk::adamw, nk::compute_in<nk::bf16>, nk::cuda>>("GPT-2 350M bf16")};
}
