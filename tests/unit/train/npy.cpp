// .npy files: numpy's own are read, ours are numpy's byte for byte, and what does not fit is refused in
// words.
#include "napkin/train/npy.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "napkin/ops/movement.hpp"
#include "napkin/train/safetensors.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace nk = napkin;

namespace {

struct x : nk::dim<"x", 2> {};
struct y : nk::dim<"y", 3> {};
struct z : nk::dim<"z", 4> {};
struct wide : nk::dim<"wide", 5> {};
struct seven : nk::dim<"seven", 7> {};
struct none : nk::dim<"none", 0> {};
struct some : nk::dim<"some", nk::up_to<9>> {};

// What tests/parity/generate_npy.py recorded of numpy.
std::string numpys(const std::string& name) {
  const auto file = nk::safetensors_file::open(nk::posix_file_system(),
                                               NAPKIN_SOURCE_DIR "/tests/parity/data/npy.safetensors");
  const nk::tensor_entry* entry = file.find(name);
  REQUIRE(entry != nullptr);
  std::string bytes(entry->bytes(), '\0');
  file.read(*entry, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

template <class T>
T recorded_element(std::size_t i) {
  const double value = static_cast<double>(i) - 3;
  if constexpr (std::is_same_v<T, nk::b8>)
    return nk::b8(i % 2 == 1);
  else if constexpr (nk::is_complex(nk::dtype_of<T>))
    return T{static_cast<decltype(T::real)>(value), 0.5f};
  else if constexpr (std::is_unsigned_v<T>)
    return static_cast<T>(i);
  else
    return static_cast<T>(value);
}

template <class T>
void check_dtype(const std::string& name) {
  const temporary_folder folder;
  for (const char* order : {"c.", "fortran.", "big."}) {
    INFO(order << name);
    const std::string path = folder.write("a.npy", numpys(order + name));
    const auto read = nk::load_npy<T, x, y, z>(path);
    std::size_t i = 0;
    for (const T& each : read) CHECK(each == recorded_element<T>(i++));
    CHECK(i == 24);
  }
  const nk::tensor<T, x, y, z> ours(
      [](std::size_t a, std::size_t b, std::size_t c) { return recorded_element<T>((a * 3 + b) * 4 + c); });
  nk::save_npy(folder / "b.npy", ours);
  CHECK(read_whole(folder / "b.npy") == numpys("c." + name));
}

template <class T, class... Ds>
std::string refusal(const std::string& bytes) {
  const temporary_folder folder;
  const std::string path = folder.write("a.npy", bytes);
  const std::string text = message_of<nk::input_error>([&] { nk::load_npy<T, Ds...>(path); });
  CHECK_THAT(text, Catch::Contains("a.npy\": "));
  CHECK(text.find('\n') == std::string::npos);
  return text;
}

std::string with_header(const std::string& text, std::size_t elements) {
  std::string bytes("\x93NUMPY\1\0", 8);
  bytes += static_cast<char>(text.size() & 0xff);
  bytes += static_cast<char>(text.size() >> 8);
  return bytes + text + std::string(elements, '\0');
}

}  // namespace

TEST_CASE("npy: every dtype of numpy's, both orders of elements and of bytes") {
  check_dtype<nk::f64>("f8");
  check_dtype<nk::f32>("f4");
  check_dtype<nk::f16>("f2");
  check_dtype<nk::c128>("c16");
  check_dtype<nk::c64>("c8");
  check_dtype<nk::i64>("i8");
  check_dtype<nk::i32>("i4");
  check_dtype<nk::i16>("i2");
  check_dtype<nk::i8>("i1");
  check_dtype<nk::u32>("u4");
  check_dtype<nk::u16>("u2");
  check_dtype<nk::u8>("u1");
  check_dtype<nk::b8>("b1");
}

TEST_CASE("npy: all versions of the format, one axis, none, and no element") {
  const temporary_folder folder;
  for (const char* version : {"version2", "version3"}) {
    const auto read = nk::load_npy<nk::f32, x, y, z>(folder.write("v.npy", numpys(version)));
    CHECK(read(1, 2, 3) == 20);
  }
  const auto vector = nk::load_npy<nk::f32, seven>(folder.write("v.npy", numpys("vector")));
  CHECK(vector(6) == 3);
  nk::save_npy(folder / "o.npy", vector);
  CHECK(read_whole(folder / "o.npy") == numpys("vector"));
  const auto scalar = nk::load_npy<nk::f32>(folder.write("s.npy", numpys("scalar")));
  CHECK(static_cast<float>(scalar) == -3);
  nk::save_npy(folder / "o.npy", scalar);
  CHECK(read_whole(folder / "o.npy") == numpys("scalar"));
  const auto empty = nk::load_npy<nk::f32, none, wide>(folder.write("e.npy", numpys("empty")));
  CHECK(empty.numel() == 0);
  nk::save_npy(folder / "o.npy", empty);
  CHECK(read_whole(folder / "o.npy") == numpys("empty"));
}

TEST_CASE("npy: axes sized at run time have the file's sizes; views are written as they are seen") {
  const temporary_folder folder;
  const std::string path = folder.write("a.npy", numpys("c.f4"));
  const auto read = nk::load_npy<nk::f32, x, some, z>(path);
  CHECK(read.sizes() == std::array<std::size_t, 3>{2, 3, 4});
  CHECK(read(1, 2, 3) == 20);
  nk::save_npy(folder / "b.npy", read);  // its storage has gaps
  CHECK(read_whole(folder / "b.npy") == numpys("c.f4"));

  const auto whole = nk::load_npy<nk::f32, x, y, z>(path);
  nk::save_npy(folder / "row.npy", whole[1]);
  const auto row = nk::load_npy<nk::f32, y, z>(folder / "row.npy");
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 4; ++k) CHECK(row(i, k) == whole(1, i, k));
  const nk::view<nk::f32, nk::strides<1, 4>, z, y> across = nk::make_view<nk::strides<1, 4>, z, y>(whole, 12);
  nk::save_npy(folder / "across.npy", across);
  const auto turned = nk::load_npy<nk::f32, z, y>(folder / "across.npy");
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t k = 0; k < 4; ++k) CHECK(turned(k, i) == whole(1, i, k));
}

TEST_CASE("npy: what does not fit is said at once, by axis and number") {
  CHECK_THAT(
      (refusal<nk::f64, y, x, z>(numpys("c.f4"))),
      Catch::EndsWith("expected f64, found f32; axis 'y' has 3 elements, axis 0 of the file 2; axis 'x' "
                      "has 2 elements, axis 1 of the file 3"));
  CHECK_THAT((refusal<nk::f32, x, z>(numpys("c.f4"))),
             Catch::EndsWith("expected 2 axes (x, z), found shape [2, 3, 4]"));
  struct few : nk::dim<"few", nk::up_to<2>> {};
  CHECK_THAT((refusal<nk::f32, x, few, z>(numpys("c.f4"))),
             Catch::EndsWith("axis 'few' has at most 2 elements, axis 1 of the file 3"));
  CHECK_THAT((refusal<nk::i64, x, y, z>(numpys("u8"))), Catch::Contains("unsigned integers of 64 bits"));
  CHECK_THAT((refusal<nk::f32, x>(numpys("record"))), Catch::Contains("records"));
}

TEST_CASE("npy: damaged files are refused with the reason") {
  const std::string good = numpys("c.f4");
  for (std::size_t cut = 0; cut < good.size(); ++cut) refusal<nk::f32, x, y, z>(good.substr(0, cut));
  CHECK_THAT((refusal<nk::f32, x, y, z>(good.substr(0, good.size() - 1))),
             Catch::Contains("expected 96 bytes of elements for f32 of shape [2, 3, 4], found 95"));
  CHECK_THAT((refusal<nk::f32, x, y, z>(good + "x")), Catch::EndsWith("found 97"));
  CHECK_THAT((refusal<nk::f32, x, y, z>("PK" + good)), Catch::Contains("begins with"));
  std::string later = good;
  later[6] = 4;
  CHECK_THAT((refusal<nk::f32, x, y, z>(later)), Catch::Contains("found 4.0"));
  std::string no_bool = numpys("c.b1");
  no_bool[no_bool.size() - 2] = 7;
  CHECK_THAT((refusal<nk::b8, x, y, z>(no_bool)), Catch::EndsWith("found 7 as element 22 in C order"));

  const auto of = [](const std::string& header) { return refusal<nk::f32, x>(with_header(header, 8)); };
  const std::string rest = "'fortran_order': False, 'shape': (2,), }\n";
  const temporary_folder folder;
  CHECK(nk::load_npy<nk::f32, x>(folder.write("g.npy", with_header("{'descr': '<f4', " + rest, 8)))(1) == 0);
  CHECK_THAT(of("{" + rest), Catch::Contains("expected the key 'descr', found none"));
  CHECK_THAT(of("{'descr': '<f4', 'descr': '<f4', " + rest), Catch::Contains("each once, found \"descr\""));
  CHECK_THAT(of("{'descr': '|O', " + rest), Catch::Contains("Python's objects"));
  CHECK_THAT(of("{'descr': '|f4', " + rest), Catch::Contains("found \"|f4\""));
  CHECK_THAT(of("{'descr': '', " + rest), Catch::EndsWith("found \"\""));
  CHECK_THAT(of("{'descr': '<', " + rest), Catch::EndsWith("found \"<\""));
  CHECK_THAT(of("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}"), Catch::Contains("True or False"));
  CHECK_THAT(of("{'descr': '<f4', 'fortran_order': False, 'shape': (2)}"),
             Catch::Contains("a tuple of sizes"));
  CHECK_THAT(of("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}"),
             Catch::Contains("expected a size"));
  CHECK_THAT(of("{'descr': '<f4', 'fortran_order': False, 'shape': (2 2)}"), Catch::Contains("',' or ')'"));
  CHECK_THAT(of("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}"),
             Catch::Contains("64 bits"));
  CHECK_THAT(of("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}"),
             Catch::Contains("exceeds 64 bits of bytes"));
  CHECK_THAT(of("{'descr': '<f4', " + rest + "x"), Catch::Contains("behind the dictionary"));
}

TEST_CASE("npy: a header that would be too long to read is not written") {
  const temporary_folder folder;
  const float one = 1;
  const auto save = [&](std::size_t axes) {
    const std::vector<std::uint64_t> shape(axes, 1);
    return message_of<nk::error>(
        [&] { nk::save_npy(nk::posix_file_system(), folder / "a.npy", nk::dtype::f32, shape, &one); });
  };
  CHECK_THAT(save(30'000), Catch::Contains("30000 axes take a header of"));
  CHECK(files_in(folder.path()) == 0);
  CHECK(save(20'000) == "nothing was thrown");
  CHECK(nk::npy_file::open(nk::posix_file_system(), folder / "a.npy").shape().size() == 20'000);
}
