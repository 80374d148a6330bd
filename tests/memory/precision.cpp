// The memory of a step that computes in bf16: to the byte what the process is asked for, half of f32's
// activations.
#include "napkin/nn/transformer.hpp"
#include "trained.hpp"

namespace precision_test {

namespace nk = napkin;

template <std::size_t Batch>
struct config {
  using batch = nk::dim<"batch", Batch>;
  using seq = nk::dim<"seq", 12>;
  using vocab = nk::dim<"vocab", 32>;
  using embed = nk::dim<"embed", 16>;
  using ffn = nk::dim<"ffn", 32>;
  using heads = nk::dim<"heads", 2>;
  using hidden = nk::dim<"hidden", 8>;
  static constexpr std::size_t layers = 2;
};
template <std::size_t Batch, class... Policies>
using gpt = nk::train_step<nk::nn::gpt<config<Batch>>, nk::adamw, Policies...>;

template <std::size_t Batch, class... Policies>
void check_one() {
  using step = gpt<Batch, Policies...>;
  const std::vector<std::uint16_t> text(step::micro_batches * Batch * 12, std::uint16_t{5});
  memory_test::check<step>(Batch, text, text);
}

}  // namespace precision_test

TEST_CASE("memory: a step in bf16, or in f8, takes what it says, to the byte") {
  using namespace precision_test;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (check_one<memory_test::batch_sizes[I], nk::compute_in<nk::bf16>>(), ...);
  }
  (std::make_index_sequence<std::size(memory_test::batch_sizes)>{});
  check_one<4, nk::compute_in<nk::f8>>();
#if defined(NAPKIN_TEST_EVERYTHING)
  check_one<4, nk::compute_in<nk::bf16>, nk::micro_batches<3>>();
  check_one<4, nk::compute_in<nk::f8>, nk::micro_batches<3>>();
#endif
}

TEST_CASE("memory: in bf16 half of f32's activations are kept") {
  using namespace precision_test;
  constexpr auto wide = gpt<16>::memory, narrow = gpt<16, nk::compute_in<nk::bf16>>::memory;
  CHECK(narrow.parameters == wide.parameters);
  CHECK(narrow.master_copies == narrow.parameters);  // what is updated; the narrow copies are intermediates
  CHECK(wide.master_copies == 0);
  CHECK(narrow.gradients == wide.gradients);
  CHECK(narrow.optimizer_state == wide.optimizer_state);
  CHECK(100 * narrow.activations <= 52 * wide.activations);
  CHECK(100 * narrow.intermediates <= 56 * wide.intermediates);
}
