// Numbers with units and the tables made of them.
#include "napkin/cost/report.hpp"

#include <catch2/catch.hpp>
#include <limits>

namespace nk = napkin;

namespace {

nk::plan_line line_of(nk::passes::unit_kind kind, nk::op last, std::int32_t origin, std::uint64_t matmul) {
  nk::plan_line line;
  line.kind = kind;
  line.last = last;
  line.result = {4, 8};
  line.origin = origin;
  line.flops.matmul = matmul;
  line.bytes = {4096, 128};
  return line;
}

const std::vector<nk::plan_line> lines{
    line_of(nk::passes::unit_kind::gather, nk::op::gather, 0, 0),
    line_of(nk::passes::unit_kind::contraction, nk::op::einsum, 1, 2'000),
    line_of(nk::passes::unit_kind::contraction, nk::op::einsum, 2, 3'000),
    line_of(nk::passes::unit_kind::kernel, nk::op::add, -1, 0),
    line_of(nk::passes::unit_kind::contraction, nk::op::einsum, 3, 500),
};
constexpr std::string_view paths[] = {"embedding", "blocks.0.mlp.up", "blocks.11.mlp.down",
                                      "blocks.0.attention.query"};

}  // namespace

TEST_CASE("numbers have separators every three digits", "[report]") {
  CHECK(nk::with_separators(0) == "0");
  CHECK(nk::with_separators(999) == "999");
  CHECK(nk::with_separators(1'000) == "1,000");
  CHECK(nk::with_separators(291'648'307'200) == "291,648,307,200");
  CHECK(nk::with_separators(std::numeric_limits<std::uint64_t>::max()) == "18,446,744,073,709,551,615");
}

TEST_CASE("bytes are shown in binary units", "[report]") {
  CHECK(nk::bytes_text(0) == "0 B");
  CHECK(nk::bytes_text(1'023) == "1023 B");
  CHECK(nk::bytes_text(1'024) == "1.00 KiB");
  CHECK(nk::bytes_text(1'536) == "1.50 KiB");
  CHECK(nk::bytes_text(80'000'000) == "76.29 MiB");
  CHECK(nk::bytes_text(2'415'919'104) == "2.25 GiB");
  CHECK(nk::bytes_text(80'000'000'000) == "74.51 GiB");
  CHECK(nk::bytes_text((std::uint64_t{1} << 20) - 1) == "1024.00 KiB");
  CHECK(nk::bytes_text(std::numeric_limits<std::uint64_t>::max()) == "16.00 EiB");
  CHECK(nk::bytes_text(std::uint64_t{3} << 59) == "1.50 EiB");
}

TEST_CASE("FLOPs are shown in decimal units", "[report]") {
  CHECK(nk::flops_text(999) == "999 FLOP");
  CHECK(nk::flops_text(2'048) == "2.05 kFLOP");
  CHECK(nk::flops_text(1'005) == "1.01 kFLOP");
  CHECK(nk::flops_text(1'995) == "2.00 kFLOP");
  CHECK(nk::flops_text(291'648'307'200) == "291.65 GFLOP");
  CHECK(nk::flops_text(8'796'093'022'208) == "8.80 TFLOP");
  CHECK(nk::flops_text(std::numeric_limits<std::uint64_t>::max()) == "18.45 EFLOP");
}

TEST_CASE("equal layers are one row of a table", "[report]") {
  CHECK(nk::layer_of("blocks.3.attention.query") == "blocks.*.attention");
  CHECK(nk::layer_of("blocks.3.4.query") == "blocks.*.*");
  CHECK(nk::layer_of("layer3.w") == "layer3");
  CHECK(nk::layer_of("embedding") == "embedding");
  CHECK(nk::layer_of("") == "");

  const auto rows = nk::rows_by_layer(lines, paths);
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].name == "embedding");
  CHECK(rows[1].name == "blocks.*.mlp");
  CHECK(rows[1].sheet == nk::cost_sheet{{5'000, 0, 0, 0, 0}, {8192, 256}, 2});
  CHECK(rows[2].name == "blocks.*.attention");
  CHECK(rows[3].name == "other");
  CHECK(rows[3].sheet.launches == 1);
}

TEST_CASE("an origin that is no parameter belongs to none", "[report]") {
  const auto rows = nk::rows_by_layer(lines, {paths, 1});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].sheet.launches == 1);
  CHECK(rows[1].name == "other");
  CHECK(rows[1].sheet.launches == 4);
}

TEST_CASE("a table's columns line up and end in a total", "[report]") {
  CHECK(nk::cost_table("kind", nk::rows_by_kind(lines)) ==
        "kind             matmul   other  exp, log, ..       read  written  launches\n"
        "kernel           0 FLOP  0 FLOP             0   4.00 KiB    128 B         1\n"
        "contraction  5.50 kFLOP  0 FLOP             0  12.00 KiB    384 B         3\n"
        "gather           0 FLOP  0 FLOP             0   4.00 KiB    128 B         1\n"
        "total        5.50 kFLOP  0 FLOP             0  20.00 KiB    640 B         5\n");
}

TEST_CASE("memory is shown by what it is for", "[report]") {
  nk::memory_sheet m;
  m.inputs = 3'145'728;
  m.arena = m.peak = 1'000;
  CHECK(nk::memory_table(m) ==
        "inputs  3.00 MiB  3,145,728 bytes\n"
        "arena     1000 B      1,000 bytes\n"
        "peak      1000 B      1,000 bytes\n");
}

TEST_CASE("a plan prints a line for each instruction", "[report]") {
  auto two = std::vector<nk::plan_line>(lines.begin() + 1, lines.begin() + 2);
  two.push_back(line_of(nk::passes::unit_kind::kernel, nk::op::exp, -1, 0));
  two[1].operations = 12;
  CHECK(nk::to_string(two) ==
        "0  contraction  einsum     f32[4,8]  2.00 kFLOP  reads 4.00 KiB  writes 128 B\n"
        "1  kernel       12 to exp  f32[4,8]      0 FLOP  reads 4.00 KiB  writes 128 B\n");
  two.pop_back();
  two[0].refused = "it takes too many calls";
  CHECK(nk::to_string(two) ==
        "0  contraction  einsum  f32[4,8]  2.00 kFLOP  reads 4.00 KiB  writes 128 B  "
        "no library product: it takes too many calls\n");
}

TEST_CASE("seconds are shown in decimal units", "[report]") {
  CHECK(nk::seconds_text(0) == "0.00 s");
  CHECK(nk::seconds_text(12.345) == "12.35 s");
  CHECK(nk::seconds_text(0.0015) == "1.50 ms");
  CHECK(nk::seconds_text(42e-6) == "42.00 us");
  CHECK(nk::seconds_text(1e-9) == "1.00 ns");
  CHECK(nk::seconds_text(1e-12) == "0.00 ns");
}

TEST_CASE("each instruction says what bounds it on a device", "[report]") {
  const nk::device slow = nk::device{"slow", 1, 0, 1'000}.with(nk::arithmetic::f32, {2});
  auto two = std::vector<nk::plan_line>(lines.begin() + 1, lines.begin() + 2);
  two.push_back(line_of(nk::passes::unit_kind::kernel, nk::op::exp, -1, 0));
  CHECK(nk::time_table(two, slow) ==
        "                    ends in       FLOPs     moves  FLOP/B    bound by   at least\n"
        "0      contraction  einsum   2.00 kFLOP  4.13 KiB    0.47  arithmetic  1000.00 s\n"
        "1      kernel       exp          0 FLOP  4.13 KiB    0.00      memory     4.22 s\n"
        "total                        2.00 kFLOP  8.25 KiB    0.23              1004.22 s\n");
}
