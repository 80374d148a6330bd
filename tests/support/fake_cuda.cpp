#include "support/fake_cuda.hpp"

fake_cuda::~fake_cuda() {
  for (const auto& [memory, x] : blocks_) std::free(memory);
  for (auto* x : streams_) delete x;
  for (auto* x : events_) delete x;
  for (auto* x : graphs_) delete x;
}
