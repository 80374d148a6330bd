// expect: generator: it reads texts as long as the compiler knows
// facts: batch
#include <napkin/napkin.hpp>
#include <napkin/train/generate.hpp>

namespace nk = napkin;

template <nk::extent Batch>
struct config {
  struct batch : nk::dim<"batch", Batch> {};
  struct seq : nk::dim<"seq", 8> {};
  struct vocab : nk::dim<"vocab", 32> {};
  struct embed : nk::dim<"embed", 8> {};
  struct ffn : nk::dim<"ffn", 16> {};
  struct heads : nk::dim<"heads", 2> {};
  struct hidden : nk::dim<"hidden", 4> {};
  static constexpr std::size_t layers = 1;
};

void write(std::span<const void* const> parameters, std::span<const std::uint16_t> prompt) {
#ifdef MISTAKE
  nk::generator<nk::nn::gpt<config<nk::up_to<1>>>> write(parameters);
#else
  nk::generator<nk::nn::gpt<config<1>>> write(parameters);
#endif
  write(prompt, 100, {}, nk::stream_of(1, "sample"), [](std::uint16_t) {});
}
