// A tiny model learns one sentence, and says it.
#include <catch2/catch.hpp>
#include <cmath>

#include "support/temporary_folder.hpp"
#include "tiny.hpp"

TEST_CASE("training: a tiny model learns a sentence, from chance to certainty") {
  const temporary_folder folder;
  tiny::run run(folder.write("text", tiny::text()), 1);
  const std::vector<float> losses = run.train(250);
  CHECK(std::abs(losses.front() - std::log(128.0f)) <= 0.1f);  // 128 tokens, none likelier
  CHECK(losses.back() <= 0.15f);  // where a window begins, the first bytes cannot be known

  const std::string expected = std::string(tiny::sentence) + std::string(tiny::sentence);
  const std::string prompt = expected.substr(0, 10);
  // Longer than the window, which slides.
  CHECK(run.generate(prompt, 60, 0, 1) == expected.substr(10, 60));
}

TEST_CASE("generation: one seed gives one text, another seed another") {
  const temporary_folder folder;
  tiny::run run(folder.write("text", tiny::text()), 1);
  run.train(5);
  const std::string text = run.generate("t", 50, 1, 7);
  CHECK(text.size() == 50);
  CHECK(text == run.generate("t", 50, 1, 7));
  CHECK(text != run.generate("t", 50, 1, 8));
}
