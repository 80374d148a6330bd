// Arenas of transformers of 2 and of 12 layers, whose plans are repeated.
#include <catch2/catch.hpp>

#include "arena.hpp"
#include "napkin/nn/transformer.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/train/step.hpp"

namespace transformers_test {

namespace nk = napkin;

template <std::size_t Batch, std::size_t Layers>
struct config {
  using batch = nk::dim<"batch", Batch>;
  using seq = nk::dim<"seq", 64>;
  using vocab = nk::dim<"vocab", 256>;
  using embed = nk::dim<"embed", 64>;
  using ffn = nk::dim<"ffn", 176>;
  using heads = nk::dim<"heads", 4>;
  using kv_heads = nk::dim<"kv_heads", 2>;
  using group = nk::dim<"group", 2>;
  using hidden = nk::dim<"hidden", 16>;
  static constexpr std::size_t layers = Layers;
};

template <std::size_t Batch, std::size_t Layers>
void check_arenas() {
  using gpt = nk::train_step<nk::nn::gpt<config<Batch, Layers>>, nk::adamw>;
  using llama = nk::train_step<nk::nn::llama<config<Batch, Layers>>, nk::adamw>;
  constexpr auto g = gpt::memory, l = llama::memory;
  CAPTURE(Batch, Layers, g.intermediates, g.intermediates_lower_bound, l.intermediates,
          l.intermediates_lower_bound);
  CHECK(memory_test::keeps_the_bar<gpt>(Batch));
  CHECK(memory_test::keeps_the_bar<llama>(Batch));
}

}  // namespace transformers_test

TEST_CASE("arena: transformers keep the bar") {
  using namespace transformers_test;
  check_arenas<1, 2>();
  check_arenas<4, 2>();
  check_arenas<16, 2>();
  check_arenas<1, 12>();
  check_arenas<8, 12>();
}
