#include "tiny.hpp"

#include <memory>

#include "napkin/nn/transformer.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/train/checkpoint.hpp"
#include "napkin/train/generate.hpp"
#include "support/trained_numbers.hpp"

namespace nk = napkin;

namespace tiny {
namespace {

struct batch_axis : nk::dim<"batch", batch> {};
struct one_axis : nk::dim<"batch", 1> {};
struct seq_axis : nk::dim<"seq", seq> {};
struct vocab_axis : nk::dim<"vocab", 128> {};
struct embed_axis : nk::dim<"embed", 24> {};
struct ffn_axis : nk::dim<"ffn", 40> {};
struct kv_heads_axis : nk::dim<"kv_heads", 1> {};
struct group_axis : nk::dim<"group", 2> {};
struct hidden_axis : nk::dim<"hidden", 12> {};

template <class Batch>
struct config {
  using batch = Batch;
  using seq = seq_axis;
  using vocab = vocab_axis;
  using embed = embed_axis;
  using ffn = ffn_axis;
  using kv_heads = kv_heads_axis;
  using group = group_axis;
  using hidden = hidden_axis;
  static constexpr std::size_t layers = 2;
};
using model = nk::nn::llama<config<batch_axis>>;
using writer = nk::nn::llama<config<one_axis>>;
using step = nk::train_step<model, nk::adamw>;

}  // namespace

std::string text() {
  std::string all;
  for (int i = 0; i < 100; ++i) all += sentence;
  return all;
}

nk::token_source source(const std::string& path) {
  nk::file_system& files = nk::posix_file_system();
  return nk::token_source(files, "the text", {nk::find_bytes(files, path)}, vocab_axis::size);
}

struct run::state {
  state(const std::string& path, std::uint64_t seed)
      : text(source(path)), sampler(text, batch, seq, {seed, 0}), trainer(nk::seed{seed}) {}
  nk::token_source text;
  nk::batch_sampler sampler;
  nk::trainer<step> trainer;
  std::vector<std::uint16_t> tokens = std::vector<std::uint16_t>(batch * seq);
  std::vector<std::uint16_t> targets = std::vector<std::uint16_t>(batch * seq);
};

run::run(const std::string& path, std::uint64_t seed) : state_(std::make_unique<state>(path, seed)) {}
run::~run() = default;

void run::fetch() { state_->sampler.next(state_->tokens, state_->targets); }
float run::step_on_fetched() { return state_->trainer.step(1e-2, state_->tokens, state_->targets).loss; }
float run::evaluate_fetched() { return state_->trainer.evaluate(state_->tokens, state_->targets); }

std::vector<float> run::train(int steps) {
  std::vector<float> losses;
  for (int i = 0; i < steps; ++i) {
    fetch();
    losses.push_back(step_on_fetched());
  }
  return losses;
}

std::vector<float> run::everything() const { return nk::testing::everything_of(state_->trainer); }

void run::save(nk::file_system& files, const std::string& path) const {
  nk::save_checkpoint(files, path, state_->trainer, state_->sampler.state());
}
void run::load(nk::file_system& files, const std::string& path) {
  const nk::run_state found = nk::load_checkpoint(files, path, state_->trainer);
  state_->sampler = nk::batch_sampler(state_->text, batch, seq, found.sampler);
}

std::string run::generate(const std::string& prompt, std::size_t bytes, double temperature,
                          std::uint64_t seed) {
  nk::generator<writer> write(state_->trainer.value_pointers());
  const std::vector<std::uint16_t> begin(prompt.begin(), prompt.end());
  std::string written;
  write(begin, bytes, {temperature, 0}, nk::stream_of(seed, "sample"),
        [&](std::uint16_t token) { written += static_cast<char>(token); });
  return written;
}

}  // namespace tiny
