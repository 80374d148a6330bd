// Trains a small transformer on text, byte by byte: by default on the C++ standard library's own headers, to
// write C++ of a sort. The whole program but for its command line (support/options.cpp) and what it prints
// (support/report.cpp).
#include <cstdio>
#include <napkin/cpu/threads.hpp>
#include <napkin/nn/transformer.hpp>
#include <napkin/optim/adamw.hpp>
#include <napkin/optim/schedule.hpp>
#include <napkin/train/checkpoint.hpp>
#include <napkin/train/generate.hpp>
#include <napkin/train/progress.hpp>
#include <napkin/train/step_account.hpp>
#include <napkin/train/stop_signal.hpp>
#include <napkin/train/validation.hpp>
#include <optional>

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
struct vocab : nk::dim<"vocab", 256> {};
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
#define NAPKIN_TRAIN_IN f32  // or bf16, f16: cmake -DNAPKIN_TRAIN_IN=bf16
#endif
using step = nk::train_step<model, nk::adamw, nk::compute_in<nk::NAPKIN_TRAIN_IN>, backend>;

// ---- the run

constexpr std::size_t batch = axis::batch::size, seq = axis::seq::size;

/// On the device that is asked for, or else on the one that it runs on.
nk::step_account account_of_step(const train_options& o) {
#if defined(NAPKIN_TRAIN_ON_GPU)
  const std::string runs_on =
      o.device.empty() ? nk::on_cuda::facts_of_device(nk::on_cuda::current_session().calls()).name : "";
#else
  const std::string runs_on;  // this machine's processors
#endif
  return nk::account_of<step>("train_lm", device_of(o, runs_on));
}

int train(const train_options& given) {
  train_options o = given;
  if (o.threads != 0) nk::on_cpu::set_threads(o.threads);
  if (o.cost) return print_account(account_of_step(o), o);

  // What the run begins with: a checkpoint, or parameters and batches drawn from a seed.
  nk::file_system& files = nk::posix_file_system();
  const std::string path = o.out + "/checkpoint.safetensors";
  nk::trainer<step> trainer(nk::seed{o.seed});
  nk::sampler_state drawn{o.seed, 0};
  if (o.resume) {
    const nk::run_state state = nk::load_checkpoint(files, path, trainer);
    if (!state.same_algorithms)
      std::printf(
          "cuBLASLt runs other algorithms than recorded: the last bits may differ from the run before\n");
    take_settings(state, o);
    drawn = state.sampler;
  }
  if (o.data.empty()) o.data = nk::default_corpus_folder(files);
  const nk::warmup_cosine rate{o.learning_rate, o.steps / 20, o.steps, 0.05};

  const nk::corpus text = nk::open_corpus(files, o.data, axis::vocab::size);
  const bool bytes = text.train.holds_bytes();
  nk::batch_sampler batches(text.train, batch, seq, drawn);
  const nk::validation_set often(text.validation, 16, batch, seq), last(text.validation, 128, batch, seq);
  std::optional<run_report> report;  // refused before training, where it cannot be written
  if (!o.report.empty()) report.emplace(files, o.report, account_of_step(o));
  nk::step_recorder recorder(report ? nk::trainer<step>::timed_kernels : 0);
  prepare_folder(files, o.out, path, step::memory.peak);
  const std::string counts = print_corpus(text);
  print_model(nk::count_parameters<model>, nk::step_flops<step>(), step::memory.peak, batch * seq);

  const auto save = [&] { nk::save_checkpoint(files, path, trainer, batches.state(), settings_of(o)); };
  const std::int64_t first = trainer.steps();
  std::vector<std::uint16_t> tokens(batch * seq), targets(batch * seq);
  const nk::stop_signal stop;
  nk::progress display(first, o.steps, batch * seq,
                       {.terminal = nk::is_terminal(stdout), .bytes = bytes, .seconds = o.seconds});
  const auto in_time = [&] { return o.seconds == 0 || display.elapsed() < o.seconds; };

  while (trainer.steps() < o.steps && stop.received() == 0 && in_time()) {
    batches.next(tokens, targets);
    const bool timed = recorder.begin();
    const nk::step_result r =
        timed ? trainer.step_timed(recorder.kernels(), rate(trainer.steps()), tokens, targets)
              : trainer.step(rate(trainer.steps()), tokens, targets);
    recorder.end(trainer.steps(), static_cast<double>(r.loss));
    if (!r.applied) throw nk::error("the loss is no longer finite: begin anew with a lower --learning-rate");
    display.update(trainer.steps(), static_cast<double>(r.loss), r.norm, r.rate);
    if (trainer.steps() % o.evaluate_every != 0 || trainer.steps() == o.steps) continue;
    display.say(validation_text(trainer.steps(), often.loss(trainer), bytes));
    save();
  }
  display.clear();
  save();
  print_saved(trainer.steps(), o.steps, path);
  if (stop.received() != 0) return 128 + stop.received();
  print_speed(trainer.steps() - first, display.elapsed(), nk::step_flops<step>(), batch * seq);

  std::printf("%s; %s\n", validation_text(trainer.steps(), last.loss(trainer), bytes).c_str(),
              counts.c_str());
  nk::generator<writer> write(trainer.value_pointers());  // on the CPU; of a GPU as they were saved
  std::vector<std::uint16_t> sample;
  write(std::vector<std::uint16_t>{'\n'}, o.sample, {o.temperature, o.top_k},
        nk::stream_of(drawn.seed, "sample"), [&](std::uint16_t token) { sample.push_back(token); });
  print_sample(sample, bytes);
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
