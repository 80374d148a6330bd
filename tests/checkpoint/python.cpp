// A checkpoint that Python's safetensors has read and written back, with the header in its own order, is gone
// on from; and what this program writes is what version 2 of the format has always been. data/write_back.py
// made the files.
#include <catch2/catch.hpp>

#include "memory_files.hpp"
#include "napkin/core/error.hpp"
#include "napkin/ops/elementwise.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/train/checkpoint.hpp"
#include "napkin/train/checkpoint_bytes.hpp"
#include "support/compare.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"
#include "support/trained_numbers.hpp"

namespace python_test {

namespace nk = napkin;

struct batch : nk::dim<"batch", 2> {};
struct in : nk::dim<"in", 3> {};
struct hidden : nk::dim<"hidden", 4> {};

struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (nk::param<in, hidden>, up), (nk::param<hidden>, down),
                           (nk::param<>, bias));
  constexpr auto loss(nk::input<nk::f32, batch, in> x) const {
    const auto y = nk::dot<"hidden">(nk::dot<"in">(x, up), down) + bias;  // [batch]
    return nk::mean(y * y);
  }
};
using step = nk::train_step<model, nk::adamw>;

// The whole text is a constant of the program.
static_assert(nk::checkpoint_header<step>.starts_with(
    R"("up":{"dtype":"F32","shape":[3,4],"data_offsets":[0,48]},"down":{"dtype":"F32","shape":[4],)"
    R"("data_offsets":[48,64]},"bias":{"dtype":"F32","shape":[],"data_offsets":[64,68]},)"
    R"("optimizer.first_moment.up":{)"));
static_assert(nk::checkpoint_header<step>.ends_with("}}"));
static_assert(nk::checkpoint_schema<step> !=
              nk::detail::schema_of(nk::checkpoint_header<step>, nk::adamw::name, 2));

/// Numbers that are the same on every machine.
void fill(nk::trainer<step>& t) {
  float next = -3;
  const auto set = [&next](const nk::named_memory& m) {
    for (std::size_t k = 0; k < m.count; ++k) m.data[k] = next += 0.125f;
  };
  for (std::size_t i = 0; i < t.parameters; ++i) {
    set(t.value(i));
    for (std::size_t s = 0; s < step::states_of(i); ++s) set(t.state(s, i));
  }
  t.set_steps(123);
}
const nk::tensor_metadata settings = {{"data", "caf\xc3\xa9 \"au lait\"\n"}, {"steps", "1000"}};

std::string data(const char* name) {
  return read_whole(std::string(NAPKIN_SOURCE_DIR) + "/tests/checkpoint/data/" + name);
}

void save(nk::file_system& files, const std::string& path) {
  nk::trainer<step> trainer(nk::seed{1});
  fill(trainer);
  nk::save_checkpoint(files, path, trainer, {5, 124}, settings);
}

}  // namespace python_test

TEST_CASE(
    "python: what this program writes is what it has always written, and as long as the constant says") {
  using namespace python_test;
  memory_files files;
  save(files, "/c");
  CHECK((files.bytes("/c") == data("napkin.safetensors")));
  CHECK(files.bytes("/c").size() ==
        nk::checkpoint_bytes_with<step>({{"data", "caf\xc3\xa9 \"au lait\"\n"}, {"steps", "1000"}}));
  CHECK(files.bytes("/c").find(nk::checkpoint_header<step>) != std::string::npos);
}

TEST_CASE("python: a checkpoint that safetensors wrote back is gone on from, to the same bits") {
  using namespace python_test;
  memory_files files;
  files.put("/ours", data("napkin.safetensors"));
  files.put("/theirs", data("written_back.safetensors"));
  REQUIRE((files.bytes("/ours") != files.bytes("/theirs")));
  nk::trainer<step> ours(nk::seed{1}), theirs(nk::seed{2});
  const nk::run_state a = nk::load_checkpoint(files, "/ours", ours);
  const nk::run_state b = nk::load_checkpoint(files, "/theirs", theirs);
  CHECK(a.settings == settings);
  CHECK(b.settings == settings);
  CHECK(b.step == 123);
  CHECK(b.sampler == nk::sampler_state{5, 124});
  using nk::testing::everything_of;
  CHECK(nk::testing::same_bits(everything_of(theirs), everything_of(ours)));
  const std::vector<float> x = {1, 2, 3, -1, 0.5f, 2};
  for (int i = 0; i < 3; ++i) {
    CHECK(ours.step(1e-2, x).applied);
    CHECK(theirs.step(1e-2, x).applied);
    CHECK(nk::testing::same_bits(everything_of(theirs), everything_of(ours)));
  }
}

TEST_CASE("python: what was changed before it was written back is refused") {
  using namespace python_test;
  const std::string good = data("written_back.safetensors");
  const auto refusal = [](const std::string& bytes) {
    memory_files files;
    files.put("/c", bytes);
    nk::trainer<step> trainer(nk::seed{1});
    return message_of<nk::checkpoint_error>([&] { nk::load_checkpoint(files, "/c", trainer); });
  };
  REQUIRE(refusal(good) == "nothing was thrown");
  std::size_t passed = 0;
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bytes = good;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    passed += refusal(bytes) == "nothing was thrown";
  }
  CHECK(passed == 0);
  CHECK_THAT(refusal(data("weights_changed.safetensors")), Catch::Contains("tensor \"up\" is damaged"));
}

// For data/write_back.py: writes napkin.safetensors into the current folder.
TEST_CASE("python: write the file to be written back", "[.write]") {
  using namespace python_test;
  save(nk::posix_file_system(), "napkin.safetensors");
  nk::trainer<step> expected(nk::seed{1}), found(nk::seed{2});
  fill(expected);
  CHECK(nk::load_checkpoint(nk::posix_file_system(), "napkin.safetensors", found).settings == settings);
  CHECK(nk::testing::same_bits(nk::testing::everything_of(found), nk::testing::everything_of(expected)));
}
