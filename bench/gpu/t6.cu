// T6: T4's step with the products of its layers in 8-bit floats.
#include <napkin/optim/adamw.hpp>

#include "gpt.hpp"

namespace nk = napkin;

std::vector<nk::benched::rung_case> nk::benched::cases() {
  return {step_case<nk::train_step<nk::benched::gpt2_124m, nk::adamw, nk::compute_in<nk::f8>, nk::cuda>>(
      "GPT-2 124M f8")};
}
