// Suite S9: sound checkpoints of another program. Each is refused in words that name what differs, what was
// expected and what was found; an older checkpoint is not taken instead.
#include <catch2/catch.hpp>
#include <cstdio>
#include <functional>

#include "memory_files.hpp"
#include "napkin/core/error.hpp"
#include "napkin/train/checkpoint_folder.hpp"

namespace nk = napkin;

namespace {

using contents = nk::detail::checkpoint_contents;

float numbers[4096];

contents reference() {
  const auto tensor = [](const char* name, std::vector<std::uint64_t> shape) {
    return nk::tensor_record{name, nk::dtype::f32, std::move(shape), numbers};
  };
  return {{tensor("tokens", {16, 8}), tensor("up.weight", {8, 24}), tensor("up.bias", {24}),
           tensor("square", {8, 8}), tensor("optimizer.moment.tokens", {16, 8}),
           tensor("optimizer.moment.up.weight", {8, 24})},
          "momentum",
          99};
}

std::string text_of(const nk::tensor_record& t) {
  std::string text = std::string(nk::safetensors_name(t.type)) + " of shape [";
  for (std::size_t i = 0; i < t.shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(t.shape[i]);
  return text + "]";
}

std::size_t cases = 0;

/// A checkpoint of `theirs` as the latest of a folder with one of ours: refused with all of these words.
void refused(const contents& theirs, const std::vector<std::string>& words,
             const nk::tensor_metadata& other_numbers = {}) {
  memory_files files;
  nk::checkpoint_folder folder(files, "/run");
  folder.save(reference(), {1, {}, {}});
  const std::string path = folder.save(theirs, {2, {}, {}});
  if (!other_numbers.empty()) {
    nk::tensor_metadata metadata;
    {
      const auto file = nk::safetensors_file::open(files, path);
      metadata = file.metadata();
    }
    for (const auto& [key, text] : other_numbers) metadata[key] = text;
    nk::save_safetensors(files, path, theirs.tensors, metadata);
  }
  std::string text;
  bool mismatched = false;
  try {
    folder.load(reference());
  } catch (const nk::checkpoint_error& problem) {
    text = problem.what();
    mismatched = problem.mismatched;
  }
  INFO(text);
  CHECK(mismatched);
  CHECK_THAT(text, Catch::Contains(path));
  for (const std::string& word : words) CHECK_THAT(text, Catch::Contains(word));
  ++cases;
}

}  // namespace

TEST_CASE("mismatches: sound files of other programs") {
  const contents ours = reference();
  {
    memory_files files;
    nk::checkpoint_folder folder(files, "/run");
    folder.save(ours, {1, {}, {}});
    CHECK(folder.load(ours).state.step == 1);
  }
  for (std::size_t i = 0; i < ours.tensors.size(); ++i) {
    const std::string name = ours.tensors[i].name, expected = text_of(ours.tensors[i]);
    const auto change = [&](const std::function<void(nk::tensor_record&)>& f) {
      contents theirs = ours;
      f(theirs.tensors[i]);
      const std::string found = text_of(theirs.tensors[i]);
      if (theirs.tensors[i].name == name)
        refused(theirs, {"tensor \"" + name + "\"", "expected " + expected, "found " + found});
      else
        refused(theirs, {"expected tensor \"" + name + "\"", expected, "found none"});
    };
    for (const nk::dtype type : {nk::dtype::i32, nk::dtype::f16, nk::dtype::bf16})
      change([&](nk::tensor_record& t) { t.type = type; });
    change([](nk::tensor_record& t) { t.shape[0] += 1; });
    change([](nk::tensor_record& t) { t.shape.push_back(1); });
    change([](nk::tensor_record& t) { t.shape.back() -= 1; });
    if (ours.tensors[i].shape.size() == 2 && name != "square")
      change([](nk::tensor_record& t) { std::swap(t.shape[0], t.shape[1]); });
    change([](nk::tensor_record& t) { t.name += "s"; });
    change([](nk::tensor_record& t) { t.name[0] = 'T'; });

    contents missing = ours;
    missing.tensors.erase(missing.tensors.begin() + static_cast<std::ptrdiff_t>(i));
    refused(missing, {"expected tensor \"" + name + "\"", "found none"});
    contents extra = ours;
    extra.tensors.push_back({name + ".copy", nk::dtype::f32, {3}, numbers});
    refused(extra, {"expected no tensor \"" + name + ".copy\"", "found one", "F32 of shape [3]"});
  }

  contents other = ours;
  for (const char* optimizer : {"sgd", "adamw", "muon", ""}) {
    other.optimizer = optimizer;
    refused(other, {"another optimizer", "expected \"momentum\"", std::string("found \"") + optimizer + '"'});
  }
  // Two axes of one size that change places, or heads that differ: the same shapes, another loss.
  other = ours;
  other.graph = 98;
  refused(other, {"is of another model", "expected 99", "found 98"});
  refused(ours, {"\"checkpoint.version\"", "expected 2", "found 3"}, {{"checkpoint.version", "3"}});
  refused(ours, {"\"checkpoint.version\"", "expected 2", "found 1"}, {{"checkpoint.version", "1"}});
  refused(ours, {"another number of processes", "expected 1", "found 8"}, {{"world.size", "8"}});
  std::printf("mismatches: %zu files\n", cases);
  CHECK(cases == 72);
}
