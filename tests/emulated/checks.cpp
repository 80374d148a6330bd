// The machine that runs PTX: programs written by hand give what PTX's text says, and whatever a device would not
// forgive is refused.
#include <catch2/catch.hpp>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "emulated/machine.hpp"
#include "support/message_of.hpp"

namespace ptx = napkin::testing::ptx;

namespace {

const std::string accepted = "nothing was thrown";

/// A kernel of one parameter: the address of an array of u32.
struct program {
  ptx::module made;
  std::vector<std::uint32_t> data;
  ptx::global_memory memory;

  program(const std::string& body, std::size_t words, bool written = true) : data(words) {
    made = ptx::read(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
        ".reg .pred %p<9>; .reg .b16 %rs<9>; .reg .b32 %r<19>; .reg .f32 %f<19>; .reg .b64 %rd<19>;\n"
        ".shared .align 16 .b8 room[4096];\n"
        "ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4; "
        "add.s64 %rd2, %rd0, %rd1; mov.u32 %r1, room; shl.b32 %r2, %r0, 2; add.s32 %r3, %r1, %r2;\n" +
        body + "\nret; }\n");
    memory.add(data.data(), words * 4);
    if (written) memory.set_written(data.data(), words * 4);
  }
  ptx::counts run(std::uint32_t threads, std::uint32_t blocks = 1) {
    const void* at = data.data();
    return ptx::run(made.kernels.at("k"), {{blocks, 1, 1}, {threads, 1, 1}, 0},
                    std::as_bytes(std::span(&at, 1)), memory);
  }
  std::string refusal(std::uint32_t threads, std::uint32_t blocks = 1) {
    return message_of<std::runtime_error>([&] { run(threads, blocks); });
  }
};

}  // namespace

TEST_CASE("emulated: lanes part and meet again") {
  // Steps of x -> x / 2 or 3 x + 1 down to 1, of x = thread + 1.
  program p(
      "add.s32 %r4, %r0, 1; mov.u32 %r5, 0;\n"
      "$again: setp.eq.s32 %p0, %r4, 1; @%p0 bra $done; add.s32 %r5, %r5, 1; and.b32 %r6, %r4, 1;\n"
      "setp.eq.s32 %p1, %r6, 0; @%p1 bra $even; mad.lo.s32 %r4, %r4, 3, 1; bra.uni $again;\n"
      "$even: shr.u32 %r4, %r4, 1; bra.uni $again;\n"
      "$done: st.global.u32 [%rd2], %r5;",
      40);
  p.run(40);
  for (std::uint32_t t = 0; t < 40; ++t) {
    std::uint32_t steps = 0;
    for (std::uint64_t x = t + 1; x != 1; ++steps) x = x % 2 == 0 ? x / 2 : 3 * x + 1;
    CHECK(p.data[t] == steps);
  }
}

TEST_CASE("emulated: values go between lanes, warps and blocks") {
  SECTION("by shuffles") {
    program p(
        "shfl.sync.bfly.b32 %r4|%p0, %r0, 5, 31, -1; shfl.sync.up.b32 %r5|%p1, %r0, 1, 0, -1;\n"
        "selp.b32 %r6, 100, 0, %p1; add.s32 %r5, %r5, %r6; mad.lo.s32 %r4, %r4, 1000, %r5;\n"
        "st.global.u32 [%rd2], %r4;",
        32);
    p.run(32);
    for (std::uint32_t t = 0; t < 32; ++t) CHECK(p.data[t] == (t ^ 5) * 1000 + (t == 0 ? 0 : t - 1 + 100));
  }
  SECTION("through shared memory") {
    program p(
        "st.shared.u32 [%r3], %r0; bar.sync 0; xor.b32 %r4, %r2, 128; add.s32 %r4, %r1, %r4;\n"
        "ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd2], %r5;",
        64);
    p.run(64);
    for (std::uint32_t t = 0; t < 64; ++t) CHECK(p.data[t] == (t ^ 32));
  }
  SECTION("by atomics") {
    program p("atom.global.add.u32 %r4, [%rd0], %r0; red.global.add.u32 [%rd0+4], %r0;", 2);
    p.run(64, 3);
    CHECK(p.data == std::vector<std::uint32_t>(2, 3 * 63 * 32));
  }
  SECTION("by a barrier that counts votes") {
    program p(
        "setp.eq.s32 %p0, %r0, 40; bar.red.or.pred %p1, 0, %p0; selp.u32 %r4, 1, 0, %p1;\n"
        "st.global.u32 [%rd2], %r4;",
        64);
    p.run(64);
    CHECK(p.data == std::vector<std::uint32_t>(64, 1));
  }
  SECTION("by a barrier that asks for all") {
    program p(
        "setp.ne.s32 %p0, %r0, 40; bar.red.and.pred %p1, 0, %p0; selp.u32 %r4, 1, 0, %p1;\n"
        "setp.lt.s32 %p0, %r0, 64; bar.red.and.pred %p1, 0, %p0; selp.u32 %r5, 2, 0, %p1;\n"
        "add.s32 %r4, %r4, %r5; st.global.u32 [%rd2], %r4;",
        64);
    p.run(64);
    CHECK(p.data == std::vector<std::uint32_t>(64, 2));
  }
}

TEST_CASE("emulated: arithmetic rounds once, and integers wrap") {
  program p(
      "mov.f32 %f0, 0f3F800001; fma.rn.f32 %f1, %f0, %f0, 0fBF800002; mov.b32 %r4, %f1; st.global.u32 "
      "[%rd0], %r4;\n"
      "mov.u32 %r5, -1; mad.lo.s32 %r6, %r5, %r5, %r5; st.global.u32 [%rd0+4], %r6;\n"
      "shr.s32 %r7, %r5, 40; shl.b32 %r8, %r5, 32; add.s32 %r7, %r7, %r8; st.global.u32 [%rd0+8], %r7;\n"
      "mov.u32 %r9, 0x04030201; prmt.b32 %r10, %r9, 0, 0x0123; st.global.u32 [%rd0+12], %r10;\n"
      "mov.f32 %f2, 0fC0200000; cvt.rzi.s32.f32 %r11, %f2; st.global.u32 [%rd0+16], %r11;\n"
      "cvt.rn.bf16x2.f32 %r12, %f2, %f0; st.global.u32 [%rd0+20], %r12;\n"
      "mov.b64 %rd3, {%r9, %r5}; shr.u64 %rd4, %rd3, 16; cvt.u32.u64 %r13, %rd4; st.global.u32 [%rd0+24], "
      "%r13;\n"
      "mov.u32 %r14, 0x80000000; abs.s32 %r14, %r14; abs.s32 %r15, %r5; add.s32 %r14, %r14, %r15; "
      "st.global.u32 [%rd0+28], %r14;\n"
      "dp4a.u32.u32 %r16, %r9, %r9, %r15; st.global.u32 [%rd0+32], %r16;\n"  // 1 + 1 + 4 + 9 + 16
      "mov.f32 %f3, 0f7FC00000; setp.num.f32 %p0, %f0, %f2; setp.num.f32 %p1, %f0, %f3; selp.u32 %r17, 1, 0, "
      "%p0; selp.u32 %r18, 2, 0, %p1; add.s32 %r17, %r17, %r18; st.global.u32 [%rd0+36], %r17;\n"
      "mov.u32 %r19, 0xf0a50001; bfe.u32 %r20, %r19, 16, 8; st.global.u32 [%rd0+40], %r20;\n"
      "bfe.s32 %r20, %r19, 16, 8; st.global.u32 [%rd0+44], %r20; bfe.s32 %r20, %r19, 28, 9; st.global.u32 "
      "[%rd0+48], %r20;\n"
      "bfe.u32 %r20, %r19, 28, 9; st.global.u32 [%rd0+52], %r20; bfe.s32 %r20, %r19, 40, 0; st.global.u32 "
      "[%rd0+56], %r20;\n"
      "dp2a.lo.u32.s32 %r20, %r19, %r5, %r15; st.global.u32 [%rd0+60], %r20;\n"  // 1 - 1 - 0xf0a5
      "dp2a.hi.s32.u32 %r20, %r19, %r9, %r15; st.global.u32 [%rd0+64], %r20;\n"  // 1 + 3 - 4 * 0xf5b
      "dp4a.s32.s32 %r20, %r19, %r19, %r15; st.global.u32 [%rd0+68], %r20;",  // 1 + 1 + 0 + 91 * 91 + 16 * 16
      18);
  p.run(1);
  CHECK(p.data == std::vector<std::uint32_t>{0x28800000, 0, 0xffffffff, 0x01020304, 0xfffffffe, 0xc0203f80,
                                             0xffff0403, 0x80000001, 31, 1, 0xa5, 0xffffffa5, 0xffffffff, 0xf,
                                             0, 0xffff0f5b, 0xffffc298, 8539});
}

TEST_CASE("emulated: what CUDA's functions are made of rounds, clamps and passes NaN on as PTX says") {
  program p(
      "mov.f32 %f0, 0f3F800001; mov.f32 %f1, 0f7FC00000; mov.f32 %f2, 0f80000000; mov.f32 %f3, 0f00000000;\n"
      "fma.rm.f32 %f4, %f0, %f0, %f3; st.global.f32 [%rd0], %f4;\n"  // 1 + 2^-22 + 2^-46
      "mov.f32 %f5, 0fBF800001; fma.rm.f32 %f4, %f5, %f0, %f3; st.global.f32 [%rd0+4], %f4;\n"
      "cvt.sat.f32.f32 %f4, %f1; st.global.f32 [%rd0+8], %f4;\n"
      "mov.f32 %f6, 0fC0490FDB; cvt.sat.f32.f32 %f4, %f6; st.global.f32 [%rd0+12], %f4;\n"
      "neg.f32 %f6, %f6; cvt.sat.f32.f32 %f4, %f6; st.global.f32 [%rd0+16], %f4;\n"
      "max.NaN.f32 %f4, %f6, %f1; setp.nan.f32 %p0, %f4, %f4; selp.u32 %r4, 7, 8, %p0; st.global.u32 "
      "[%rd0+20], "
      "%r4;\n"
      "max.NaN.f32 %f4, %f3, %f2; st.global.f32 [%rd0+24], %f4; min.NaN.f32 %f4, %f3, %f2; st.global.f32 "
      "[%rd0+28], %f4;\n"
      "copysign.f32 %f4, %f2, %f6; st.global.f32 [%rd0+32], %f4;\n"
      "mov.f32 %f7, 0f40800000; rsqrt.approx.f32 %f4, %f7; st.global.f32 [%rd0+36], %f4;\n"
      "rcp.approx.ftz.f32 %f4, %f7; st.global.f32 [%rd0+40], %f4;\n"
      "mov.u32 %r5, 0xc0003c00; mov.b32 {%rs0, %rs1}, %r5; cvt.f32.f16 %f4, %rs1; st.global.f32 [%rd0+44], "
      "%f4;",
      12);
  p.run(1);
  CHECK(p.data == std::vector<std::uint32_t>{0x3f800002, 0xbf800003, 0, 0, 0x3f800000, 7, 0, 0x80000000,
                                             0xc0490fdb, 0x3f000000, 0x3e800000, 0xc0000000});
}

TEST_CASE("emulated: what a device would not forgive is refused") {
  const auto says = [](const std::string& message, const char* words) {
    INFO(message);
    CHECK(message.find(words) != message.npos);
  };
  SECTION("beyond what is allocated") {
    says(program("st.global.u32 [%rd2], %r0;", 31).refusal(32), "outside of what is allocated");
    says(program("st.shared.u32 [%r3+4096], %r0;", 1).refusal(1), "beyond the block's shared memory");
  }
  SECTION("an address that is not aligned") {
    says(program("ld.global.v2.u32 {%r4, %r5}, [%rd0+4];", 8).refusal(1), "is not aligned to its 8 bytes");
  }
  SECTION("memory that nothing has written") {
    says(program("ld.global.u32 %r4, [%rd2];", 32, false).refusal(32), "reads what nothing has written");
    says(program("ld.shared.u32 %r4, [%r3];", 1).refusal(32), "reads what nothing has written");
    CHECK(program("st.global.u32 [%rd2], %r0; ld.global.u32 %r4, [%rd2];", 32, false).refusal(32) ==
          accepted);
  }
  SECTION("races of a block's threads") {
    says(program(
             "setp.lt.s32 %p0, %r0, 32; @%p0 st.shared.u32 [%r3], %r0; @!%p0 ld.shared.u32 %r4, [%r3+-128];",
             1)
             .refusal(64),
         "reads what another thread writes");
    says(program("bar.sync 0; st.shared.u32 [%r1], %r0;", 1).refusal(64),
         "writes what another thread writes");
    says(program("st.shared.u32 [%r3], %r0; ld.shared.u32 %r4, [%r3]; and.b32 %r5, %r3, -5; st.shared.u32 "
                 "[%r5], %r0;",
                 1)
             .refusal(32),
         "writes what another thread");
    says(program("ld.global.u32 %r4, [%rd0]; setp.eq.s32 %p0, %r0, 40; @%p0 st.global.u32 [%rd0], %r0;", 1)
             .refusal(64),
         "writes what another thread reads");
  }
  SECTION("bytes that all lanes of a warp read at once") {
    const std::string first = "setp.eq.s32 %p0, %r0, 0; @%p0 st.shared.u32 [%r1], %r0; bar.sync 0;\n",
                      all = "ld.shared.u32 %r4, [%r1];\n";
    for (const int lane : {0, 7, 31}) {
      const std::string is_lane = "setp.eq.s32 %p1, %r0, " + std::to_string(lane) + ";\n",
                        writes = "@%p1 st.shared.u32 [%r1], %r0;\n";
      CAPTURE(lane);
      says(program(is_lane + writes + all, 1).refusal(32), "reads what another thread writes");
      CHECK(program(is_lane + writes + "bar.warp.sync -1;\n" + all, 1).refusal(32) == accepted);
      says(program(first + is_lane + all + writes, 1).refusal(32), "writes what another thread reads");
      for (const char* earlier : {"0", "7", "31"})  // of them one has read it before, alone
        says(program(first + is_lane + "setp.eq.s32 %p0, %r0, " + earlier + "; @%p0 " + all +
                         "bar.warp.sync -1;\n" + all + writes,
                     1)
                 .refusal(32),
             "writes what another thread reads");
    }
    // Thread 7 reads alone, then all do, then a half of the warp that 7 belongs to or not: its read counts.
    const std::string one = "setp.eq.s32 %p0, %r0, 7; @%p0 " + all, meet = "bar.warp.sync -1;\n";
    for (const char* half : {"lt", "ge"})
      says(program(first + one + meet + all + meet + "setp." + half + ".s32 %p2, %r0, 16; @%p2 " + all +
                       "setp.eq.s32 %p1, %r0, 9; @%p1 st.shared.u32 [%r1], %r0;",
                   1)
               .refusal(32),
           "writes what another thread reads");
    says(program(first + one + meet + all + "bar.sync 0;\n" + one + "setp.eq.s32 %p2, %r0, 9; @%p2 " + all +
                     "@%p2 st.shared.u32 [%r1], %r0;",
                 1)
             .refusal(32),
         "writes what another thread reads");
    // What a block has read another writes, whoever of that has read it too.
    says(program("mov.u32 %r6, %ctaid.x; setp.eq.s32 %p0, %r6, 0; setp.eq.s32 %p1, %r0, 5;\n"
                 "and.pred %p2, %p0, %p1; @%p2 ld.global.u32 %r4, [%rd0];\n"
                 "@!%p0 ld.global.u32 %r4, [%rd0]; bar.sync 0;\n"
                 "not.pred %p0, %p0; and.pred %p2, %p0, %p1; @%p2 st.global.u32 [%rd0], %r0;",
                 32)
             .refusal(32, 2),
         "writes what another thread reads");
  }
  SECTION("races of blocks") {
    says(program("st.global.u32 [%rd2], %r0;", 32).refusal(32, 2), "writes what another thread writes");
    program p("ld.global.u32 %r4, [%rd2];", 32);
    CHECK(p.refusal(32, 2) == accepted);
    CHECK(p.refusal(32, 2) == accepted);  // launches come one after another
  }
  SECTION("parts of words") {
    const std::string byte = "add.s32 %r4, %r1, %r0; and.b32 %r5, %r4, -4;\n",
                      mine = byte + "st.shared.u8 [%r4], %r0;", word = "ld.shared.u32 %r6, [%r5];";
    program p(mine + "bar.sync 0;" + word + "st.global.u32 [%rd2], %r6;", 64);
    CHECK(p.refusal(64) == accepted);
    CHECK(p.data[41] == 0x2b2a2928);
    says(program(mine + word, 1).refusal(64), "reads what another thread writes");
    says(program(byte + "setp.lt.s32 %p0, %r0, 35; @%p0 st.shared.u8 [%r4], %r0; bar.sync 0;" + word, 1)
             .refusal(36),
         "reads what nothing has written");
    const std::string first = "setp.eq.s32 %p0, %r0, 0; @%p0 st.shared.u32 [%r1], %r0; bar.sync 0;\n";
    CHECK(program(first + mine, 1).refusal(64) == accepted);
    says(program(first + byte +
                     "setp.lt.s32 %p1, %r0, 4; @%p1 ld.shared.u8 %r6, [%r4];\n"
                     "setp.eq.s32 %p2, %r0, 40; @%p2 st.shared.u32 [%r1], %r0;",
                 1)
             .refusal(64),
         "writes what another thread reads");
    says(program("setp.lt.s32 %p0, %r0, 4;" + byte +
                     "@%p0 st.shared.u8 [%r4], %r0;\n"
                     "setp.eq.s32 %p1, %r0, 40; @%p1 st.shared.u32 [%r1], %r0;",
                 1)
             .refusal(64),
         "writes what another thread writes");
  }
  SECTION("lanes that do not come") {
    says(program("setp.lt.s32 %p0, %r0, 5; @%p0 bra $out; shfl.sync.bfly.b32 %r4, %r0, 1, 31, -1; $out:", 1)
             .refusal(32),
         "waits for lanes that never come");
    says(program("shfl.sync.bfly.b32 %r4, %r0, 1, 31, -1;", 1).refusal(24), "names lanes that have left");
    says(program("setp.lt.s32 %p0, %r0, 5; @%p0 bra $in; bar.sync 0; bra.uni $out; $in: "
                 "shfl.sync.bfly.b32 %r4, %r0, 1, 31, -1; $out:",
                 1)
             .refusal(32),
         "waits for lanes that never come");
    says(program("setp.lt.s32 %p0, %r0, 5; @%p0 bar.sync 0;", 1).refusal(32), "is a barrier");
  }
  SECTION("copies that are not waited for") {
    const std::string copy =
        "shl.b32 %r4, %r0, 4; add.s32 %r5, %r1, %r4; mul.wide.u32 %rd3, %r0, 16; "
        "add.s64 %rd4, %rd0, %rd3; cp.async.cg.shared.global [%r5], [%rd4], 16, 16;\n";
    says(program(copy, 128).refusal(32), "copies it has not waited for");
    program p(copy + "cp.async.wait_all; ld.shared.u32 %r6, [%r5+4]; st.global.u32 [%rd4], %r6;", 128);
    for (std::uint32_t i = 0; i < 128; ++i) p.data[i] = i;
    CHECK(p.refusal(32) == accepted);
    CHECK(p.data[4 * 7] == 4 * 7 + 1);
  }
  SECTION("too many threads, and instructions that it does not know") {
    says(program("", 1).refusal(1025), "launched with 1025 threads of 1024");
    says(message_of<std::runtime_error>(
             [] { program("tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd0, {%r0}];", 1); }),
         "an instruction");
  }
}

TEST_CASE("emulated: what a launch adds of shared memory lies behind a kernel's own") {
  const ptx::module m = ptx::read(
      ".version 9.0\n.target sm_90\n.address_size 64\n.extern .shared .align 16 .b8 more[];\n"
      ".visible .entry k(.param .u64 p) {\n"
      ".reg .b32 %r<9>; .reg .b64 %rd<9>;\n.shared .align 4 .b8 own[20];\n"
      "ld.param.u64 %rd0, [p]; mov.u32 %r0, more; st.global.u32 [%rd0], %r0; ret; }\n");
  std::uint32_t at = 0;
  ptx::global_memory memory;
  memory.add(&at, sizeof at);
  const void* const p = &at;
  ptx::run(m.kernels.at("k"), {{1, 1, 1}, {1, 1, 1}, 64}, std::as_bytes(std::span(&p, 1)), memory);
  CHECK(at == 32);
}

TEST_CASE("emulated: a kernel that may start early waits before it touches memory, and before it leaves") {
  const auto says = [](const std::string& message, const char* words) {
    CAPTURE(message);
    CHECK(message.find(words) != message.npos);
  };
  const std::string wait = "griddepcontrol.launch_dependents; griddepcontrol.wait;\n";
  program p(wait + "st.global.u32 [%rd2], %r0;", 40);
  CHECK(p.refusal(40) == accepted);
  CHECK(p.data[39] == 39);
  CHECK(p.made.kernels.at("k").waits);
  CHECK(!program("st.global.u32 [%rd2], %r0;", 40).made.kernels.at("k").waits);
  says(program("ld.global.u32 %r4, [%rd2];" + wait, 40).refusal(40),
       "touches memory before it has waited for earlier kernels");
  says(program("ld.global.u32 %r4, [%rd0];" + wait, 40).refusal(40),
       "touches memory before it has waited for earlier kernels");
  says(program("setp.eq.s32 %p0, %r0, 7; @%p0 bra $out;" + wait + "st.global.u32 [%rd2], %r0; $out:", 40)
           .refusal(40),
       "leaves before it has waited for earlier kernels");
  CHECK(program("st.shared.u32 [%r3], %r0;" + wait, 40).refusal(40) == accepted);  // that is the block's own
}

TEST_CASE("emulated: what memory costs is counted") {
  program p(
      "ld.global.u32 %r4, [%rd2]; mul.wide.u32 %rd3, %r0, 32; add.s64 %rd4, %rd0, %rd3; ld.global.u32 %r5, "
      "[%rd4];\n"
      "st.shared.u32 [%r3], %r4; shl.b32 %r6, %r0, 7; add.s32 %r7, %r1, %r6; bar.sync 0; st.shared.u32 "
      "[%r7], %r4;",
      256 + 8);
  const std::size_t skew = reinterpret_cast<std::uintptr_t>(p.data.data()) % 32 / 4;  // of a vector of u32
  const ptx::counts c = p.run(32);
  CHECK(c.loads == 2);
  CHECK(c.load_bytes == 2 * 128);
  CHECK(c.load_sectors == (skew == 0 ? 4 : 5) + 32);
  CHECK(c.shared_requests == 2);
  CHECK(c.shared_wavefronts == 1 + 32);
  CHECK(c.least_wavefronts == 2);
}
