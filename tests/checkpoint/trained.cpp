// The models of trained.hpp, and the runs around them.
#include "trained.hpp"

#include <memory>

#include "napkin/nn/dropout.hpp"
#include "napkin/nn/layers.hpp"
#include "napkin/nn/loss.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/optim/muon.hpp"
#include "napkin/optim/sgd.hpp"
#include "napkin/train/checkpoint.hpp"
#include "support/trained_numbers.hpp"

namespace nk = napkin;

namespace trained_models {

struct batch : nk::dim<"batch", 2> {};
struct seq : nk::dim<"seq", 9> {};
struct vocab : nk::dim<"vocab", 256> {};
struct embed : nk::dim<"embed", 6> {};
struct hidden : nk::dim<"hidden", 11> {};

struct small {
  using table = nk::nn::embedding<vocab, embed>;
  using up_layer = nk::nn::linear<embed, hidden>;
  using down_layer = nk::nn::linear<hidden, vocab>;
  BOOST_HANA_DEFINE_STRUCT(small, (table, tokens), (up_layer, up), (down_layer, down));

  constexpr auto loss(nk::input<nk::u16, batch, seq> ids, nk::input<nk::u16, batch, seq> targets,
                      nk::input<nk::i64> noise) const {
    const auto wide = nk::dropout(nk::gelu(up(tokens(ids))), 0.1, noise);  // [batch, seq, hidden]
    return nk::cross_entropy<"vocab">(down(wide), targets);
  }
};

template <class Step>
class run final : public trained {
 public:
  run(const nk::token_source& source, std::uint64_t seed)
      : source_(&source),
        sampler_(source, Step::micro_batches * batch::size, seq::size, {seed, 0}),
        trainer_(nk::seed{seed}) {}

  float step() override {
    std::vector<std::uint16_t> ids(Step::tokens), targets(Step::tokens);
    sampler_.next(ids, targets);
    std::vector<std::int64_t> noise(Step::micro_batches);
    for (std::size_t k = 0; k < noise.size(); ++k)
      noise[k] = trainer_.steps() * static_cast<std::int64_t>(noise.size()) + static_cast<std::int64_t>(k);
    return trainer_.step(1e-2, ids, targets, noise).loss;
  }
  std::int64_t steps() const override { return trainer_.steps(); }
  std::vector<float> everything() const override { return nk::testing::everything_of(trainer_); }
  std::string save(nk::checkpoint_folder& folder) const override {
    return nk::save_checkpoint(folder, trainer_, sampler_.state());
  }
  nk::resumed_run load(nk::checkpoint_folder& folder) override {
    nk::resumed_run found = nk::load_checkpoint(folder, trainer_);
    sampler_ = nk::batch_sampler(*source_, Step::micro_batches * batch::size, seq::size, found.state.sampler);
    return found;
  }

 private:
  const nk::token_source* source_;
  nk::batch_sampler sampler_;
  nk::trainer<Step> trainer_;
};

}  // namespace trained_models

nk::token_source source_of(const std::vector<std::string>& paths) {
  std::vector<nk::token_segment> segments;
  for (const std::string& path : paths) segments.push_back(nk::find_bytes(nk::posix_file_system(), path));
  return nk::token_source(nk::posix_file_system(), "the text", segments, trained_models::vocab::size);
}

std::unique_ptr<trained> make_trained(trained_by optimizer, const nk::token_source& source,
                                      std::uint64_t seed) {
  using namespace trained_models;
  switch (optimizer) {
    case trained_by::momentum:
      return std::make_unique<run<nk::train_step<small, nk::momentum>>>(source, seed);
    case trained_by::muon:
      return std::make_unique<run<nk::train_step<small, nk::muon>>>(source, seed);
    default:
      return std::make_unique<run<nk::train_step<small, nk::adamw, nk::micro_batches<2>>>>(source, seed);
  }
}
