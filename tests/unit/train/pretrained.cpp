// Weights by a table written here: what is refused, by what name and how briefly. Models of other programs:
// tests/parity/huggingface.cpp.
#include "napkin/train/pretrained.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <limits>

#include "napkin/core/error.hpp"
#include "napkin/train/safetensors.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace nk = napkin;

namespace {

struct two_weights {
  std::array<float, 2> up = {1.5f, -2};
  float bias = 3;

  std::array<nk::named_memory, 2> memories() {
    return {nk::named_memory{"up", nk::shape{2}, up.data(), 2},
            nk::named_memory{"bias", nk::shape{}, &bias, 1}};
  }
};
nk::weight_map names() {
  nk::weight_map map;
  map.names = {{"up", "up"}, {"bias", "bias"}};
  map.config = {{"layers", "2", true}};
  return map;
}

std::string loading(const std::string& path, two_weights& weights) {
  const auto memories = weights.memories();
  return message_of<nk::input_error>(
      [&] { nk::load_weights(nk::posix_file_system(), path, names(), memories); });
}
void save(const std::string& folder, two_weights weights, nk::dtype type = nk::dtype::f32) {
  const auto memories = weights.memories();
  nk::save_weights(nk::posix_file_system(), folder, names(), memories, type);
}

}  // namespace

TEST_CASE("pretrained: what config.json says is told in few words, however long and deep it is") {
  const temporary_folder folder;
  two_weights weights;
  save(folder.path(), weights);
  REQUIRE(loading(folder.path(), weights) == "nothing was thrown");
  const auto with = [&](const std::string& value) {
    folder.write("config.json", "{\"layers\":" + value + "}");
    return loading(folder.path(), weights);
  };
  CHECK_THAT(with("3"), Catch::EndsWith("config.json: layers is 3, the model's 2"));
  CHECK_THAT(with("\"\\u001b[31m\""), Catch::EndsWith(R"(layers is "\x1b[31m", the model's 2)"));
  CHECK_THAT(with("[[2]]"), Catch::EndsWith("layers is a list, the model's 2"));
  CHECK_THAT(with("{\"2\":2}"), Catch::EndsWith("layers is an object, the model's 2"));
  CHECK(with('"' + std::string(100'000, 'x') + '"').size() < 400 + folder.path().size());
  for (const std::size_t deep : {std::size_t{100}, std::size_t{500'000}})
    CHECK_THAT(with(std::string(deep, '[') + std::string(deep, ']')),
               Catch::Contains("config.json\": expected a JSON object"));
}

TEST_CASE("pretrained: of thousands of things that do not fit the first hundred are said") {
  const temporary_folder folder;
  std::vector<nk::tensor_record> records;
  for (int i = 0; i < 30'000; ++i)
    records.push_back({"tensor." + std::to_string(i), nk::dtype::f32, {0}, nullptr});
  const std::string path = folder / "m.safetensors";
  nk::save_safetensors(nk::posix_file_system(), path, records, {});
  two_weights weights;
  const std::string text = loading(path, weights);
  CHECK_THAT(text,
             Catch::Contains("does not fit the model, 30002 things: tensor \"up\": expected shape [2]"));
  CHECK_THAT(text, Catch::EndsWith("is none of the model's; and 29902 more"));
  CHECK(text.size() < 20'000);
}

TEST_CASE("pretrained: a number that the type written has not is refused, not made infinite") {
  const temporary_folder folder;
  two_weights weights;
  weights.bias = 65'520;  // halfway to the number behind the last of f16
  CHECK_THAT(message_of<nk::error>([&] { save(folder / "f16", weights, nk::dtype::f16); }),
             Catch::Contains("parameter \"bias\" has the number 65520, which is infinite in f16"));
  CHECK(files_in(folder / "f16") == 0);
  CHECK_NOTHROW(save(folder / "bf16", weights, nk::dtype::bf16));
  weights.bias = std::numeric_limits<float>::max();
  CHECK_THAT(message_of<nk::error>([&] { save(folder / "bf16", weights, nk::dtype::bf16); }),
             Catch::Contains("\"bias\" has the number 3.40282e+38, which is infinite in bf16"));
  CHECK_NOTHROW(save(folder / "f32", weights));
  weights.bias = std::numeric_limits<float>::infinity();  // is what it was
  CHECK_NOTHROW(save(folder / "f16", weights, nk::dtype::f16));
}

// docs/checkpoints.md: of changed numbers under old checksums nothing tells that they are not damaged.
TEST_CASE("pretrained: changed numbers are read where no checksum is that of others") {
  const temporary_folder folder;
  two_weights weights;
  const std::string path = folder / "model.safetensors";
  save(folder.path(), weights);
  std::string bytes = read_whole(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  folder.write("model.safetensors", bytes);
  CHECK_THAT(loading(path, weights), Catch::Contains("is damaged: expected checksum"));
  const std::string header = R"({"up":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                             R"("bias":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})";
  folder.write("model.safetensors", std::string{static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0} +
                                        header + bytes.substr(bytes.size() - 12));
  REQUIRE(loading(path, weights) == "nothing was thrown");
  CHECK(weights.up == two_weights{}.up);
  CHECK(weights.bias != two_weights{}.bias);
}
