// The counts of owners and of bytes, and what is freed with the last owner.
#include "napkin/tensor/storage.hpp"

#include <atomic>
#include <new>
#include <string>

#include "napkin/core/error.hpp"

namespace napkin {
namespace {

std::atomic<std::size_t> held_bytes{0}, peak_bytes{0};

void count_allocation(std::size_t bytes) {
  const std::size_t held = held_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::size_t peak = peak_bytes.load(std::memory_order_relaxed);
  while (peak < held && !peak_bytes.compare_exchange_weak(peak, held, std::memory_order_relaxed)) {
  }
}

}  // namespace

std::size_t memory_allocated() { return held_bytes.load(std::memory_order_relaxed); }
std::size_t max_memory_allocated() { return peak_bytes.load(std::memory_order_relaxed); }
void reset_max_memory_allocated() { peak_bytes = held_bytes.load(); }

storage storage::adopt(void* data, std::size_t bytes, void (*release)(void*) noexcept, void* context) {
  storage adopted;
  adopted.block_ = new block{1, bytes, data, release, context};
  return adopted;
}

storage::block* storage::allocate(std::size_t bytes) {
  constexpr std::size_t most = std::size_t{1} << 47;  // no address space has more
  void* memory = nullptr;
  if (bytes <= most) {
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    memory = ::operator new (sizeof(block) + rounded, std::align_val_t{alignment}, std::nothrow);
  }
  if (memory == nullptr)
    throw system_error("storage: the system has no " + std::to_string(bytes) + " bytes left (" +
                       std::to_string(memory_allocated()) + " bytes are held by tensors)");
  count_allocation(bytes);
  return ::new (memory) block{1, bytes, static_cast<std::byte*>(memory) + sizeof(block), nullptr, nullptr};
}

std::size_t storage::use_count() const noexcept {
  return block_ == nullptr ? 0 : std::atomic_ref(block_->owners).load(std::memory_order_acquire);
}

void storage::share(block& of) noexcept {
  std::atomic_ref(of.owners).fetch_add(1, std::memory_order_relaxed);
}

void storage::drop(block* of) noexcept {
  if (std::atomic_ref(of->owners).fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (of->release != nullptr) {
    of->release(of->context);
    delete of;
    return;
  }
  held_bytes.fetch_sub(of->bytes, std::memory_order_relaxed);
  of->~block();
  ::operator delete (static_cast<void*>(of), std::align_val_t{alignment});
}

}  // namespace napkin
