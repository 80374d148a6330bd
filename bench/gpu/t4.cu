// T4: a training step of GPT-2 124M on 64 windows of 1,024 tokens. M1 is the memory that it takes.
#include <napkin/optim/adamw.hpp>

#include "gpt.hpp"

namespace nk = napkin;

namespace napkin::benched {
std::map<std::string, std::size_t> largest_batches();  // t4_batches.cpp
}

std::vector<nk::benched::rung_case> nk::benched::cases() {
  rung_case c =
      step_case<nk::train_step<nk::benched::gpt2_124m, nk::adamw, nk::compute_in<nk::bf16>, nk::cuda>>(
          "GPT-2 124M bf16");
#if defined(__CUDACC__)  // the host's is a dwarf
  c.facts = largest_batches();
#endif
  return {c};
}
