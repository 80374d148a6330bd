// Trains a small transformer on text, byte by byte or by the tokens of examples/tokenize.cpp: by default on
// the C++ standard library's own headers, to write C++ of a sort. The whole program but for its command line
// (support/options.cpp) and what it prints (support/report.cpp).
#include <cstdio>
#include <napkin/cpu/threads.hpp>
#include <napkin/nn/transformer.hpp>
#include <napkin/optim/adamw.hpp>
#include <napkin/optim/schedule.hpp>
#include <napkin/train/batch_steps.hpp>
#include <napkin/train/checkpoint.hpp>
#include <napkin/train/checkpoint_bytes.hpp>
#include <napkin/train/finite.hpp>
#include <napkin/train/generate.hpp>
#include <napkin/train/progress.hpp>
#include <napkin/train/run_log.hpp>
#include <napkin/train/step_account.hpp>
#include <napkin/train/stop_signal.hpp>
#include <napkin/train/validation.hpp>
#include <optional>
#include <type_traits>

#if defined(NAPKIN_TRAIN_ON_GPU)
#include <napkin/train/blas_cache.hpp>
#include <napkin/train/cache_path.hpp>
#endif

#include "support/options.hpp"
#include "support/report.hpp"

namespace nk = napkin;

// ---- the model: its axes, and how they are put together

namespace axis {
struct batch : nk::dim<"batch", 16> {};
struct seq : nk::dim<"seq", 128> {};
struct embed : nk::dim<"embed", 128> {};
struct ffn : nk::dim<"ffn", 352> {};
struct kv_heads : nk::dim<"kv_heads", 4> {};
struct group : nk::dim<"group", 1> {};
struct hidden : nk::dim<"hidden", 32> {};
#if !defined(NAPKIN_TRAIN_VOCABULARY)
#define NAPKIN_TRAIN_VOCABULARY 256  // bytes
#endif
struct vocab : nk::dim<"vocab", NAPKIN_TRAIN_VOCABULARY> {};
struct one : nk::dim<"batch", 1> {};
}  // namespace axis

template <class Batch>
struct config {
  using batch = Batch;
  using seq = axis::seq;
  using vocab = axis::vocab;
  using embed = axis::embed;
  using ffn = axis::ffn;
  using kv_heads = axis::kv_heads;
  using group = axis::group;
  using hidden = axis::hidden;
  static constexpr std::size_t layers = 4;
};
#if defined(NAPKIN_TRAIN_ON_GPU)  // train_lm.cu is this file, compiled by nvcc
using backend = nk::cuda;
#else
using backend = nk::cpu;
#endif
using model = nk::nn::llama<config<axis::batch>>;
using writer = nk::nn::llama<config<axis::one>>;  // the same, a window at a time
#if !defined(NAPKIN_TRAIN_IN)
#define NAPKIN_TRAIN_IN f32  // or tf32, bf16, f16, f8: cmake -DNAPKIN_TRAIN_IN=bf16
#endif
using step = nk::train_step<model, nk::adamw, nk::compute_in<nk::NAPKIN_TRAIN_IN>, backend>;

// ---- the run

constexpr std::size_t batch = axis::batch::size, seq = axis::seq::size;

/// The GPU's name; empty: this machine's processors.
std::string runs_on() {
#if defined(NAPKIN_TRAIN_ON_GPU)
  return nk::on_cuda::facts_of_device(nk::on_cuda::current_session().calls()).name;
#else
  return "";
#endif
}
/// On the device that is asked for, or else on the one that it runs on.
nk::step_account account_of_step(const train_options& o) {
  return nk::account_of<step>("train_lm", device_of(o, o.device.empty() ? runs_on() : ""));
}

/// Where a GPU has the parameters, the host has copies of them.
template <class Trainer>
void fetch_values(Trainer& trainer) {
  if constexpr (requires { trainer.fetch(); }) trainer.fetch();
}

#if defined(NAPKIN_TRAIN_ON_GPU)
/// The algorithms that a GPU's products run by are chosen by the clock, once for all runs: taken from the
/// user's cache before the trainer is made, kept there after, if any were chosen. Without the cache they are
/// timed again.
class known_algorithms {
 public:
  explicit known_algorithms(nk::file_system& files) : files_(&files) {
    nk::load_blas_cache(files, path_, chosen_, complaints_);
    known_ = chosen_;
  }
  void keep(const nk::trainer<step>& trainer) {
    if (!(chosen_ == known_)) nk::save_blas_cache(*files_, path_, chosen_, complaints_);
    std::printf("%zu choices of how products run, %zu of them timed now\n", chosen_.size(),
                chosen_.size() - known_.size());
    const nk::on_cuda::blas_fallbacks without = trainer.fallbacks();
    if (without.products > 0)
      std::printf("%zu products for which it has no algorithm: by a kernel of our own\n", without.products);
    if (without.unfused_epilogues > 0)
      std::printf("%zu epilogues for which it has no algorithm: by a kernel after the product\n",
                  without.unfused_epilogues);
    if (const std::size_t apart = trainer.epilogues_apart(); apart > 0)
      std::printf("%zu epilogues by a kernel after the product: the faster way here\n", apart);
    if (const std::size_t small = trainer.small_products(); small > 0)
      std::printf("%zu products by a kernel of our own: the faster way here\n", small);
    if (const std::size_t taken = trainer.taken_products(); taken > 0)
      std::printf("%zu products within the kernels that read them: the faster way here\n", taken);
    if (trainer.order() == nk::launch_order::by_data)
      std::printf("kernels wait for their data alone, not one for the other: the faster way here\n");
    if (trainer.start() == nk::launch_start::early)
      std::printf("kernels begin before those they wait for are over: the faster way here\n");
    for (const std::string& line : complaints_) std::fprintf(stderr, "train_lm: %s\n", line.c_str());
  }

 private:
  nk::file_system* files_;
  std::string path_ = nk::cache_path("cublaslt");
  nk::on_cuda::blas_choices& chosen_ = nk::on_cuda::current_session().choices();
  nk::on_cuda::blas_choices known_;  // before
  std::vector<std::string> complaints_;
};
#else
struct known_algorithms {
  explicit known_algorithms(nk::file_system&) {}
  void keep(const nk::trainer<step>&) {}
};
#endif

int train(const train_options& given) {
  train_options o = given;
  if (o.threads != 0) nk::on_cpu::set_threads(o.threads);
  if (o.cost) return print_account(account_of_step(o), o);

  // What the run begins with: a checkpoint, or parameters and batches drawn from a seed.
  nk::file_system& files = nk::posix_file_system();
  nk::checkpoint_folder checkpoints(files, o.out);
  known_algorithms algorithms(files);
  nk::trainer<step> trainer(nk::seed{o.seed});
  algorithms.keep(trainer);
  nk::sampler_state drawn{o.seed, 0};
  if (o.resume) {
    const nk::resumed_run found = nk::load_checkpoint(checkpoints, trainer);
    print_resumed(found);
    const nk::run_state& state = found.state;
    if (!state.same_algorithms)
      std::printf(
          "cuBLASLt runs other algorithms than recorded: the last bits may differ from the run before\n");
    take_settings(state, o);
    drawn = state.sampler;
  }
  if (o.data.empty()) o.data = nk::default_corpus_folder(files);
  const nk::warmup_cosine rate{o.learning_rate, o.steps / 20, o.steps, 0.05};

  const nk::corpus text = nk::open_corpus(files, o.data, axis::vocab::size);
  const std::optional<nk::vocabulary> words = open_vocabulary(files, text, axis::vocab::size);
  nk::batch_prefetcher batches(text.train, batch, seq, drawn);
  nk::batch_steps steps(trainer, batches);
  const nk::validation_set often(text.validation, 16, batch, seq), last(text.validation, 128, batch, seq);
  const double bytes = bytes_a_token(words, often.all_targets());
  std::optional<run_report> report;  // refused before training, where it cannot be written
  if (!o.report.empty()) report.emplace(files, o.report, account_of_step(o));
  nk::step_recorder recorder(report ? nk::trainer<step>::timed_kernels : 0);
  prepare(checkpoints, nk::checkpoint_bytes_with<step>({}), o.resume);
  const std::string counts = print_corpus(text);
  print_model(nk::count_parameters<model>, nk::step_flops<step>(), step::memory.peak, batch * seq);

  const auto save = [&] {
    const std::string path = nk::save_checkpoint(checkpoints, trainer, steps.state(), settings_of(o));
    nk::require_finite(trainer);  // of a GPU's as they were just saved
    return path;
  };
  const std::int64_t first = trainer.steps();
  const std::optional<nk::device> device = known_device(runs_on());
  const nk::step_work work = nk::work_of<step>(device ? &*device : nullptr);
  nk::run_log log = open_log(files, o,
                             {"train_lm",
                              first,
                              o.steps,
                              nk::count_parameters<model>,
                              device ? std::string(device->name) : runs_on(),
                              work,
                              {}});
  const nk::stop_signal stop;
  nk::progress display(first, o.steps, work,
                       {.terminal = nk::is_terminal(stdout), .bytes_a_token = bytes, .seconds = o.seconds});
  nk::generator<writer> write(trainer.value_pointers());
  const auto sample = [&] {
    fetch_values(trainer);
    std::vector<std::uint16_t> tokens;
    write(begin_of_sample(words), o.sample, {o.temperature, o.top_k, o.top_p},
          nk::stream_of(drawn.seed, "sample"), [&](std::uint16_t token) { tokens.push_back(token); });
    const std::string written = text_of_sample(words, tokens);
    log.sample(trainer.steps(), written);
    return printable(written);
  };
  const auto in_time = [&] { return o.seconds == 0 || display.elapsed() < o.seconds; };

  std::optional<nk::step_made> untold;
  const auto tell = [&] {
    if (!untold) return;
    log.step(*untold);
    display.update(*untold);
    untold.reset();
  };
  // A number that is not finite ends the run before it spoils what is there.
  const auto or_diverged = [&](const auto& require) {
    try {
      require();
    } catch (const nk::nonfinite_error&) {
      tell();
      log.end(trainer.steps(), "diverged");
      throw;
    }
  };
  nk::step_clock clock;
  while (trainer.steps() < o.steps && stop.received() == 0 && in_time()) {
    const bool timed = recorder.begin();
    const nk::step_result r =
        steps.step(rate(trainer.steps()), timed ? recorder.kernels() : std::span<double>(), tell);
    recorder.end(trainer.steps(), static_cast<double>(r.loss));
    untold = {trainer.steps(), static_cast<double>(r.loss), r.norm, r.rate, clock.lap(), r.applied};
    or_diverged([&] { nk::require_applied(trainer, r); });
    if (!r.applied) continue;               // in f16: the scale of the loss was too high
    if (trainer.steps() == o.steps) break;  // validated, saved and sampled below
    const auto is_due = [&](std::int64_t every) { return every != 0 && trainer.steps() % every == 0; };
    if (!is_due(o.evaluate_every) && !is_due(o.sample_every)) continue;
    tell();
    if (is_due(o.evaluate_every)) {
      const double validation = often.loss(trainer);
      display.say(validation_text(trainer.steps(), validation, bytes));
      log.validation(trainer.steps(), validation);
      or_diverged(save);
    }
    if (is_due(o.sample_every)) display.say(sample());
    clock.restart();
  }
  tell();
  display.clear();
  or_diverged([&] { print_saved(trainer.steps(), o.steps, save()); });
  if (stop.received() != 0) {
    log.end(trainer.steps(), "signal");
    return 128 + stop.received();
  }
  print_speed(trainer.steps() - first, display.elapsed(), nk::step_flops<step>(), batch * seq);

  const double validation = last.loss(trainer);
  std::printf("%s; %s\n",
              validation_text(trainer.steps(), validation, bytes_a_token(words, last.all_targets())).c_str(),
              counts.c_str());
  log.validation(trainer.steps(), validation);
  std::printf("%s\n", sample().c_str());
  log.end(trainer.steps(), trainer.steps() < o.steps ? "time" : "finished");
  std::printf("%s", nk::step_report<step>().c_str());
  if (report) report->write(recorder);
  return 0;
}

int main(int argc, char** argv) {
  train_options defaults;
  defaults.steps = 1000;
  defaults.seconds = 150;
  defaults.learning_rate = 3e-3;
  return run_program(argc, argv, defaults, train);
}
