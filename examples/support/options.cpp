// What each flag means, and what an exception means to a shell.
#include "options.hpp"

#include <napkin/train/exit_code.hpp>
#include <napkin/train/file_system.hpp>
#include <napkin/train/utf8.hpp>
#include <new>

#include "command_line.hpp"

namespace {

constexpr std::int64_t most_steps = 1'000'000'000'000;

/// A path that a checkpoint, which has it among its metadata, can hold.
CLI::Validator of_utf8() {
  return CLI::Validator(
      [](const std::string& path) {
        return napkin::is_utf8(path)
                   ? ""
                   : napkin::in_quotes(path) + " is not UTF-8, as checkpoints need it: name it by a link";
      },
      "");
}

}  // namespace

int run_program(int argc, char** argv, const train_options& defaults, int (*program)(const train_options&)) {
  let_writes_beyond_limits_fail();
  train_options o = defaults;
  CLI::App app(
      "Trains a small transformer language model on text, byte by byte or by the tokens of `tokenize`.");
  const CLI::Option* data =
      app.add_option(
             "--data", o.data,
             "A text, a folder of text, or a token file of nanoGPT or llm.c (default: the C++ standard "
             "library's headers)")
          ->check(of_utf8());
  app.add_option("--out", o.out, "Folder for the checkpoint")->capture_default_str();
  app.add_option("--log", o.log, "A file for a line of JSON for each step (default: log.jsonl in --out)");
  app.add_option("--tensorboard", o.tensorboard, "A folder for curves that TensorBoard draws");
  app.add_flag("--resume", o.resume,
               "Go on from the last checkpoint in --out, to the same bits as without a stop");
  const CLI::Option* steps = app.add_option("--steps", o.steps, "Steps in all")
                                 ->capture_default_str()
                                 ->transform(between<std::int64_t>(1, most_steps));
  const CLI::Option* seconds =
      app.add_option("--seconds", o.seconds,
                     "Stop and save after this time; 0, and where --steps is given: no limit")
          ->capture_default_str()
          ->transform(between(0.0, 1e9));
  const CLI::Option* rate =
      app.add_option("--learning-rate", o.learning_rate, "Peak of the warm-up and cosine schedule")
          ->capture_default_str()
          ->transform(between(1e-12, 1e3));
  const CLI::Option* seed = app.add_option("--seed", o.seed, "Of the parameters and the batches")
                                ->capture_default_str()
                                ->transform(between<std::uint64_t>(0, ~std::uint64_t{0}));
  app.add_option("--eval-every", o.evaluate_every, "Steps between validations, each with a checkpoint")
      ->capture_default_str()
      ->transform(between<std::int64_t>(1, most_steps));
  app.add_option("--sample", o.sample, "Length of a sample, in tokens")
      ->capture_default_str()
      ->transform(between<std::size_t>(0, 1'000'000'000));
  app.add_option("--sample-every", o.sample_every, "Steps between samples; 0: one at the end")
      ->capture_default_str()
      ->transform(between<std::int64_t>(0, most_steps));
  app.add_option("--temperature", o.temperature, "Of the sample; 0: the likeliest token, always")
      ->capture_default_str()
      ->transform(between(0.0, 100.0));
  app.add_option("--top-k", o.top_k, "Sample among the k likeliest tokens; 0: among all")
      ->capture_default_str()
      ->transform(between<std::size_t>(0, 65536));
  app.add_option("--top-p", o.top_p, "Of these, the fewest likeliest whose probabilities reach p; 1: all")
      ->capture_default_str()
      ->transform(between(1e-9, 1.0));
  app.add_option("--threads", o.threads, "Threads (default: all processors); the results are the same")
      ->transform(between<std::size_t>(1, 1024));
  CLI::Option* cost = app.add_flag(
      "--cost", o.cost, "Print what a step costs by layer and kernel, and the least time it takes, and exit");
  app.add_flag("--json", o.json, "With --cost: print it for programs")->needs(cost);
  app.add_option("--report", o.report,
                 "Write a page for a browser: what a step costs and, after training, what was measured");
  app.add_option(
      "--device", o.device,
      "Whose times --cost and --report tell, as \"NVIDIA H100 SXM\" (default: the one that it runs on)");

  try {
    app.parse(argc, argv);
    o.data_given = data->count() > 0;
    o.steps_given = steps->count() > 0;
    o.learning_rate_given = rate->count() > 0;
    o.seed_given = seed->count() > 0;
    if (o.steps_given && seconds->count() == 0) o.seconds = 0;
    return program(o);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& problem) {
    return fail(static_cast<int>(napkin::exit_code::usage), problem);
  } catch (const std::bad_alloc& problem) {
    return fail(static_cast<int>(napkin::exit_code_of(problem)), "out of memory");
  } catch (const std::exception& problem) {
    return fail(static_cast<int>(napkin::exit_code_of(problem)), problem.what());
  }
}
