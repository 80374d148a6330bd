// Every plan that runs on a fake of CUDA, watched: its executor puts a look at the memory before and behind each
// instruction into the stream (cuda/between_instructions.hpp), where launches and replays of captured graphs come
// to it. A program that wants this defines the two functions by one of these.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "napkin/cuda/between_instructions.hpp"
#include "support/fake_cuda.hpp"

namespace napkin::testing {

template <class Product>
class plan_watch;

class instruction_watch {
 public:
  std::function<void(const std::string&)> found;  // told of what an instruction should not do
  std::function<void(std::byte*, std::size_t)>
      poisoned;                  // told of bytes in which nothing lives, if it is set
  std::size_t instructions = 0;  // that were looked at

  explicit instruction_watch(fake_cuda& cuda);
  instruction_watch(const instruction_watch&) = delete;
  instruction_watch& operator=(const instruction_watch&) = delete;
  ~instruction_watch() { cuda_->copied = nullptr; }

  /// Put into the stream a look at the memory before instruction i, and one behind it.
  void before(const on_cuda::bound_plan& of, std::size_t i, on_cuda::stream_handle on);
  void after(std::size_t i, on_cuda::stream_handle on);

 private:
  fake_cuda* cuda_;
  std::shared_ptr<plan_watch<on_cuda::product>> put_;  // of the run whose instructions are put
  std::size_t last_ = 0;
  const std::byte* arena_ = nullptr;
  const planning::instruction* plan_ = nullptr;
  plan_watch<on_cuda::product>* running_ = nullptr;  // within an instruction
};

}  // namespace napkin::testing
