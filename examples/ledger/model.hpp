// A small language model whose costs are kept in costs.ledger: whoever changes it changes that file too, in
// the same commit (examples/CMakeLists.txt).
#pragma once

#include <napkin/nn/transformer.hpp>
#include <napkin/optim/adamw.hpp>
#include <napkin/train/step.hpp>

namespace ledger_example {

struct config {
  struct batch : napkin::dim<"batch", 8> {};
  struct seq : napkin::dim<"seq", 64> {};
  struct vocab : napkin::dim<"vocab", 256> {};
  struct embed : napkin::dim<"embed", 64> {};
  struct ffn : napkin::dim<"ffn", 256> {};
  struct heads : napkin::dim<"heads", 4> {};
  struct hidden : napkin::dim<"hidden", 16> {};
  static constexpr std::size_t layers = 2;
};
using model = napkin::nn::gpt<config>;
using step = napkin::train_step<model, napkin::adamw>;

}  // namespace ledger_example
