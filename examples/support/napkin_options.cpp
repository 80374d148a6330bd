// napkin_math's command line, by CLI11.
#include "napkin_options.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <napkin/core/error.hpp>

int run_napkin(int argc, char** argv, int (*program)(const napkin_options&)) {
  napkin_options o;
  CLI::App app(
      "What a model costs to train, worked out on a napkin. Without numbers: the examples of Stanford's "
      "CS336, beside what they come to exactly.");
  app.add_option("--parameters", o.parameters, "parameters of the model, 70e9")->check(CLI::PositiveNumber);
  app.add_option("--tokens", o.tokens, "tokens it is trained on, 15e12")->check(CLI::PositiveNumber);
  app.add_option("--device", o.device, "by the name that its driver reports, or 'host'")
      ->capture_default_str();
  app.add_option("--devices", o.devices, "how many")->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--mfu", o.mfu, "part of the dense peak that is reached")->capture_default_str();
  app.add_option("--optimizer", o.optimizer, "what is kept for each parameter")
      ->check(
          CLI::IsMember({"sgd", "momentum", "adagrad", "rmsprop", "adamw", "adamw_mixed", "adamw_megatron"}))
      ->capture_default_str();
  app.add_option("--layers", o.layers, "of a transformer")->check(CLI::PositiveNumber);
  app.add_option("--hidden", o.hidden, "its width")->check(CLI::PositiveNumber);
  app.add_option("--heads", o.heads, "its heads")->check(CLI::PositiveNumber);
  app.add_option("--sequence", o.sequence, "tokens of one sequence")->check(CLI::PositiveNumber);
  app.add_option("--batch", o.batch, "sequences of a step")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--ffn", o.ffn, "width of its feed-forward layer; 4 times the width")
      ->check(CLI::PositiveNumber);
  app.add_option("--vocabulary", o.vocabulary, "tokens that there are")->check(CLI::PositiveNumber);
  app.add_flag("--measure", o.measure, "measure this machine, and a product on it");
  CLI11_PARSE(app, argc, argv);
  o.given = o.parameters > 0 || o.tokens > 0 || o.layers > 0;
  try {
    return program(o);
  } catch (const napkin::input_error& e) {
    std::fprintf(stderr, "napkin_math: %s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "napkin_math: %s\n", e.what());
    return 1;
  }
}
