// A model from PyTorch: read as transformers saved it, fine-tuned here, handed back. With no argument the
// tiny random GPT-2 beside this file; the model's sizes are this program's, so another model takes another
// config.
//
//   model = GPT2LMHeadModel.from_pretrained("...");  model.save_pretrained("before")      # Python
//   ./12_from_pytorch before after
//   model = GPT2LMHeadModel.from_pretrained("after")                                       # Python
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <napkin/napkin.hpp>
#include <string>
#include <vector>

namespace nk = napkin;

struct config {
  struct batch : nk::dim<"batch", 4> {};
  struct seq : nk::dim<"seq", 8> {};
  struct vocab : nk::dim<"vocab", 48> {};
  struct embed : nk::dim<"embed", 16> {};
  struct heads : nk::dim<"heads", 4> {};
  struct hidden : nk::dim<"hidden", 4> {};
  struct ffn : nk::dim<"ffn", 24> {};
  static constexpr std::size_t layers = 2;
};
using model = nk::nn::gpt<config>;
using step = nk::train_step<model, nk::adamw>;

// Text to learn: every token is the one before and five more.
struct batch_of_text {
  std::vector<nk::u16> tokens, targets;

  explicit batch_of_text(std::size_t number) {
    for (std::size_t b = 0; b < config::batch::size; ++b)
      for (std::size_t s = 0; s < config::seq::size; ++s) {
        const std::size_t first = 7 * (number * config::batch::size + b);
        tokens.push_back(static_cast<nk::u16>((first + 5 * s) % config::vocab::size));
        targets.push_back(static_cast<nk::u16>((first + 5 * (s + 1)) % config::vocab::size));
      }
  }
};

int main(int argc, char** argv) try {
  const std::filesystem::path here = std::filesystem::path(__FILE__).parent_path();
  const std::string before = argc > 1 ? argv[1] : (here / "data/tiny_gpt2").string();
  const std::string after =
      argc > 2 ? argv[2] : (std::filesystem::temp_directory_path() / "napkin_from_pytorch").string();

  nk::trainer<step> trainer(nk::seed{7});
  nk::load_pretrained(before,
                      trainer);  // names, shapes and config.json are checked; all that is wrong is said

  const batch_of_text held_out(1000);
  const float first = trainer.evaluate(held_out.tokens, held_out.targets);
  for (std::size_t i = 0; i < 300; ++i) {
    const batch_of_text text(i);
    trainer.step(3e-3, text.tokens, text.targets);
  }
  const float last = trainer.evaluate(held_out.tokens, held_out.targets);
  std::printf("loss %.3f as it came, %.3f after 300 steps\n", static_cast<double>(first),
              static_cast<double>(last));

  nk::save_pretrained(after, trainer);  // model.safetensors and config.json
  nk::trainer<step> again(nk::seed{8});
  nk::load_pretrained(after, again);
  const bool same = again.evaluate(held_out.tokens, held_out.targets) == last;
  std::printf("written to %s: %s\n", after.c_str(), same ? "the same model" : "another model");
  return same && last < 0.2f && last < first ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (const nk::input_error& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 2;
}
