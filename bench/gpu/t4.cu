// T4: a training step of GPT-2 124M on 64 windows of 1,024 tokens. M1 is the memory that it takes.
#include <napkin/optim/adamw.hpp>

#include "gpt.hpp"

namespace nk = napkin;

std::vector<nk::benched::rung_case> nk::benched::cases() {
  return {step_case<nk::train_step<nk::benched::gpt2_124m, nk::adamw, nk::compute_in<nk::bf16>, nk::cuda>>(
      "GPT-2 124M bf16")};
}
