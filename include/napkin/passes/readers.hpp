// Who reads a node of a fused graph, views looked through.
#pragma once

#include "napkin/passes/fusion.hpp"

namespace napkin {

namespace passes {

/// By node: a run of the computed nodes that read it, one for each operand that does, ascending.
class reader_list {
  // Before what calls it: clang evaluates no template whose body stands behind the call.
  static constexpr void for_each_read(const graph_view& g, const fusion& f, auto&& read) {
    const std::int32_t* const unit_of = f.unit_of.data();
    const reference* const references = f.references.data();
    for (int id = 0; id < static_cast<int>(g.node_count); ++id)
      if (unit_of[id] >= 0) {
        const std::int32_t* x = g.pool + g.nodes[id].first_operand;
        for (const std::int32_t* end = x + g.nodes[id].arity; x != end;) read(id, references[*x++].base);
      }
  }

 public:
  constexpr reader_list(const graph_view& g, const fusion& f) : first_(g.size() + 1, 0) {
    std::int32_t* const first = first_.data();
    std::int32_t sum = 0;
    for_each_read(g, f, [&](int, int base) { ++first[base]; });
    for (std::size_t id = 0; id <= g.size(); ++id) {
      const std::int32_t count = first[id];
      first[id] = sum;
      sum += count;
    }
    readers_.resize(static_cast<std::size_t>(sum), -1);
    buffer<std::int32_t> next = first_;
    for_each_read(g, f, [&](int id, int base) { readers_.items[next.items[base]++] = id; });
  }
  constexpr ids of(int id) const {
    const std::int32_t* const first = first_.data();
    return {readers_.data() + first[id], static_cast<std::size_t>(first[id + 1] - first[id])};
  }

 private:
  buffer<std::int32_t> first_, readers_;
};

}  // namespace passes
}  // namespace napkin
