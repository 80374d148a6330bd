// The memory of a language model, one block of causal attention, that computes in f32, f64 and bf16.
#include "napkin/nn/layers.hpp"
#include "napkin/nn/loss.hpp"
#include "trained.hpp"

namespace language_test {  // named: g++ 12 takes templates of unnamed namespaces, as arguments, for one

namespace nk = napkin;

struct seq : nk::dim<"seq", 12> {};
struct vocab : nk::dim<"vocab", 32> {};
struct embed : nk::dim<"embed", 16> {};
struct heads : nk::dim<"heads", 2> {};
struct hidden : nk::dim<"hidden", 8> {};

template <class T, std::size_t Batch>
struct language {
  using batch = nk::dim<"batch", Batch>;
  using projection = nk::param<embed, heads, hidden>;
  using output_layer = nk::param<heads, hidden, embed>;
  BOOST_HANA_DEFINE_STRUCT(language, (nk::param<vocab, embed>, tokens), (projection, query),
                           (projection, key), (projection, value), (output_layer, output),
                           (nk::nn::layer_norm<embed>, norm));

  constexpr auto loss(nk::input<nk::u16, batch, seq> text, nk::input<nk::u16, batch, seq> targets) const {
    const auto x = nk::gather<"vocab">(tokens, text);  // [batch, seq, embed]
    const auto h = nk::cast<T>(norm(x));
    const auto mixed = nk::causal_attention<"seq", "hidden">(nk::dot<"embed">(h, nk::cast<T>(query)),
                                                             nk::dot<"embed">(h, nk::cast<T>(key)),
                                                             nk::dot<"embed">(h, nk::cast<T>(value)));
    const auto y = x + nk::cast<nk::f32>(nk::dot<"heads", "hidden">(mixed, nk::cast<T>(output)));
    return nk::cross_entropy<"vocab">(nk::dot<"embed">(y, tokens), targets);
  }
};

template <class T, std::size_t Batch>
struct example {
  static void run() {
    const std::vector<std::uint16_t> text(Batch * seq::size, std::uint16_t{5});
    memory_test::check_optimizers<language<T, Batch>>(Batch, text, text);
  }
};

}  // namespace language_test

TEST_CASE("memory: a language model takes what its step says, to the byte") {
  memory_test::check_all<language_test::example>();
}
