// GPT-2 and Llama of Hugging Face's transformers, from its own files: the same logits, loss and gradients,
// and the files come back. tests/parity/generate_huggingface.py recorded them.
#include "napkin/train/huggingface.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>

#include "catch.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/train/predictor.hpp"
#include "napkin/train/trainer.hpp"
#include "support/compare.hpp"
#include "support/message_of.hpp"
#include "support/parity_file.hpp"
#include "support/temporary_folder.hpp"

namespace nk = napkin;
using namespace napkin::testing;

namespace {

struct config {
  struct batch : nk::dim<"batch", 2> {};
  struct seq : nk::dim<"seq", 8> {};
  struct vocab : nk::dim<"vocab", 48> {};
  struct embed : nk::dim<"embed", 16> {};
  struct ffn : nk::dim<"ffn", 24> {};
  static constexpr std::size_t layers = 2;
};
struct gpt2_config : config {
  struct heads : nk::dim<"heads", 4> {};
  struct hidden : nk::dim<"hidden", 4> {};
};
struct llama_config : config {
  struct kv_heads : nk::dim<"kv_heads", 2> {};
  struct group : nk::dim<"group", 2> {};
  struct hidden : nk::dim<"hidden", 6> {};
  static constexpr double norm_epsilon = 1e-6;
  static constexpr std::size_t rotary_base = 500'000;
  using token = nk::i32;
};
using gpt2 = nk::nn::gpt<gpt2_config>;
using llama = nk::nn::llama<llama_config>;
template <class Model>
using trainer_of = nk::trainer<nk::train_step<Model, nk::adamw>>;

const std::string tiny_models = NAPKIN_SOURCE_DIR "/examples/data/tiny_";

std::vector<nk::named_memory> memories(std::size_t count, const auto& of) {
  std::vector<nk::named_memory> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(of(i));
  return all;
}

// A file's tensors whose names begin so, as bytes by name.
std::map<std::string, std::vector<std::byte>> tensors_of(const nk::safetensors_file& file,
                                                         const std::string& prefix = "") {
  std::map<std::string, std::vector<std::byte>> all;
  for (const nk::tensor_entry& entry : file.entries()) {
    if (!entry.name.starts_with(prefix)) continue;
    std::vector<std::byte> bytes(entry.bytes());
    file.read(entry, bytes);
    all[entry.name.substr(prefix.size())] = bytes;
  }
  return all;
}

// torch.testing.assert_close of float32.
double worst_excess(std::span<const float> ours, const std::vector<double>& theirs) {
  if (ours.size() != theirs.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < ours.size(); ++i)
    worst = nk::testing::worst_of(
        worst, std::abs(static_cast<double>(ours[i]) - theirs[i]) / (1e-5 + 1.3e-6 * std::abs(theirs[i])));
  return worst;
}

template <class Model>
void check_model(const std::string& name) {
  using token = typename Model::token;
  const std::string folder = tiny_models + name;
  const parity_file reference("huggingface_" + name);
  trainer_of<Model> trained(nk::seed{1}, {.clip_norm = 0});
  nk::load_pretrained(folder, trained);

  const std::vector<double> tokens = reference["tokens"], targets = reference["targets"];
  std::vector<token> x, y;
  for (const double t : tokens) x.push_back(static_cast<token>(t));
  for (const double t : targets) y.push_back(static_cast<token>(t));
  nk::predictor<Model, &Model::logits> predict(trained.value_pointers());
  const double logits = worst_excess(predict(x), reference["logits"]);
  CHECK(logits <= 1);

  const temporary_folder out;
  nk::save_pretrained(out / "back", trained);
  const auto original = nk::safetensors_file::open(nk::posix_file_system(), folder + "/model.safetensors");
  const auto back = nk::safetensors_file::open(nk::posix_file_system(), out / "back/model.safetensors");
  CHECK(back.text("format") == "pt");
  auto expected = tensors_of(original);
  if (name == "gpt2")
    expected["transformer.wpe.weight"].resize(8 * 16 * sizeof(float));  // the model's positions
  CHECK(tensors_of(back) == expected);
  trainer_of<Model> again(nk::seed{2});
  nk::load_pretrained(out / "back", again);  // its config.json too
  for (std::size_t i = 0; i < trained.parameters; ++i)
    CHECK(std::equal(again.value(i).data, again.value(i).data + again.value(i).count, trained.value(i).data));

  // Gradients under the same names, through the same map.
  std::vector<nk::tensor_record> records;
  const auto recorded = nk::safetensors_file::open(
      nk::posix_file_system(), NAPKIN_SOURCE_DIR "/tests/parity/data/huggingface_" + name + ".safetensors");
  const auto gradients = tensors_of(recorded, "gradient.");
  for (const auto& [path, bytes] : gradients)
    records.push_back({path, nk::dtype::f32, recorded.find("gradient." + path)->shape, bytes.data()});
  nk::save_safetensors(nk::posix_file_system(), out / "gradients.safetensors", records, {});
  const auto theirs = memories(again.parameters, [&](std::size_t i) { return again.value(i); });
  nk::load_weights(nk::posix_file_system(), out / "gradients.safetensors", nk::pretrained<Model>::map(),
                   theirs);

  const nk::step_result r = trained.step(1e-3, x, y);
  const double loss = worst_excess(std::span(&r.loss, 1), reference["loss"]);
  CHECK(loss <= 1);
  double worst = 0;
  for (std::size_t i = 0; i < trained.parameters; ++i) {
    const nk::named_memory ours = trained.gradient(i);
    INFO("gradient of " << ours.name);
    const double excess =
        worst_excess({ours.data, ours.count}, {theirs[i].data, theirs[i].data + theirs[i].count});
    CHECK(excess <= 1);
    worst = std::max(worst, excess);
  }
  std::printf("%s of transformers: logits %.2f, loss %.2f, gradients %.2f of what assert_close allows\n",
              name.c_str(), logits, loss, worst);
}

template <class Model>
std::string refusal(const std::string& path) {
  trainer_of<Model> t(nk::seed{1});
  const float before = t.value(0).data[0];
  const std::string text = message_of<nk::input_error>([&] { nk::load_pretrained(path, t); });
  CHECK(t.value(0).data[0] == before);
  CHECK(text.find('\n') == std::string::npos);
  return text;
}

struct wrong_config : gpt2_config {
  struct heads : nk::dim<"heads", 2> {};
  struct hidden : nk::dim<"hidden", 8> {};
  struct ffn : nk::dim<"ffn", 32> {};
  static constexpr std::size_t layers = 3;
  static constexpr double norm_epsilon = 1e-6;
};

}  // namespace

TEST_CASE("GPT-2 of transformers: logits, loss, gradients, and back") { check_model<gpt2>("gpt2"); }
TEST_CASE("Llama of transformers: logits, loss, gradients, and back") { check_model<llama>("llama"); }

TEST_CASE("weights that do not fit: all is said at once, and nothing is changed") {
  using Catch::Contains;
  const std::string text = refusal<nk::nn::gpt<wrong_config>>(tiny_models + "gpt2");
  // Two of the three layers have two matrices and a bias of another size; the third has none of twelve
  // tensors.
  CHECK_THAT(text, Contains("does not fit the model, 20 things: "));
  CHECK_THAT(text,
             Contains("config.json: n_head is 4, the model's 2; config.json: layer_norm_epsilon is 1e-05, "
                      "the model's 1e-06"));
  CHECK_THAT(text,
             Contains("tensor \"transformer.h.1.mlp.c_fc.weight\": expected shape [16, 32], found [16, 24]"));
  CHECK_THAT(text,
             Contains("tensor \"transformer.h.2.attn.c_attn.weight\": expected shape [16, 48], found none"));
  const std::string other = refusal<gpt2>(tiny_models + "llama");
  CHECK_THAT(other, Contains("model_type is \"llama\", the model's \"gpt2\""));
  CHECK_THAT(other, Contains("tensor \"model.norm.weight\" of shape [16] is none of the model's"));
  CHECK_THAT(refusal<gpt2>("nowhere"), Contains("no such file or folder"));
}

TEST_CASE("weights in bf16, in two files, without the prefix, with buffers and a tied head") {
  const temporary_folder out;
  nk::file_system& files = nk::posix_file_system();
  trainer_of<gpt2> t(nk::seed{1}), other(nk::seed{2});
  nk::load_pretrained(tiny_models + "gpt2", t);
  nk::save_pretrained(out / "bf16", t, nk::dtype::bf16);
  nk::load_pretrained(out / "bf16", other);
  for (std::size_t i = 0; i < t.parameters; ++i)
    for (std::size_t k = 0; k < t.value(i).count; ++k)
      CHECK(other.value(i).data[k] == static_cast<float>(static_cast<nk::bf16>(t.value(i).data[k])));

  const auto file = nk::safetensors_file::open(files, tiny_models + "gpt2/model.safetensors");
  const auto tensors = tensors_of(file);
  const auto split = [&](const std::string& folder, const std::vector<float>& head) {
    std::vector<nk::tensor_record> parts[2];
    for (const auto& [name, bytes] : tensors)
      parts[name.find("h.1") != std::string::npos].push_back(
          {name.substr(12), nk::dtype::f32, file.find(name)->shape, bytes.data()});
    const std::vector<float> mask(64);
    parts[1].push_back({"h.1.attn.bias", nk::dtype::f32, {1, 1, 8, 8}, mask.data()});
    parts[1].push_back({"lm_head.weight", nk::dtype::f32, {48, 16}, head.data()});
    nk::make_folders(files, out / folder);
    for (const int i : {0, 1})
      nk::save_safetensors(files,
                           out / (folder + "/model-0000" + std::to_string(i + 1) + "-of-00002.safetensors"),
                           parts[i], {});
  };
  std::vector<float> head(48 * 16);
  std::memcpy(head.data(), tensors.at("transformer.wte.weight").data(), head.size() * sizeof(float));
  split("two", head);
  trainer_of<gpt2> read(nk::seed{3});
  nk::load_pretrained(out / "two", read);
  for (std::size_t i = 0; i < t.parameters; ++i)
    CHECK(std::equal(read.value(i).data, read.value(i).data + read.value(i).count, t.value(i).data));
  head[5] += 1;
  split("untied", head);
  CHECK_THAT(refusal<gpt2>(out / "untied"),
             Catch::Contains("\"lm_head.weight\" is not \"transformer.wte.weight\", to which"));
}

TEST_CASE("a Llama whose head is the embedding is read; what is there is not overwritten by another model") {
  const temporary_folder out;
  nk::file_system& files = nk::posix_file_system();
  const auto file = nk::safetensors_file::open(files, tiny_models + "llama/model.safetensors");
  const auto tensors = tensors_of(file);
  std::vector<nk::tensor_record> kept;
  for (const auto& [name, bytes] : tensors)
    if (name != "lm_head.weight")
      kept.push_back({name, nk::dtype::f32, file.find(name)->shape, bytes.data()});
  nk::save_safetensors(files, out / "tied.safetensors", kept, {});
  trainer_of<llama> t(nk::seed{1});
  nk::load_pretrained(out / "tied.safetensors", t);
  const nk::named_memory tokens = t.value(0), head = t.value(t.parameters - 1);
  REQUIRE(head.name == "head");
  for (std::size_t v = 0; v < 48; ++v)
    for (std::size_t e = 0; e < 16; ++e) CHECK(head.data[e * 48 + v] == tokens.data[v * 16 + e]);

  std::filesystem::copy(tiny_models + "gpt2", out / "gpt2");
  const std::string before = read_whole(out / "gpt2/model.safetensors");
  CHECK_THAT(message_of<nk::input_error>([&] { nk::save_pretrained(out / "gpt2", t); }),
             Catch::Contains("model_type is \"gpt2\", the model's \"llama\""));
  CHECK(read_whole(out / "gpt2/model.safetensors") == before);
}
