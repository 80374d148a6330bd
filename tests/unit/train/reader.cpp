// One position at a time by the cache, or the whole window: the same logits.
#include "napkin/train/reader.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "napkin/core/random.hpp"
#include "napkin/nn/transformer.hpp"
#include "napkin/train/generate.hpp"
#include "napkin/train/predictor.hpp"
#include "support/compare.hpp"

namespace nk = napkin;

namespace {

struct config {
  struct batch : nk::dim<"batch", 1> {};
  struct seq : nk::dim<"seq", 24> {};
  struct vocab : nk::dim<"vocab", 61> {};
  struct embed : nk::dim<"embed", 32> {};
  struct ffn : nk::dim<"ffn", 48> {};
  struct heads : nk::dim<"heads", 4> {};
  struct kv_heads : nk::dim<"kv_heads", 2> {};
  struct group : nk::dim<"group", 3> {};
  struct hidden : nk::dim<"hidden", 8> {};
  static constexpr std::size_t layers = 3;
};
using gpt = nk::nn::gpt<config>;
using llama = nk::nn::llama<config>;

/// Parameters far from their first values, biases too, so that every term counts.
template <class Model>
struct parameters {
  std::vector<std::vector<float>> values;
  std::vector<const void*> pointers;
  parameters() {
    for (const nk::parameter_info& p : nk::parameter_table<Model>) {
      values.emplace_back(p.count);
      const nk::random_stream stream = nk::stream_of(5, p.name);
      for (std::size_t i = 0; i < p.count; ++i)
        values.back()[i] = static_cast<float>(nk::normal<double>(stream, i) * 0.3) +
                           (p.name.ends_with("gain") ? 1.0f : 0.0f);
      pointers.push_back(values.back().data());
    }
  }
};

std::vector<std::uint16_t> make_text(std::size_t size) {
  std::vector<std::uint16_t> text(size);
  for (std::size_t i = 0; i < size; ++i)
    text[i] = static_cast<std::uint16_t>(nk::integer(nk::stream_of(1, "text"), i, config::vocab::size));
  return text;
}

/// Of the logits, as a part of the largest.
template <class Model>
double worst_error() {
  const parameters<Model> p;
  nk::window_reader<Model> whole(p.pointers);
  nk::cached_reader<Model> cached(p.pointers);
  const std::vector<std::uint16_t> text = make_text(config::seq::size);
  double worst = 0, size = 0;
  for (int again = 0; again < 2; ++again) {  // what is left of the text before is not seen
    whole.clear(), cached.clear();
    for (std::size_t t = 0; t < text.size(); ++t) {
      const auto token = std::span(text).subspan((t * (again == 0 ? 1 : 7)) % text.size(), 1);
      const auto expected = whole.read(token), found = cached.read(token);
      REQUIRE(expected.size() == config::vocab::size);
      REQUIRE(found.size() == config::vocab::size);
      worst = nk::testing::worst_of(worst, nk::testing::largest_difference(found, expected));
      for (const float x : expected) size = std::max(size, std::abs(static_cast<double>(x)));
    }
  }
  CHECK(size > 1);
  return worst / size;
}

}  // namespace

TEST_CASE("reader: the cache gives the logits of the whole window, GPT-2's") {
  const double d = worst_error<gpt>();
  INFO(d);
  CHECK(d <= 1e-5);
}

TEST_CASE("reader: the cache gives the logits of the whole window, Llama's, with grouped queries") {
  const double d = worst_error<llama>();
  INFO(d);
  CHECK(d <= 1e-5);
}

TEST_CASE("reader: several tokens at once are those one after another") {
  const parameters<llama> p;
  const std::vector<std::uint16_t> text = make_text(10);
  nk::cached_reader<llama> one(p.pointers), all(p.pointers);
  std::span<const float> last;
  for (std::size_t t = 0; t < text.size(); ++t) last = one.read(std::span(text).subspan(t, 1));
  const std::vector<float> expected(last.begin(), last.end());
  const auto found = all.read(text);
  CHECK(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
  CHECK(all.size() == 10);
  CHECK_THROWS_AS(all.read({}), nk::error);
  CHECK_THROWS_AS(all.read(make_text(15)), nk::error);
  CHECK_NOTHROW(all.read(make_text(14)));
  CHECK_THROWS_AS(nk::cached_reader<llama>(std::span(p.pointers).first(3)), nk::error);
}

TEST_CASE(
    "predictor: its attentions are one operation each, the window reader's are products; the same logits") {
  using logits = nk::model_function_graph<llama, &llama::logits>;
  static_assert(nk::on_cpu::frozen_plan<nk::on_cpu::host_function<logits>>::view().count.attentions ==
                config::layers);
  static_assert(nk::on_cpu::frozen_plan<logits>::view().count.attentions == 0);
  const parameters<llama> p;
  const std::vector<std::uint16_t> text = make_text(config::seq::size);
  nk::predictor<llama, &llama::logits> predict(p.pointers);
  nk::window_reader<llama> whole(p.pointers);
  const std::span<const float> expected = whole.read(text), all = predict(text);
  REQUIRE(all.size() == config::seq::size * config::vocab::size);
  double size = 0;
  for (const float x : expected) size = std::max(size, std::abs(static_cast<double>(x)));
  CHECK(size > 1);
  CHECK(nk::testing::largest_difference(all.last(config::vocab::size), expected) <= 1e-5 * size);
}

TEST_CASE("reader: what a token costs is a constant, a fraction of the window's") {
  using whole = nk::window_reader<llama>;
  using cached = nk::cached_reader<llama>;
  // Of each position the same products, but for attention, which here reads the whole window.
  static_assert(cached::cost.flops.matmul * config::seq::size >= whole::cost.flops.matmul);
  static_assert(cached::cost.flops.matmul * config::seq::size < whole::cost.flops.matmul * 11 / 10);
  CHECK(cached::cost.bytes.read < whole::cost.bytes.read);
}

TEST_CASE("generate: the likeliest text is the same from both readers, also past the window") {
  const parameters<gpt> p;
  nk::generator<gpt, nk::window_reader<gpt>> slow(p.pointers);
  nk::generator<gpt> quick(p.pointers);
  static_assert(std::is_same_v<nk::reader_of<gpt>, nk::cached_reader<gpt>>);
  for (const std::size_t prompt : {1u, 24u, 40u}) {
    std::vector<std::uint16_t> expected, found;
    slow(make_text(prompt), 70, {.temperature = 0}, nk::stream_of(1, "s"),
         [&](std::uint16_t t) { expected.push_back(t); });
    quick(make_text(prompt), 70, {.temperature = 0}, nk::stream_of(1, "s"),
          [&](std::uint16_t t) { found.push_back(t); });
    CHECK(found == expected);
    CHECK(found.size() == 70);
  }
}
