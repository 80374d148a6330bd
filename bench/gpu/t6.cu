// T6: T4's step with the products of its layers in 8-bit floats, those of the forward pass added up fast, as its
// peers in 8 bits have it.
#include <napkin/optim/adamw.hpp>

#include "gpt.hpp"

namespace nk = napkin;

std::vector<nk::benched::rung_case> nk::benched::cases() {
  using in_8_bits = nk::compute_in<nk::f8, nk::fast_accumulation>;
  return {step_case<nk::train_step<nk::benched::gpt2_124m, nk::adamw, in_8_bits, nk::cuda>>("GPT-2 124M f8")};
}
