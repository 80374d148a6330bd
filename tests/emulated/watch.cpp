// Plans on the GPU that is the host are watched between their instructions, down to the byte that a kernel reads; and
// a sticky error ends the process there as on a device.
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "emulated/device.hpp"
#include "napkin/plan/settle.hpp"
#include "napkin/train/cuda_trainer.hpp"
#include "support/device_graphs.hpp"
#include "support/device_kernels.hpp"
#include "support/device_run.hpp"
#include "support/device_training.hpp"
#include "support/ended_process.hpp"
#include "support/fake_cuda.hpp"
#include "support/run_on_device.hpp"

namespace nk = napkin;
namespace on_cuda = napkin::on_cuda;
using nk::planning::region;
using subject = nk::testing::gpt_gradients;

namespace {

fake_cuda& device() { return static_cast<fake_cuda&>(on_cuda::cuda_runtime()); }

nk::testing::compiled_plan find_subject() {
  const auto all = nk::testing::device_plans();
  nk::testing::compiled_plan found;
  std::size_t next = 0;
  nk::testing::for_each_device_graph([&]<class Make>(std::type_identity<Make>, double) {
    if (std::is_same_v<Make, subject>) found = all[next];
    ++next;
  });
  return found;
}

void run(const on_cuda::plan_view& plan, const on_cuda::kernel_entry* kernels) {
  const nk::testing::device_case c(subject::make().view());
  nk::testing::device_runner().run(plan, kernels, c.inputs, c.outputs(), [](const auto&) {});
}

// A kernel that writes 16 bytes behind what one of its accesses goes over.
struct {
  on_cuda::kernel_entry of;
  std::size_t access = 0, bytes = 0;
  std::byte* base = nullptr;
} overrun;

/// Is a byte of the arena one that kernel k, which runs at this time, may write?
bool is_own(const on_cuda::plan_view& plan, std::size_t k, std::int32_t time, std::size_t at) {
  const nk::passes::memory_plan placed = nk::planning::plan_memory_of(plan.lives, plan.count.lives);
  const nk::planning::kernel_record& r = plan.kernels[k];
  for (std::size_t l = 0; l < plan.count.lives; ++l) {
    const nk::passes::lifetime& life = plan.lives[l];
    const std::size_t begin = placed.offsets[l];
    if (time < life.first || life.last < time || at < begin || begin + life.bytes <= at) continue;
    for (std::size_t w = 0; w < plan.count.workspaces; ++w)
      if (plan.workspaces[w].kernel == static_cast<std::int32_t>(k) &&
          plan.workspaces[w].life == static_cast<std::int32_t>(l))
        return true;
    const nk::planning::location here{region::arena, begin};
    for (std::int32_t a = 0; a < r.accesses; ++a)
      if (plan.accesses[r.first_access + a].written && plan.accesses[r.first_access + a].base == here)
        return true;
    for (std::int32_t c = 0; c < r.columns; ++c)
      if (plan.columns[r.first_column + c].to == here) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("emulated: each instruction of a plan, of a trainer and of an expression is looked at") {
  const std::size_t before = nk::testing::watched_instructions();
  const nk::testing::compiled_plan made = find_subject();
  run(made.plan, made.kernels);
  const std::size_t of_a_plan = nk::testing::watched_instructions() - before;
  CHECK(of_a_plan == 3 * made.plan.count.instructions);  // once run, once replayed, once run early
  nk::testing::train_gpt_in_two_on_gpu(1, nk::launch_order::in_order);
  const std::size_t of_a_trainer = nk::testing::watched_instructions() - before - of_a_plan;
  using step = nk::detail::step_on<nk::testing::gpt_step_in_two, nk::cuda>;
  CHECK(of_a_trainer > 3 * step::gradient_plan::view().count.instructions);  // once before it is captured
  CHECK(nk::testing::check_tensors_on_gpu() == "");
  CHECK(nk::testing::watched_instructions() > before + of_a_plan + of_a_trainer);
}

TEST_CASE("emulated: a kernel that writes past its result, into the arena, is refused") {
  const nk::testing::compiled_plan made = find_subject();
  const on_cuda::plan_view plan = made.plan;
  std::vector<on_cuda::kernel_entry> kernels(made.kernels, made.kernels + plan.count.kernels);
  std::size_t tried = 0;
  for (std::size_t i = 0; i < plan.count.instructions && tried < 5; ++i) {
    if (plan.instructions[i].kind != nk::planning::unit_kind::kernel) continue;
    const auto k = static_cast<std::size_t>(plan.instructions[i].index);
    const nk::planning::kernel_record& r = plan.kernels[k];
    for (std::int32_t a = 0; a < r.accesses; ++a) {
      const nk::planning::access_record& access = plan.accesses[r.first_access + a];
      if (!access.written || access.base.where != region::arena) continue;
      std::vector<on_cuda::kernel_entry> changed = kernels;
      std::size_t bytes = 4;
      for (std::int32_t d = 0; d < r.outer_rank + r.inner_rank; ++d)
        if (plan.strides[access.first_stride + d] != 0) bytes *= plan.sizes[r.first_size + d];
      if (is_own(plan, k, plan.instructions[i].time, access.base.at + bytes)) continue;
      overrun = {kernels[k], static_cast<std::size_t>(a), bytes};
      changed[k].fill = [](const on_cuda::kernel_memory& from, void* to) {
        overrun.base = from.memory[overrun.access];
        overrun.of.fill(from, to);
      };
      changed[k].launch = [](const void* arguments, on_cuda::stream_handle on) {
        overrun.of.launch(arguments, on);
        device().launch(on, [] { std::memset(overrun.base + overrun.bytes, 0x11, 16); });
      };
      const nk::testing::ended_process p = nk::testing::in_a_process([&] { run(plan, changed.data()); });
      CAPTURE(k, a, p.code, p.said);
      CHECK(p.code == -1);
      CHECK(p.said.find("(kernel " + std::to_string(k) + "): changes 1") != p.said.npos);
      ++tried;
      break;
    }
  }
  CHECK(tried == 5);
}

TEST_CASE("emulated: a kernel that reads a buffer whose life is over is refused") {
  const nk::testing::compiled_plan made = find_subject();
  const on_cuda::plan_view plan = made.plan;
  const nk::passes::memory_plan placed = nk::planning::plan_memory_of(plan.lives, plan.count.lives);
  std::size_t tried = 0;
  for (std::size_t i = 0; i < plan.count.instructions && tried < 5; ++i) {
    const nk::planning::instruction& now = plan.instructions[i];
    if (now.kind != nk::planning::unit_kind::kernel) continue;
    const nk::planning::kernel_record& r = plan.kernels[now.index];
    for (std::int32_t a = 0; a < r.accesses; ++a) {
      std::vector<nk::planning::access_record> accesses(plan.accesses, plan.accesses + plan.count.accesses);
      nk::planning::location& from = accesses[static_cast<std::size_t>(r.first_access + a)].base;
      if (accesses[static_cast<std::size_t>(r.first_access + a)].written || from.where != region::arena)
        continue;
      // One that ended before, where nothing has begun since.
      std::size_t over = 0;
      const auto is_over = [&](std::size_t l) {
        const std::size_t begin = placed.offsets[l], end = begin + plan.lives[l].bytes;
        if (plan.lives[l].bytes == 0 || plan.lives[l].last >= now.time) return false;
        for (std::size_t k = 0; k < plan.count.lives; ++k)
          if (plan.lives[k].first <= now.time && now.time <= plan.lives[k].last && placed.offsets[k] < end &&
              begin < placed.offsets[k] + plan.lives[k].bytes)
            return false;
        return true;
      };
      while (over < plan.count.lives && !is_over(over)) ++over;
      if (over == plan.count.lives) continue;
      from.at = placed.offsets[over];
      on_cuda::plan_view changed = plan;
      changed.accesses = accesses.data();
      const nk::testing::ended_process p = nk::testing::in_a_process([&] { run(changed, made.kernels); });
      CAPTURE(i, a, over, p.code, p.said);
      CHECK(p.code == -1);
      CHECK(p.said.find("reads what nothing has written") != p.said.npos);
      ++tried;
      break;
    }
  }
  CHECK(tried == 5);
}

TEST_CASE("emulated: a sticky error at any call ends the process") {
  const int before = device().calls;
  CHECK(nk::testing::check_tensors_on_gpu() == "");
  const int calls = device().calls - before;
  REQUIRE(calls > 50);
  for (int k = 1; k <= calls; k += 7) {
    const nk::testing::ended_process p = nk::testing::in_a_process([k] {
      device().error_code = 700;
      device().fail_at = device().calls + k;
      (void)nk::testing::check_tensors_on_gpu();
    });
    CAPTURE(k, p.said);
    CHECK(p.code == on_cuda::device_exit_code);
    CHECK(p.said.find("napkin: cu") == 0);
    CHECK(p.said.find("CUDA cannot be used again in this process\n") != p.said.npos);
  }
}
