// Checkpoint files: what is written comes back, and every damaged file is refused with the reason.
#include "napkin/train/safetensors.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cstring>

#include "napkin/core/error.hpp"
#include "napkin/train/crc32c.hpp"
#include "support/failing_files.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace nk = napkin;

namespace {

std::string with_length(std::uint64_t length, const std::string& rest) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>((length >> (8 * i)) & 0xff);
  return bytes + rest;
}
std::string with_header(const std::string& header, std::size_t data_bytes) {
  return with_length(header.size(), header + std::string(data_bytes, 'd'));
}

const std::array<float, 6> weights = {1, -2, 3.5f, 0, 1e-8f, 6};
const std::array<std::uint16_t, 3> ids = {1, 2, 65535};

void save_example(nk::file_system& files, const std::string& path, std::uint64_t step = 17) {
  const std::vector<nk::tensor_record> tensors = {
      {"blocks.0.up", nk::dtype::f32, {2, 3}, weights.data()},
      {"empty", nk::dtype::bf16, {0, 7}, nullptr},
      {"ids \"quoted\" \xc3\xa9", nk::dtype::u16, {3}, ids.data()},
      {"scalar", nk::dtype::f32, {}, weights.data() + 2},
  };
  nk::save_safetensors(files, path, tensors, {{"step", nk::metadata_text(step)}, {"model", "tiny"}});
}

std::string refusal(const std::string& path, nk::checksums wanted = nk::checksums::if_present) {
  const std::string text = message_of<nk::input_error>(
      [&] { nk::safetensors_file::open(nk::posix_file_system(), path, wanted).verify(); });
  CHECK(text.find('\n') == std::string::npos);
  return text;
}

}  // namespace

TEST_CASE("crc32c: RFC 3720's vectors, and in parts") {
  const auto of = [](const std::string& text, std::uint32_t before = 0) {
    return nk::crc32c(std::as_bytes(std::span(text)), before);
  };
  CHECK(of("") == 0);
  CHECK(of("123456789") == 0xe3069283);
  CHECK(of(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(of(std::string(32, '\xff')) == 0x62a8ab43);
  const std::string text = "the quick brown fox jumps";
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    CHECK(of(text.substr(cut), of(text.substr(0, cut))) == of(text));
}

TEST_CASE("safetensors: what is written comes back") {
  const temporary_folder folder;
  const std::string path = folder / "a.safetensors";
  nk::file_system& files = nk::posix_file_system();
  save_example(files, path);
  CHECK(files_in(folder.path()) == 1);

  const auto file = nk::safetensors_file::open(files, path, nk::checksums::required);
  CHECK(file.verify() == 4);
  CHECK(file.number("step") == 17);
  CHECK(file.text("model") == "tiny");
  REQUIRE(file.entries().size() == 4);
  CHECK(file.entries()[0].begin % 64 == 0);
  CHECK(file.entries()[0].name == "blocks.0.up");

  std::array<float, 6> read{};
  file.read(file.expect("blocks.0.up", nk::dtype::f32, std::array<std::uint64_t, 2>{2, 3}),
            std::as_writable_bytes(std::span(read)));
  CHECK(read == weights);
  std::array<std::uint16_t, 3> read_ids{};
  file.read(*file.find("ids \"quoted\" \xc3\xa9"), std::as_writable_bytes(std::span(read_ids)));
  CHECK(read_ids == ids);
  CHECK(file.find("empty")->bytes() == 0);
  CHECK(file.find("empty")->shape == std::vector<std::uint64_t>{0, 7});
  CHECK(file.find("scalar")->shape.empty());
  CHECK(file.find("absent") == nullptr);

  const auto expect = [&](const char* name, nk::dtype type, std::vector<std::uint64_t> shape) {
    return message_of<nk::input_error>([&] { file.expect(name, type, shape); });
  };
  CHECK_THAT(expect("absent", nk::dtype::f32, {2}),
             Catch::Contains("\"absent\", F32 of shape [2], found none"));
  CHECK_THAT(expect("blocks.0.up", nk::dtype::f16, {2, 3}),
             Catch::Contains("expected F16 of shape [2, 3], found F32 of shape [2, 3]"));
  CHECK_THAT(expect("blocks.0.up", nk::dtype::f32, {3, 2}),
             Catch::Contains("expected F32 of shape [3, 2], found F32 of shape [2, 3]"));
  CHECK_THAT(expect("blocks.0.up", nk::dtype::f32, {2, 3, 1}), Catch::Contains("found F32 of shape [2, 3]"));
  CHECK_THAT(message_of<nk::input_error>([&] { file.text("seed"); }), Catch::Contains("\"seed\""));
  CHECK_THAT(message_of<nk::input_error>([&] { file.number("model"); }),
             Catch::Contains("whole number, found \"tiny\""));
}

TEST_CASE("safetensors: equal contents make equal files, and a step changes no size") {
  const temporary_folder folder;
  nk::file_system& files = nk::posix_file_system();
  save_example(files, folder / "a", 9);
  save_example(files, folder / "b", 9);
  save_example(files, folder / "c", ~std::uint64_t{0});
  CHECK(read_whole(folder / "a") == read_whole(folder / "b"));
  CHECK(read_whole(folder / "a").size() == read_whole(folder / "c").size());
  CHECK(nk::safetensors_file::open(files, folder / "c").number("step") == ~std::uint64_t{0});
}

TEST_CASE("safetensors: a file of another tool, in any order of keys, without checksums") {
  const temporary_folder folder;
  const std::string path =
      folder.write("foreign", with_header(R"({"b":{"data_offsets":[4,6],"shape":[1,2],"dtype":"I8"},)"
                                          R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )",
                                          6));
  const auto file = nk::safetensors_file::open(nk::posix_file_system(), path);
  CHECK(file.entries()[0].name == "a");
  CHECK(file.verify() == 0);
  CHECK_THAT(refusal(path, nk::checksums::required), Catch::Contains("expected a checksum"));

  const std::string none = folder.write("none", with_header("{}", 0));
  CHECK(nk::safetensors_file::open(nk::posix_file_system(), none).entries().empty());
}

TEST_CASE("safetensors: handmade bad files") {
  struct bad {
    std::string bytes;
    const char* expected;
  };
  const auto tensor = [](const std::string& body, std::size_t data = 8) {
    return with_header("{\"w\":{" + body + "}}", data);
  };
  const std::string many_axes = [] {
    std::string text;
    for (int i = 0; i < 32; ++i) text += "1,";
    return text;
  }();
  const std::vector<bad> files = {
      // length
      {"", "0 bytes: it is empty"},
      {"1234567", "7 bytes"},
      {with_length(0, ""), "begins with {"},
      {with_length(100, "{}"), "header of 100 bytes, found 2"},
      {with_length((16u << 20) + 1, "{}"), "at most 16777216"},
      {with_length(~std::uint64_t{0}, "{}"), "18446744073709551615"},
      {with_length(~std::uint64_t{7}, "{}"), "no safetensors file"},
      // JSON
      {with_header("[]", 0), "begins with {"},
      {with_header(" {}", 0), "begins with {"},
      {with_header("{", 0), "not JSON at byte"},
      {with_header("{} x", 0), "not JSON at byte 4"},
      {with_header("{}{}", 0), "not JSON at byte"},
      {with_header(std::string("{}\0 hidden", 10), 0), "zero byte at 2"},
      {with_header("{\"\xff\":{}}", 0), "not JSON at byte"},
      {with_header("{\"w\":1}", 0), "tensor \"w\": expected an object, found the number 1"},
      {with_header("{\"w\":[]}", 0), "found a list"},
      {with_header("{\"w\":null}", 0), "found null"},
      {with_header("{" + std::string(100000, '['), 0), "not JSON"},
      {with_header("{\"w\":" + std::string(100000, '['), 0), "found a list"},
      // keys
      {tensor(R"("shape":[2],"data_offsets":[0,8])"), "tensor \"w\" has no dtype"},
      {tensor(R"("dtype":"F32","data_offsets":[0,8])"), "has no shape"},
      {tensor(R"("dtype":"F32","shape":[2])"), "has no data_offsets"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8],"extra":1)"), "key \"extra\" is not known"},
      {tensor(R"("dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8])"),
       "\"dtype\" stands there twice"},
      {with_header(R"({"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                   R"("w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                   0),
       "tensor \"w\" stands there twice"},
      // dtype
      {tensor(R"("dtype":"F31","shape":[2],"data_offsets":[0,8])"), "found \"F31\", expected one of F64 F32"},
      {tensor(R"("dtype":"","shape":[2],"data_offsets":[0,8])"), "found \"\""},
      {tensor(R"("dtype":"f32\n","shape":[2],"data_offsets":[0,8])"), "found \"f32\\x0a\""},
      {tensor(R"("dtype":32,"shape":[2],"data_offsets":[0,8])"), "expected text, found the number 32"},
      // shape
      {tensor(R"("dtype":"F32","shape":2,"data_offsets":[0,8])"), "\"shape\": expected a list"},
      {tensor(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), "found a negative number"},
      {tensor(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])"), "found the number 2.0"},
      {tensor(R"("dtype":"F32","shape":["2"],"data_offsets":[0,8])"), "found the text \"2\""},
      {tensor(R"("dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,8])"), "below 2^64"},
      {tensor(R"("dtype":"F32","shape":[[2]],"data_offsets":[0,8])"), "found a list"},
      {tensor(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"), "expected 12 bytes for F32 of shape [3]"},
      {tensor(R"("dtype":"F32","shape":[4611686018427387906],"data_offsets":[0,8])"), "exceeds 64 bits"},
      {tensor(R"("dtype":"F32","shape":[4294967296,4294967296,2],"data_offsets":[0,8])"), "exceeds 64 bits"},
      {tensor(R"("dtype":"F32","shape":[)" + many_axes + R"(2],"data_offsets":[0,8])"), "more than 32 axes"},
      // offsets
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0])"), "expected 2 offsets, found 1"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[])"), "expected 2 offsets, found 0"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8,8])"), "expected 2 offsets, found more"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), "end after the beginning"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])", 7), "within 7 bytes of data"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])", 9), "9: bytes belong to no tensor"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[1,9])", 9), "begin at 0"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[18446744073709551608,18446744073709551615])"),
       "within 8 bytes"},
      {with_header(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                   R"("b":{"dtype":"U8","shape":[4],"data_offsets":[3,7]}})",
                   7),
       "tensor \"b\": expected data_offsets to begin at 4"},
      {with_header(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                   R"("b":{"dtype":"U8","shape":[3],"data_offsets":[5,8]}})",
                   8),
       "leave a hole"},
      {with_header("{}", 1), "expected 0 bytes of data, found 1"},
      // metadata
      {with_header(R"({"__metadata__":[]})", 0), "__metadata__: expected an object"},
      {with_header(R"({"__metadata__":{"step":1}})", 0), "__metadata__, key \"step\": expected text"},
      {with_header(R"({"__metadata__":{"a":{}}})", 0), "expected text, found an object"},
      {with_header(R"({"__metadata__":{"a":"1","a":"1"}})", 0), "\"a\" stands there twice"},
      {with_header(R"({"__metadata__":{},"__metadata__":{}})", 0), "\"__metadata__\" stands there twice"},
      {with_header(R"({"__metadata__":{"crc32c":"00000000"}})", 0), "header is damaged: expected checksum"},
      {with_header(R"({"__metadata__":{"crc32c.w":"00000000"},)"
                   R"("w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
                   1),
       "tensor \"w\" is damaged: expected checksum \"00000000\""},
  };
  const temporary_folder folder;
  for (const bad& file : files) {
    const std::string path = folder.write("bad", file.bytes);
    INFO(file.bytes.substr(0, 200));
    CHECK_THAT(refusal(path), Catch::Contains(file.expected) && Catch::StartsWith("\"" + path + "\""));
  }
  CHECK_THAT(refusal(folder.path()), Catch::Contains("not a regular file"));
  CHECK_THAT(refusal(folder / "none"), Catch::Contains("No such file"));
}

TEST_CASE("safetensors: no prefix, no longer file and no flipped bit passes for a checkpoint") {
  const temporary_folder folder;
  save_example(nk::posix_file_system(), folder / "good");
  const std::string good = read_whole(folder / "good");
  REQUIRE(good.size() < 1000);
  const auto passes = [&](const std::string& bytes) {
    const std::string path = folder.write("damaged", bytes);
    return refusal(path, nk::checksums::required) == "nothing was thrown";
  };
  REQUIRE(passes(good));
  std::size_t passed = 0;
  for (std::size_t size = 0; size < good.size(); ++size) passed += passes(good.substr(0, size));
  CHECK(passed == 0);
  CHECK_FALSE(passes(good + '\0'));
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string damaged = good;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    passed += passes(damaged);
  }
  CHECK(passed == 0);
}

TEST_CASE("safetensors: whichever call of a save fails, the old file stays and nothing else is left") {
  const temporary_folder folder;
  const std::string path = folder / "file";
  const std::string old = "old";
  int failures = 0;
  for (int call = 1;; ++call) {
    folder.write("file", old);
    failing_files files;
    files.fail_at = call;
    const std::string text = message_of<nk::error>([&] { save_example(files, path); });
    CHECK(files.opened == 0);
    CHECK(files_in(folder.path()) == 1);
    if (call > files.calls) break;
    // Two calls come too late to keep the old file: closing what was only read, and the folder's sync.
    const std::string& failed = files.log[static_cast<std::size_t>(call) - 1];
    const bool after_reading = failed == "close" && text == "nothing was thrown";
    CHECK((text == "nothing was thrown") == after_reading);
    CHECK((read_whole(path) == old) == !(after_reading || failed == "sync folder"));
    failures += !after_reading;
  }
  CHECK(failures == 19);
  CHECK(nk::safetensors_file::open(nk::posix_file_system(), path, nk::checksums::required).verify() == 4);
}

TEST_CASE("safetensors: what was read back differs, so it never takes the old file's place") {
  class lying_disk : public failing_files {
   public:
    std::int64_t read_at(int file, void* data, std::size_t size, std::uint64_t offset) override {
      const std::int64_t got = failing_files::read_at(file, data, size, offset);
      if (offset > 8 && got == 24) static_cast<char*>(data)[3] ^= 1;  // the 24 bytes of blocks.0.up
      return got;
    }
  };
  const temporary_folder folder;
  folder.write("file", "old");
  lying_disk files;
  CHECK_THAT(message_of<nk::error>([&] { save_example(files, folder / "file"); }),
             Catch::Contains("\"blocks.0.up\" is damaged"));
  CHECK(read_whole(folder / "file") == "old");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("safetensors: a name that ends as the checksum's key is not taken for it") {
  const temporary_folder folder;
  const std::string path = folder / "file";
  const nk::tensor_metadata metadata = {{"a\"crc32c", "whatever"}, {"b", "\"crc32c\":\"12345678\""}};
  nk::save_safetensors(nk::posix_file_system(), path, {}, metadata);
  const auto file = nk::safetensors_file::open(nk::posix_file_system(), path, nk::checksums::required);
  CHECK(file.header_is_intact());
  for (const auto& [key, text] : metadata) CHECK(file.text(key) == text);
}

TEST_CASE("safetensors: records that make no file") {
  const temporary_folder folder;
  const auto save = [&](const std::vector<nk::tensor_record>& tensors, const nk::tensor_metadata& meta = {}) {
    return message_of<nk::error>(
        [&] { nk::save_safetensors(nk::posix_file_system(), folder / "file", tensors, meta); });
  };
  const nk::tensor_record good{"a", nk::dtype::f32, {2}, weights.data()};
  CHECK_THAT(save({good, good}), Catch::Contains("named \"a\""));
  CHECK_THAT(save({{"__metadata__", nk::dtype::f32, {2}, weights.data()}}), Catch::Contains("__metadata__"));
  CHECK_THAT(save({{"\xff", nk::dtype::f32, {2}, weights.data()}}),
             Catch::Contains(R"("\xff" is not UTF-8)"));
  CHECK_THAT(save({}, {{"k\x80", ""}}), Catch::Contains(R"(key "k\x80" is not UTF-8)"));
  CHECK_THAT(save({}, {{"run.data", "caf\xe9"}}),
             Catch::Contains(R"(under the key "run.data" what is not UTF-8: "caf\xe9")"));
  CHECK_THAT(save({{"a", nk::dtype::c128, {1}, weights.data()}}), Catch::Contains("no dtype"));
  CHECK_THAT(save({{"a", nk::dtype::f32, {1ull << 62}, weights.data()}}), Catch::Contains("too large"));
  CHECK(files_in(folder.path()) == 0);
}

TEST_CASE("safetensors: 10,000 mutated headers load soundly or are refused") {
  const std::string header =
      R"({"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("v":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})";
  const std::string pieces = R"({}[]",:-.0123456789eFUI\_ adtfswv)";
  const temporary_folder folder;
  std::uint32_t state = 1;
  const auto random = [&](std::size_t bound) {
    state = state * 1664525u + 1013904223u;
    return static_cast<std::size_t>(state >> 8) % bound;
  };
  int refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string text = header;
    for (std::size_t edits = 1 + random(3); edits > 0; --edits) {
      const std::size_t at = random(text.size());
      switch (random(4)) {
        case 0:
          text[at] = pieces[random(pieces.size())];
          break;
        case 1:
          text.insert(at, 1, pieces[random(pieces.size())]);
          break;
        case 2:
          text.erase(at, 1 + random(4));
          break;
        default: {
          const std::size_t from = random(text.size());  // apart, as the order of arguments is the compiler's
          text.insert(at, text.substr(from, random(30)));
        }
      }
    }
    const std::string path = folder.write("mutated", with_header(text, 11));
    try {
      const auto file = nk::safetensors_file::open(nk::posix_file_system(), path);
      std::uint64_t bytes = 0;
      for (const nk::tensor_entry& entry : file.entries()) bytes += entry.bytes();
      CHECK(bytes == 11);
    } catch (const nk::input_error&) {
      ++refused;
    }
  }
  CHECK(refused > 8'000);
  CHECK(refused < 10'000);
}
