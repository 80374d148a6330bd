// A ring of batches between the thread that makes them and the one that takes them.
#include "napkin/train/prefetch.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "napkin/core/error.hpp"

namespace napkin {
namespace {

struct slot {
  std::vector<std::uint16_t> tokens, targets;
  std::exception_ptr problem;
};

}  // namespace

struct batch_prefetcher::implementation {
  // of the thread
  token_source source;
  batch_sampler sampler;
  // of the caller
  const sampler_state first;
  std::uint64_t handed_out = 0;

  std::vector<slot> slots;       // batch n lies in slot n % size; whose it is, the numbers below say
  std::mutex mutex;              // of these
  std::uint64_t made = 0, room;  // batches made, and that there is room for
  bool stopped = false;
  std::condition_variable changed;
  std::thread thread;

  implementation(token_source text, std::size_t batch, std::size_t time, sampler_state state,
                 std::size_t ahead)
      : source(std::move(text)), sampler(source, batch, time, state), first(state), room(ahead) {
    // One more than are ahead: the one that the caller has.
    const slot empty{std::vector<std::uint16_t>(batch * time), std::vector<std::uint16_t>(batch * time), {}};
    slots.assign(ahead + 1, empty);
  }

  void make_batches() {
    for (std::uint64_t n = 0;; ++n) {
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return stopped || n < room; });
        if (stopped) return;
      }
      slot& to = slots[n % slots.size()];
      try {
        sampler.next(to.tokens, to.targets);
      } catch (...) {
        to.problem = std::current_exception();
      }
      const bool failed = to.problem != nullptr;
      {
        const std::lock_guard lock(mutex);
        made = n + 1;
      }
      changed.notify_all();
      if (failed) return;
    }
  }
};

batch_prefetcher::batch_prefetcher(token_source source, std::size_t batch, std::size_t time,
                                   sampler_state state, std::size_t ahead) {
  if (ahead == 0) throw error("a prefetcher makes at least one batch ahead");
  made_ = box<implementation>(std::in_place, std::move(source), batch, time, state, ahead);
  try {
    made_->thread = std::thread([of = &*made_] { of->make_batches(); });
  } catch (const std::system_error& e) {
    throw system_error(std::string("cannot start the thread that makes batches: ") + e.what());
  }
}

batch_prefetcher::~batch_prefetcher() {
  {
    const std::lock_guard lock(made_->mutex);
    made_->stopped = true;
  }
  made_->changed.notify_all();
  made_->thread.join();
}

sampler_state batch_prefetcher::state() const {
  return {made_->first.seed, made_->first.step + made_->handed_out};
}

token_batch batch_prefetcher::next() {
  implementation& m = *made_;
  {
    const std::lock_guard lock(m.mutex);
    m.room = m.handed_out + m.slots.size();  // the batch before this one is given back
  }
  m.changed.notify_all();
  {
    std::unique_lock lock(m.mutex);
    m.changed.wait(lock, [&] { return m.made > m.handed_out; });
  }
  const slot& from = m.slots[m.handed_out % m.slots.size()];
  if (from.problem) std::rethrow_exception(from.problem);
  ++m.handed_out;
  return {from.tokens, from.targets};
}

}  // namespace napkin
