// T5: a training step of GPT-2 774M on 16 windows of 1,024 tokens.
#include <napkin/optim/adamw.hpp>

#include "gpt.hpp"

namespace nk = napkin;

std::vector<nk::benched::rung_case> nk::benched::cases() {
  using model = nk::benched::gpt2<36, 1280, nk::benched::sized(20, 2), 16>;
  return {step_case<nk::train_step<model, nk::adamw, nk::compute_in<nk::bf16>, nk::cuda>>("GPT-2 774M bf16")};
}
