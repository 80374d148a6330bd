// expect: the model has no constexpr auto logits(input<T, batch, sequence>) const
// facts: type<model>
#include <napkin/napkin.hpp>
#include <napkin/train/generate.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 1> {};
struct seq : nk::dim<"seq", 8> {};
struct vocab : nk::dim<"vocab", 32> {};

#ifdef MISTAKE
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<vocab, nk::primed<vocab>>, pairs));
  constexpr auto loss(nk::input<nk::u16, batch, seq> text) const {
    return nk::mean(nk::gather<"vocab">(pairs, text));
  }
};
void write(std::span<const void* const> parameters, std::span<const std::uint16_t> prompt) {
  nk::generator<model> write(parameters);
  write(prompt, 100, {}, nk::stream_of(1, "sample"), [](std::uint16_t) {});
}
#else
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<vocab, nk::primed<vocab>>, pairs));
  constexpr auto logits(nk::input<nk::u16, batch, seq> text) const {
    return nk::gather<"vocab">(pairs, text);
  }
};
void write(std::span<const void* const> parameters, std::span<const std::uint16_t> prompt) {
  nk::generator<model> write(parameters);
  write(prompt, 100, {}, nk::stream_of(1, "sample"), [](std::uint16_t) {});
}
#endif
