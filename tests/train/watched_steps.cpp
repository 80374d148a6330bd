// What the instructions of the CPU's training steps do to memory, by their compiled kernels.
#include <catch2/catch.hpp>

#include "support/device_run.hpp"
#include "support/trained/plans.hpp"

namespace nk = napkin;

namespace {

/// Of any numbers, all of them finite; what is not in the memory of an instruction fails, and what it reads
/// of nobody's memory is NaN.
void watch(const std::vector<nk::testing::compiled_cpu_plan>& plans) {
  std::size_t instructions = 0;
  for (const nk::testing::compiled_cpu_plan& p : plans) {
    const nk::testing::device_case c(p.graph);
    std::vector<nk::testing::raw_bytes> given = c.outputs();
    CHECK_NOTHROW(nk::testing::run_plan_watched(p.plan, p.kernels, c.inputs, given));
    CHECK(given == c.expected);
    instructions += p.plan.count.instructions;
  }
  CHECK(instructions > 3);
}

}  // namespace

TEST_CASE("each instruction of a CPU's step touches its own memory, and reads what lives") {
  SECTION("llama") { watch(nk::testing::plans_of_llama_on_cpu()); }
  SECTION("gpt") { watch(nk::testing::plans_of_gpt_on_cpu()); }
  SECTION("gpt, in micro-batches") { watch(nk::testing::plans_of_gpt_in_two_on_cpu()); }
  SECTION("images") { watch(nk::testing::plans_of_images_on_cpu()); }
}
