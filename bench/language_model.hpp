// The training program's model, for the benchmarks of this folder.
#pragma once

#include <napkin/nn/transformer.hpp>
#include <napkin/optim/adamw.hpp>
#include <napkin/train/step.hpp>

namespace benchmarked {

/// As in examples/train_lm.cpp, which has sequences of 128.
template <std::size_t Batch, std::size_t Seq = 128>
struct config {
  struct batch : napkin::dim<"batch", Batch> {};
  struct seq : napkin::dim<"seq", Seq> {};
  struct vocab : napkin::dim<"vocab", 256> {};
  struct embed : napkin::dim<"embed", 128> {};
  struct ffn : napkin::dim<"ffn", 352> {};
  struct kv_heads : napkin::dim<"kv_heads", 4> {};
  struct group : napkin::dim<"group", 1> {};
  struct hidden : napkin::dim<"hidden", 32> {};
  static constexpr std::size_t layers = 4;
};
using model = napkin::nn::llama<config<16>>;
using writer = napkin::nn::llama<config<1>>;
template <std::size_t Batch, std::size_t Seq, class Compute = napkin::f32>
using step_of =
    napkin::train_step<napkin::nn::llama<config<Batch, Seq>>, napkin::adamw, napkin::compute_in<Compute>>;
using step = step_of<16, 128>;
inline constexpr std::size_t batch = config<16>::batch::size, seq = config<16>::seq::size,
                             vocabulary = config<16>::vocab::size;

}  // namespace benchmarked
