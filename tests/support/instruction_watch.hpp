// Every plan that runs on a fake of CUDA, watched: its executor puts a look at the memory before and behind each
// instruction into the stream (cuda/between_instructions.hpp), where launches and replays of captured graphs come
// to it. A program that wants this defines the two functions by one of these.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "napkin/cuda/between_instructions.hpp"
#include "support/fake_cuda.hpp"
#include "support/plan_watch.hpp"

namespace napkin::testing {

class instruction_watch {
 public:
  std::function<void(const std::string&)> found;  // told of what an instruction should not do
  std::function<void(std::byte*, std::size_t)>
      poisoned;                  // told of bytes in which nothing lives, if it is set
  std::size_t instructions = 0;  // that were looked at

  explicit instruction_watch(fake_cuda& cuda)
      : found([&cuda](const std::string& what) { cuda.misuse.push_back(what); }), cuda_(&cuda) {
    cuda.copied = [this](const void* to, std::size_t bytes) {
      if (running_) running_->accept(to, bytes);
    };
  }
  instruction_watch(const instruction_watch&) = delete;
  instruction_watch& operator=(const instruction_watch&) = delete;
  ~instruction_watch() { cuda_->copied = nullptr; }

  void before(const on_cuda::bound_plan& of, std::size_t i, on_cuda::stream_handle on) {
    if (put_ == nullptr || i <= last_ || arena_ != of.arena ||
        plan_ != of.plan.instructions) {  // another run
      std::vector<std::span<std::byte>> memory{cuda_->allocation_of(of.arena)};
      for (const void* x : of.inputs) memory.push_back(cuda_->allocation_of(x));
      for (const void* x : of.outputs) memory.push_back(cuda_->allocation_of(x));
      put_ = std::make_shared<plan_watch<on_cuda::product>>(
          of.plan, of.arena, of.outputs, memory,
          std::span(reinterpret_cast<std::byte*>(of.fault), of.fault == nullptr ? 0 : sizeof *of.fault));
      put_->poisoned = poisoned;
      arena_ = of.arena;
      plan_ = of.plan.instructions;
    }
    last_ = i;
    cuda_->launch(on, [this, watch = put_, i] {
      watch->before(i);
      running_ = watch.get();
    });
  }
  void after(std::size_t i, on_cuda::stream_handle on) {
    cuda_->launch(on, [this, watch = put_, i] {
      running_ = nullptr;
      ++instructions;
      if (const std::string what = watch->after(i); !what.empty()) found(what);
    });
  }

 private:
  fake_cuda* cuda_;
  std::shared_ptr<plan_watch<on_cuda::product>> put_;  // of the run whose instructions are put
  std::size_t last_ = 0;
  const std::byte* arena_ = nullptr;
  const planning::instruction* plan_ = nullptr;
  plan_watch<on_cuda::product>* running_ = nullptr;  // within an instruction
};

}  // namespace napkin::testing
