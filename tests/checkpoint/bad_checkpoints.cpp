// Suite S5, its half of checkpoints: files made by hand, each wrong in one way, with right checksums where
// they are not what is wrong. Each is refused with its own reason, and nothing is changed.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>

#include "header_bytes.hpp"
#include "memory_files.hpp"
#include "napkin/core/error.hpp"
#include "napkin/train/checkpoint_file.hpp"
#include "support/message_of.hpp"

namespace nk = napkin;

namespace {

const float values[2] = {1.5f, -2};
const std::string data = [] {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), values, 8);
  return bytes;
}();

const std::string w = R"("w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";

std::string digits(std::uint64_t number) { return nk::metadata_text(number); }

/// The metadata of a sound checkpoint of `w`, with `from` replaced by `to`.
std::string metadata(const std::string& from = "", const std::string& to = "") {
  std::string text = R"("checkpoint.version":")" + digits(2) + R"(","crc32c":"00000000","crc32c.w":")" +
                     checksum_text(data) + R"(","finite":")" + digits(1) + R"(","graph":")" + digits(99) +
                     R"(","optimizer":"sgd","sampler.seed":")" + digits(5) + R"(","sampler.step":")" +
                     digits(3) + R"(","schema":")" + digits(nk::detail::schema_of("", "sgd", 1)) +
                     R"(","step":")" + digits(3) + R"(","world.size":")" + digits(1) + "\"";
  if (!from.empty()) {
    const std::size_t at = text.find(from);
    if (at == std::string::npos) throw std::logic_error("no " + from);
    text.replace(at, from.size(), to);
  }
  return text;
}
std::string with(const std::string& meta, const std::string& tensors, const std::string& bytes = data) {
  return sealed("{\"__metadata__\":{" + meta + "}" + (tensors.empty() ? "" : ",") + tensors + "}", bytes);
}
/// `w` with another body.
std::string tensor(const std::string& body, const std::string& bytes = data) {
  return with(metadata(), "\"w\":{" + body + "}", bytes);
}
std::string header(const std::string& text) { return length_bytes(text.size()) + text; }

/// `header`: of the tensors, as a program has it as a constant.
std::string refusal(const std::string& bytes, std::string_view header = {}) {
  memory_files files;
  files.put("/c", bytes);
  float read[2] = {7, 7};
  const nk::detail::checkpoint_contents contents{{{"w", nk::dtype::f32, {2}, read}}, "sgd", 99, header};
  const std::string text =
      message_of<nk::checkpoint_error>([&] { nk::detail::load_contents(files, "/c", contents); });
  CHECK(files.open_files() == 0);
  if (text != "nothing was thrown") CHECK((read[0] == 7 && read[1] == 7));
  return text;
}

struct bad {
  std::string bytes;
  const char* expected;
};

const std::vector<bad>& of_length() {
  static const std::vector<bad> files = {
      {"", "0 bytes: it is empty"},
      {"\x01", "1 bytes"},
      {"1234567", "7 bytes"},
      {length_bytes(0), "begins with {"},
      {length_bytes(1), "header of 1 bytes, found 0"},
      {length_bytes(2) + "{", "header of 2 bytes, found 1"},
      {length_bytes(100) + "{}", "header of 100 bytes, found 2"},
      {length_bytes((16u << 20) + 1) + "{}", "at most 16777216"},
      {length_bytes(std::uint64_t{1} << 32) + "{}", "found a length of 4294967296"},
      {length_bytes(std::uint64_t{1} << 63) + "{}", "found a length of 9223372036854775808"},
      {length_bytes(~std::uint64_t{0}) + "{}", "18446744073709551615"},
      {length_bytes(~std::uint64_t{7}) + "{}", "no safetensors file"},
      {std::string("\0\0\0\0\0\0\0\x02{}", 10), "found a length of 144115188075855872"},  // big-endian
  };
  return files;
}

const std::vector<bad>& of_json() {
  static const std::vector<bad> files = {
      {header("[]"), "begins with {"},
      {header(" {}"), "begins with {"},
      {header("null"), "begins with {"},
      {header("\xef\xbb\xbf{}"), "begins with {"},
      {header("{}"), "expected a checksum"},
      {header("{\"__metadata__\":{}}"), "expected a checksum"},
      {sealed("{\"__metadata__\":{\"crc32c\":\"00000000\"}", ""), "not JSON at byte"},
      {sealed("{\"__metadata__\":{\"crc32c\":\"00000000\"}}x", ""), "not JSON at byte"},
      {sealed("{\"__metadata__\":{\"crc32c\":\"00000000\"}}{}", ""), "not JSON at byte"},
      {sealed("{\"__metadata__\":{\"crc32c\":\"00000000\"},}", ""), "not JSON at byte"},
      {sealed("{\"__metadata__\":{\"crc32c\":\"00000000\",'a':'b'}}", ""), "not JSON at byte"},
      {sealed("{\"__metadata__\":{\"crc32c\":\"00000000\"}/* */}", ""), "not JSON at byte"},
      {sealed(std::string("{\"__metadata__\":{\"crc32c\":\"00000000\"}}\0 ", 41), ""), "zero byte at"},
      {sealed("{\"__metadata__\":{\"crc32c\":\"00000000\"},\"\xff\":{}}", ""), "not JSON at byte"},
      {with(metadata(), "\"w\":1"), "tensor \"w\": expected an object, found the number 1"},
      {with(metadata(), "\"w\":[]"), "found a list"},
      {with(metadata(), "\"w\":null"), "found null"},
      {with(metadata(), "\"w\":\"F32\""), "found the text"},
      {with(metadata(), "\"w\":" + std::string(100000, '[')), "found a list"},
      {with(metadata(), "\"w\":" + std::string(100000, '{')), "not JSON"},
  };
  return files;
}

const std::vector<bad>& of_shapes() {
  const auto body = [](const std::string& shape, const std::string& offsets) {
    return R"("dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets;
  };
  std::string ones = "[";
  for (int i = 0; i < 32; ++i) ones += "1,";
  static const std::vector<bad> files = {
      {tensor(body("[2]", "[0]")), "expected 2 offsets, found 1"},
      {tensor(body("[2]", "[]")), "expected 2 offsets, found 0"},
      {tensor(body("[2]", "[0,8,8]")), "expected 2 offsets, found more"},
      {tensor(body("[2]", "8")), "expected a list"},
      {tensor(body("[2]", "[8,0]")), "end after the beginning"},
      {tensor(body("[2]", "[-8,0]")), "found a negative number"},
      {tensor(body("[2]", "[0,8.0]")), "found the number 8.0"},
      {tensor(body("[2]", "[0,\"8\"]")), "found the text"},
      {tensor(body("[2]", "[0,[8]]")), "found a list"},
      {tensor(body("[2]", "[0,8]"), data.substr(1)), "within 7 bytes of data"},
      {tensor(body("[2]", "[0,8]"), data + "x"), "bytes belong to no tensor"},
      {tensor(body("[2]", "[1,9]"), data + "x"), "begin at 0"},
      {tensor(body("[2]", "[18446744073709551608,18446744073709551615]")), "within 8 bytes"},
      {tensor(body("[2]", "[18446744073709551616,18446744073709551624]")), "below 2^64"},
      {tensor(body("[3]", "[0,8]")), "expected 12 bytes for F32 of shape [3]"},
      {tensor(body("[]", "[0,8]")), "expected 4 bytes for F32 of shape []"},
      {tensor(body("[0]", "[0,8]")), "expected 0 bytes"},
      {tensor(body("[4611686018427387906]", "[0,8]")), "exceeds 64 bits"},
      {tensor(body("[4294967296,4294967296,2]", "[0,8]")), "exceeds 64 bits"},
      {tensor(body("[18446744073709551616]", "[0,8]")), "below 2^64"},
      {tensor(body("[-2]", "[0,8]")), "found a negative number"},
      {tensor(body("[2.5]", "[0,8]")), "found the number 2.5"},
      {tensor(body("[[2]]", "[0,8]")), "found a list"},
      {tensor(body("[true]", "[0,8]")), "found true or false"},
      {tensor(body("2", "[0,8]")), "\"shape\": expected a list"},
      {tensor(body(ones + "2]", "[0,8]")), "more than 32 axes"},
      {with(metadata(), w + R"(,"v":{"dtype":"F32","shape":[1],"data_offsets":[4,8]})"), "overlap or leave"},
      {with(metadata(), w + R"(,"v":{"dtype":"F32","shape":[1],"data_offsets":[9,13]})", data + "12345"),
       "leave a hole"},
  };
  return files;
}

const std::vector<bad>& of_names() {
  const std::string rest = R"("shape":[2],"data_offsets":[0,8])";
  static const std::vector<bad> files = {
      {tensor(rest), "has no dtype"},
      {tensor(R"("dtype":"F32","data_offsets":[0,8])"), "has no shape"},
      {tensor(R"("dtype":"F32","shape":[2])"), "has no data_offsets"},
      {tensor(R"("dtype":"F32","extra":1,)" + rest), "\"extra\" is not known"},
      {tensor(R"("dtype":"F32","dtype":"F32",)" + rest), "\"dtype\" stands there twice"},
      {tensor(R"("dtype":"F32","shape":[2],)" + rest), "\"shape\" stands there twice"},
      {tensor(R"("dtype":"F32","data_offsets":[0,8],)" + rest), "\"data_offsets\" stands there twice"},
      {tensor(R"("dtype":"F31",)" + rest), "found \"F31\", expected one of"},
      {tensor(R"("dtype":"f32",)" + rest), "found \"f32\""},
      {tensor(R"("dtype":"",)" + rest), "found \"\""},
      {tensor(R"("dtype":32,)" + rest), "expected text, found the number 32"},
      {tensor(R"("dtype":"F32\u001b[31m",)" + rest), "found \"F32\\x1b[31m\""},
      {with(metadata(), w + "," + w), "stands there twice"},
      {with(metadata(), ""), "belong to no tensor"},
      {with(metadata(), "", ""), "expected tensor \"w\""},
      {with(metadata("crc32c.w", "crc32c.W"), R"("W":{"dtype":"F32",)" + rest + "}"),
       "expected tensor \"w\""},
      {tensor(R"("dtype":"I32",)" + rest), "expected F32 of shape [2], found I32 of shape [2]"},
      {tensor(R"("dtype":"F64","shape":[1],"data_offsets":[0,8])"), "found F64 of shape [1]"},
      {tensor(R"("dtype":"F32","shape":[1,2],"data_offsets":[0,8])"), "found F32 of shape [1, 2]"},
  };
  return files;
}

const std::vector<bad>& of_metadata() {
  static const std::vector<bad> files = {
      {sealed("{\"__metadata__\":[\"crc32c\",\"\"]}", ""), "expected a checksum"},
      {with(metadata("\"step\":\"" + digits(3) + '"', "\"step\":3"), w), "key \"step\": expected text"},
      {with(metadata("\"optimizer\":\"sgd\"", "\"optimizer\":{}"), w), "expected text, found an object"},
      {with(metadata() + ",\"step\":\"1\"", w), "\"step\" stands there twice"},
      {with(metadata(), "\"__metadata__\":{}," + w), "\"__metadata__\" stands there twice"},
      {with(metadata("\"checkpoint.version\":\"" + digits(2) + "\",", ""), w), "no checkpoint of a run"},
      {with(metadata(digits(2), digits(1)), w), "expected 2 for \"checkpoint.version\", found 1"},
      {with(metadata(digits(2), digits(3)), w), "expected 2 for \"checkpoint.version\", found 3"},
      {with(metadata(digits(2), "two"), w), "whole number, found \"two\""},
      {with(metadata("\"step\":\"" + digits(3) + "\",", ""), w), "expected the key \"step\""},
      {with(metadata("\"step\":\"" + digits(3), "\"step\":\"-3"), w), "whole number, found \"-3\""},
      {with(metadata("\"step\":\"" + digits(3), "\"step\":\"9223372036854775807"), w), "which cannot be"},
      {with(metadata("\"step\":\"" + digits(3), "\"step\":\"9223372036854775808"), w), "which cannot be"},
      {with(metadata("\"step\":\"" + digits(3), "\"step\":\"99999999999999999999"), w), "whole number"},
      {with(metadata("\"sampler.seed\"", "\"sampler.salt\""), w), "expected the key \"sampler.seed\""},
      {with(metadata("\"finite\"", "\"final\""), w), "expected the key \"finite\""},
      {with(metadata("\"optimizer\"", "\"loss_scale.bits\":\"" + digits(0x3f800000) +
                                          R"(","loss_scale.good_steps":"9223372036854775807","optimizer")"),
            w),
       "a number that cannot be"},
      {with(metadata("\"sgd\"", "\"adamw\""), w), "expected \"sgd\", found \"adamw\""},
      {with(metadata("\"world.size\":\"" + digits(1), "\"world.size\":\"" + digits(8)), w), "found 8"},
      {with(metadata(digits(99), digits(98)), w), "is of another model"},
  };
  return files;
}

const std::vector<bad>& of_checksums() {
  std::string torn = with(metadata(), w);
  torn.back() = static_cast<char>(torn.back() ^ 1);
  std::string renamed = with(metadata(), w);
  renamed.replace(renamed.find("sampler.seed"), 12, "sampler.sEEd");
  static const std::vector<bad> files = {
      {torn, "tensor \"w\" is damaged"},
      {renamed, "header is damaged"},
      {with(metadata(checksum_text(data), "00000000"), w), "damaged: expected checksum \"00000000\""},
      {with(metadata(checksum_text(data), ""), w), "damaged: expected checksum \"\""},
      {with(metadata("crc32c.w", "crc32c.v"), w), "expected the key \"crc32c.w\""},
      {with(metadata("\"crc32c\":\"00000000\"", "\"crc32c\":\"0000000\""), w), "header is damaged"},
      {with(metadata("\"crc32c\":\"00000000\",", ""), w), "expected a checksum"},
  };
  return files;
}

}  // namespace

TEST_CASE("bad checkpoints: each is refused with its own reason") {
  REQUIRE(refusal(with(metadata(), w)) == "nothing was thrown");
  std::size_t cases = 0;
  for (const auto* files :
       {&of_length(), &of_json(), &of_shapes(), &of_names(), &of_metadata(), &of_checksums()})
    for (const bad& file : *files) {
      INFO(file.bytes.substr(0, 500));
      const std::string text = refusal(file.bytes);
      CHECK_THAT(text, Catch::Contains(file.expected) && Catch::StartsWith("\"/c\""));
      CHECK(text.find('\n') == std::string::npos);
      CHECK(text.find('\x1b') == std::string::npos);
      ++cases;
    }
  std::printf("bad checkpoints: %zu files\n", cases);
  CHECK(cases == 107);
}

TEST_CASE("bad checkpoints: a header that ends as the program's, of other tensors, is refused") {
  const std::string tail = w + "}";
  const auto of = [&tail](const std::string& checksums, const std::string& before, const std::string& bytes) {
    std::string meta =
        metadata(digits(nk::detail::schema_of("", "sgd", 1)), digits(nk::detail::schema_of(tail, "sgd", 1)));
    const std::string of_w = "\"crc32c.w\":";
    meta.replace(meta.find(of_w), of_w.size(), checksums);
    return sealed("{\"__metadata__\":{" + meta + "}," + before + tail, bytes);
  };
  REQUIRE(refusal(of("\"crc32c.w\":", "", data), tail) == "nothing was thrown");
  // The name is x"w, whose last letters are a name of their own to who reads no JSON.
  CHECK_THAT(refusal(of(R"("crc32c.x\"w":)", R"("x\)", data), tail),
             Catch::Contains("expected tensor \"w\""));
  CHECK_THAT(refusal(of("\"crc32c.e\":\"" + checksum_text("1234") + "\",\"crc32c.w\":",
                        R"("e":{"dtype":"F32","shape":[1],"data_offsets":[8,12]},)", data + "1234"),
                     tail),
             Catch::Contains("expected no tensor \"e\", found one, F32 of shape [1]"));
}
