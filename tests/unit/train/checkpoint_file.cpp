// A checkpoint comes back as it was saved; what is damaged, or another model's, is refused and changes
// nothing.
#include "napkin/train/checkpoint_file.hpp"

#include <catch2/catch.hpp>

#include "napkin/core/error.hpp"
#include "napkin/graph/builder.hpp"
#include "support/failing_files.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace nk = napkin;

namespace {

struct small_run {
  std::vector<float> weight = {1, 2, 3, 4, 5, 6}, moment = {7, 8, 9, 10, 11, 12};

  nk::detail::checkpoint_contents contents() const {
    return {{{"up.weight", nk::dtype::f32, {2, 3}, weight.data()},
             {"optimizer.moment.up.weight", nk::dtype::f32, {2, 3}, moment.data()}},
            "adamw",
            99};
  }
};

const nk::run_state state_saved{17, {5, 18}, {{"steps", "100"}, {"data", "a \"name\""}}};

std::string saved(const temporary_folder& folder) {
  const std::string path = folder / "c.safetensors";
  nk::detail::save_contents(nk::posix_file_system(), path, small_run{}.contents(), state_saved);
  return path;
}

/// The message with which contents that differ by `change` are refused; the run stays as it was.
template <class Change>
std::string refusal(const std::string& path, Change change) {
  small_run run;
  run.weight.assign(6, -1);
  run.moment.assign(6, -1);
  auto contents = run.contents();
  change(contents);
  const std::string text = message_of<nk::input_error>(
      [&] { nk::detail::load_contents(nk::posix_file_system(), path, contents); });
  CHECK(text.find('\n') == std::string::npos);
  CHECK(run.weight == std::vector<float>(6, -1));
  CHECK(run.moment == std::vector<float>(6, -1));
  return text;
}

}  // namespace

TEST_CASE("checkpoint file: what is saved comes back") {
  const temporary_folder folder;
  const std::string path = saved(folder);
  small_run run;
  run.weight.assign(6, 0);
  run.moment.assign(6, 0);
  const nk::run_state state = nk::detail::load_contents(nk::posix_file_system(), path, run.contents());
  CHECK(run.weight == small_run{}.weight);
  CHECK(run.moment == small_run{}.moment);
  CHECK(state.step == 17);
  CHECK(state.sampler == state_saved.sampler);
  CHECK(state.settings == state_saved.settings);
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("checkpoint file: another program's file is refused, with the reason") {
  const temporary_folder folder;
  const std::string path = saved(folder);
  using contents = nk::detail::checkpoint_contents;
  using Catch::Matchers::Contains;
  CHECK_THAT(refusal(path, [](contents& c) { c.optimizer = "sgd"; }), Contains("adamw") && Contains("sgd"));
  CHECK_THAT(refusal(path, [](contents& c) { c.graph = 98; }), Contains("another model"));
  CHECK_THAT(refusal(path, [](contents& c) { c.tensors[0].name = "down.weight"; }), Contains("down.weight"));
  CHECK_THAT(refusal(path, [](contents& c) { c.tensors[0].shape = {3, 2}; }), Contains("up.weight"));
  CHECK_THAT(refusal(path, [](contents& c) { c.tensors[1].type = nk::dtype::i32; }), Contains("moment"));
  CHECK_THAT(refusal(path, [](contents& c) { c.tensors.pop_back(); }), Contains("expected no tensor"));
  CHECK_THAT(refusal(folder / "none", [](contents&) {}), Contains("none"));

  nk::save_safetensors(nk::posix_file_system(), path, {}, {});
  CHECK_THAT(refusal(path, [](contents&) {}), Contains("no checkpoint"));
}

TEST_CASE("checkpoint file: every flipped byte and every cut is refused, and changes nothing") {
  const temporary_folder folder;
  const std::string path = saved(folder);
  const std::string bytes = read_whole(path);
  REQUIRE(bytes.size() > 100);
  std::size_t accepted = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    folder.write("c.safetensors", damaged);
    accepted += refusal(path, [](nk::detail::checkpoint_contents&) {}) == "nothing was thrown";
    if (i % 7 != 0) continue;
    folder.write("c.safetensors", bytes.substr(0, i));
    accepted += refusal(path, [](nk::detail::checkpoint_contents&) {}) == "nothing was thrown";
  }
  CHECK(accepted == 0);
}

TEST_CASE("checkpoint file: a call that fails while loading changes nothing") {
  const temporary_folder folder;
  const std::string path = saved(folder);
  bool loaded = false;
  for (int at = 1; !loaded; ++at) {
    REQUIRE(at < 1000);
    failing_files files;
    files.fail_at = at;
    small_run run;
    run.weight.assign(6, -1);
    try {
      nk::detail::load_contents(files, path, run.contents());
      loaded = files.calls < at;
      CHECK(run.weight == small_run{}.weight);
    } catch (const nk::error&) {
      CHECK(run.weight == std::vector<float>(6, -1));
    }
  }
}

TEST_CASE("checkpoint file: the checksum of a graph sees operations, shapes and constants") {
  const auto checksum = [](double value, std::size_t size, nk::op o) {
    nk::builder b;
    const int x = b.input(0, nk::dtype::f32, {size});
    b.output(b.binary(o, x, b.constant(value, nk::dtype::f32, {size})));
    return nk::detail::checksum_of(b.view());
  };
  const std::uint64_t base = checksum(2, 3, nk::op::add);
  CHECK(base == checksum(2, 3, nk::op::add));
  CHECK(base != checksum(2.5, 3, nk::op::add));
  CHECK(base != checksum(2, 4, nk::op::add));
  CHECK(base != checksum(2, 3, nk::op::mul));
}
