// One run of a plan.
#include "napkin/cuda/run_once.hpp"

#include <cstring>
#include <vector>

#include "napkin/cuda/memory.hpp"
#include "napkin/cuda/transfer.hpp"
#include "napkin/plan/uses.hpp"

namespace napkin::on_cuda {
namespace {

constexpr std::size_t number_room = 16;  // bytes of each number: what a kernel asks of addresses

bool looks_up(const plan_view& p) {
  for (std::size_t i = 0; i < p.count.movements; ++i)
    if (planning::looks_up(p.movements[i].kind)) return true;
  return false;
}

}  // namespace

void run_once(session& s, const plan_view& p, const kernel_entry* kernels, std::span<const leaf> inputs,
              std::span<void* const> outputs, std::source_location where) {
  const using_device here = s.use(where);
  // The arena, the numbers, and what a gather notes.
  const std::size_t arena = passes::aligned(p.peak);
  const std::size_t numbers = passes::aligned(inputs.size() * number_room);
  const device_memory memory(s.calls(), arena + numbers + sizeof(index_fault), where);
  std::vector<std::byte> host(numbers + sizeof(index_fault));
  std::vector<const void*> addresses;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::size_t room = i * number_room;
    if (inputs[i].number_bytes != 0) std::memcpy(host.data() + room, inputs[i].at, inputs[i].number_bytes);
    addresses.push_back(inputs[i].number_bytes == 0 ? inputs[i].at : memory.data() + arena + room);
  }
  copy_to_device(s.on(), memory.data() + arena, host, where);

  std::byte* const noted = memory.data() + arena + numbers;
  executor run(p, kernels, memory.data(), reinterpret_cast<index_fault*>(noted), s.blas(where), s.choices());
  run.bind(addresses, outputs);
  run.run(s.on());
  index_fault fault;
  if (looks_up(p))
    copy_to_host(s.on(), std::as_writable_bytes(std::span(&fault, 1)), noted, where);
  else
    s.on().synchronize(where);  // errors of kernels appear here; the arena is given back
  throw_if_noted(fault);
}

}  // namespace napkin::on_cuda
