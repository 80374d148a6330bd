// How many of a plan's launches no device runs at once. Of its own: where g++ knows the plan, it evaluates this
// while it compiles, which takes it longer than the plan did.
#include <napkin/cuda/plan.hpp>
#include <napkin/plan/task_order.hpp>

#include "case.hpp"

std::uint64_t napkin::benched::longest_chain(const planning::plan_view<on_cuda::product>& plan) {
  return planning::longest_chain(plan, planning::order_tasks(plan, true, false));
}
