#include "support/instruction_watch.hpp"

#include "support/plan_watch.hpp"

namespace napkin::testing {

instruction_watch::instruction_watch(fake_cuda& cuda)
    : found([&cuda](const std::string& what) { cuda.misuse.push_back(what); }), cuda_(&cuda) {
  cuda.copied = [this](const void* to, std::size_t bytes) {
    if (running_) running_->accept(to, bytes);
  };
}

void instruction_watch::before(const on_cuda::bound_plan& of, std::size_t i, on_cuda::stream_handle on) {
  if (put_ == nullptr || i <= last_ || arena_ != of.arena || plan_ != of.plan.instructions) {  // another run
    std::vector<std::span<std::byte>> memory{cuda_->allocation_of(of.arena)};
    for (const void* x : of.inputs) memory.push_back(cuda_->allocation_of(x));
    for (const void* x : of.outputs) memory.push_back(cuda_->allocation_of(x));
    put_ = std::make_shared<plan_watch<on_cuda::product>>(
        of.plan, of.arena, of.outputs, memory,
        std::span(reinterpret_cast<std::byte*>(of.fault), of.fault == nullptr ? 0 : sizeof *of.fault));
    put_->poisoned = poisoned;
    put_->done_by.assign(of.taken_by.begin(), of.taken_by.end());
    arena_ = of.arena;
    plan_ = of.plan.instructions;
  }
  last_ = i;
  cuda_->launch(on, [this, watch = put_, i] {
    watch->before(i);
    running_ = watch.get();
  });
}
void instruction_watch::after(std::size_t i, on_cuda::stream_handle on) {
  cuda_->launch(on, [this, watch = put_, i] {
    running_ = nullptr;
    ++instructions;
    if (const std::string what = watch->after(i); !what.empty()) found(what);
  });
}

}  // namespace napkin::testing
