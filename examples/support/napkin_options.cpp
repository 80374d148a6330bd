// napkin_math's command line, by CLI11.
#include "napkin_options.hpp"

#include <cstdio>
#include <napkin/core/error.hpp>

#include "command_line.hpp"

int run_napkin(int argc, char** argv, int (*program)(const napkin_options&)) {
  let_writes_beyond_limits_fail();
  napkin_options o;
  const CLI::Validator positive = between(1e-30, 1e30);
  CLI::App app(
      "What a model costs to train, worked out on a napkin. Without numbers: the examples of Stanford's "
      "CS336, beside what they come to exactly.");
  app.add_option("--parameters", o.parameters, "parameters of the model, 70e9")->transform(positive);
  app.add_option("--tokens", o.tokens, "tokens it is trained on, 15e12")->transform(positive);
  app.add_option("--device", o.device, "by the name that its driver reports, or 'host'")
      ->capture_default_str();
  app.add_option("--devices", o.devices, "how many")->transform(positive)->capture_default_str();
  app.add_option("--mfu", o.mfu, "part of the dense peak that is reached")
      ->transform(between(1e-9, 1.0))
      ->capture_default_str();
  app.add_option("--optimizer", o.optimizer, "what is kept for each parameter")
      ->check(
          CLI::IsMember({"sgd", "momentum", "adagrad", "rmsprop", "adamw", "adamw_mixed", "adamw_megatron"}))
      ->capture_default_str();
  app.add_option("--layers", o.layers, "of a transformer")->transform(positive);
  app.add_option("--hidden", o.hidden, "its width")->transform(positive);
  app.add_option("--heads", o.heads, "its heads")->transform(positive);
  app.add_option("--sequence", o.sequence, "tokens of one sequence")->transform(positive);
  app.add_option("--batch", o.batch, "sequences of a step")->transform(positive)->capture_default_str();
  app.add_option("--ffn", o.ffn, "width of its feed-forward layer; 4 times the width")->transform(positive);
  app.add_option("--vocabulary", o.vocabulary, "tokens that there are")->transform(positive);
  app.add_flag("--measure", o.measure, "measure this machine, and a product on it");
  return parse_and_run(app, argc, argv, [&] {
    o.given = o.parameters > 0 || o.tokens > 0 || o.layers > 0;
    const int code = program(o);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      return fail(1, "not all could be written to standard output");
    return code;
  });
}
