// gather, scatter_add, pad and concat on the CPU: strided copies, prepared once and then run.
#pragma once

#include <cstddef>

#include "napkin/cpu/plan.hpp"

namespace napkin::on_cpu {

class movement {
 public:
  movement() = default;
  movement(const movement_record& record, const std::byte* from, const std::byte* index, std::byte* to);
  void run() const;

 private:
  const movement_record* record_ = nullptr;
  const std::byte* from_ = nullptr;
  const std::byte* index_ = nullptr;
  std::byte* to_ = nullptr;

  void place() const;  // pad, concat
  void gather() const;
  void scatter_add() const;
};

}  // namespace napkin::on_cpu
