// A ring of batches between the thread that makes them and the one that takes them.
#include "napkin/train/prefetch.hpp"

#include <system_error>
#include <utility>

#include "napkin/core/error.hpp"

namespace napkin {

batch_prefetcher::batch_prefetcher(token_source source, std::size_t batch, std::size_t time,
                                   sampler_state state, std::size_t ahead)
    : source_(std::move(source)), sampler_(source_, batch, time, state), state_(state), free_(ahead) {
  if (ahead == 0) throw error("a prefetcher makes at least one batch ahead");
  // One more than are ahead: the one that the caller has.
  const slot empty{std::vector<std::uint16_t>(batch * time), std::vector<std::uint16_t>(batch * time), {}};
  slots_.assign(ahead + 1, empty);
  try {
    thread_ = std::thread([this] { make_batches(); });
  } catch (const std::system_error& e) {
    throw system_error(std::string("cannot start the thread that makes batches: ") + e.what());
  }
}

batch_prefetcher::~batch_prefetcher() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void batch_prefetcher::make_batches() {
  for (std::uint64_t n = 0;; ++n) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopped_ || n < free_; });
      if (stopped_) return;
    }
    slot& to = slots_[n % slots_.size()];
    try {
      sampler_.next(to.tokens, to.targets);
    } catch (...) {
      to.problem = std::current_exception();
    }
    const bool failed = to.problem != nullptr;
    {
      const std::lock_guard lock(mutex_);
      made_ = n + 1;
    }
    changed_.notify_all();
    if (failed) return;
  }
}

token_batch batch_prefetcher::next() {
  const slot& from = slots_[handed_out_ % slots_.size()];
  {
    const std::lock_guard lock(mutex_);
    free_ = handed_out_ + slots_.size();  // the batch before this one is given back
  }
  changed_.notify_all();
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return made_ > handed_out_; });
  }
  if (from.problem) std::rethrow_exception(from.problem);
  ++handed_out_;
  return {from.tokens, from.targets};
}

}  // namespace napkin
