// report_thrifty PAGE: writes the report of a step that keeps a budget of memory, and prints its JSON.
#include <cstdio>
#include <fstream>
#include <napkin/cost/devices.hpp>
#include <napkin/nn/transformer.hpp>
#include <napkin/optim/adamw.hpp>
#include <napkin/train/step_account_text.hpp>

namespace nk = napkin;

namespace thrifty {

struct config {
  using batch = nk::dim<"batch", 4>;
  using seq = nk::dim<"seq", 32>;
  using vocab = nk::dim<"vocab", 48>;
  using embed = nk::dim<"embed", 32>;
  using ffn = nk::dim<"ffn", 96>;
  using heads = nk::dim<"heads", 2>;
  using hidden = nk::dim<"hidden", 16>;
  static constexpr std::size_t layers = 3;
};
using model = nk::nn::gpt<config>;
using kept = nk::train_step<model, nk::adamw>;
using step = nk::train_step<model, nk::adamw, nk::recompute_to_fit<kept::memory.peak * 7 / 10>>;
static_assert(step::recomputed.choice > 0);

}  // namespace thrifty

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: report_thrifty PAGE\n"), 2;
  const nk::step_account account = nk::account_of<thrifty::step>("a thrifty model", nk::h100_sxm);
  std::ofstream(argv[1], std::ios::binary) << nk::account_page(account);
  const std::string json = nk::account_json(account);
  return std::fwrite(json.data(), 1, json.size(), stdout) != json.size();
}
