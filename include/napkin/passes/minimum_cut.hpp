// The cheapest set of edges whose removal parts a network's sink from its source: what decides a choice where
// each thing is on one of two sides. Source: Dinitz 1970, "Algorithm for solution of a problem of maximum
// flow in networks with power estimation".
#pragma once

#include <cstddef>
#include <cstdint>

#include "napkin/core/buffer.hpp"

namespace napkin {

namespace passes {

/// Vertices 0 (the source), 1 (the sink), and what add_vertex gives.
class flow_network {
 public:
  static constexpr std::int32_t source = 0, sink = 1;
  static constexpr double unlimited = 1e300;

  constexpr flow_network() : first_(2, -1) {}
  constexpr std::int32_t add_vertex() {
    first_.push_back(-1);
    return static_cast<std::int32_t>(first_.size() - 1);
  }
  /// The edge's number, by which its capacity can be set anew.
  constexpr std::int32_t add_edge(std::int32_t from, std::int32_t to, double capacity) {
    const auto at = static_cast<std::int32_t>(edges_.size());
    edges_.push_back({to, first_.items[from], capacity});
    first_.items[from] = at;
    edges_.push_back({from, first_.items[to], 0});
    first_.items[to] = at + 1;
    return at;
  }
  /// So much more capacity: what flows still may.
  constexpr void widen(std::int32_t which, double by) { edges_.items[which].room += by; }

  /// By vertex: whether it is on the sink's side of a minimum cut; of several, the one with fewest there.
  /// What flows stays, so that a cut after some edges were widened takes little more.
  constexpr buffer<bool> cut() {
    next_.resize(first_.size());
    distance_.resize(first_.size());
    queue_.resize(first_.size());
    while (reach()) {
      copy_run(first_.data(), first_.size(), next_.data());
      fill();
    }
    buffer<bool> side(first_.size(), false);
    for (std::size_t v = 0; v < side.size(); ++v) side[v] = distance_[v] >= 0;
    return side;
  }

 private:
  struct edge {
    std::int32_t to, next;  // next: of those that leave the same vertex
    double room;            // what more may flow
  };
  buffer<edge> edges_;  // each behind the one that it undoes
  buffer<std::int32_t> first_, next_, distance_, queue_;

  /// Edges from the sink, backwards along what has room; whether that comes to the source. Vertices that are
  /// farther than it are left out, unless it does not. Plain pointers: constant evaluation counts calls.
  constexpr bool reach() {
    std::int32_t *const distance = distance_.data(), *const queue = queue_.data();
    const std::int32_t* const first = first_.data();
    const edge* const edges = edges_.data();
    for (std::size_t v = 0; v < distance_.size(); ++v) distance[v] = -1;
    distance[sink] = 0;
    queue[0] = sink;
    for (std::size_t at = 0, count = 1; at < count; ++at) {
      const std::int32_t v = queue[at], farther = distance[v] + 1;
      for (std::int32_t e = first[v]; e >= 0; e = edges[e].next) {
        const std::int32_t u = edges[e].to;
        if (distance[u] >= 0 || !(edges[e ^ 1].room > 0)) continue;
        distance[u] = farther;
        if (u == source) return true;
        queue[count++] = u;
      }
    }
    return false;
  }
  /// Flow along shortest ways until none is left. A loop: constant evaluation bounds how deep calls go.
  constexpr void fill() {
    const std::int32_t* const distance = distance_.data();
    edge* const edges = edges_.data();
    std::int32_t* const next = next_.data();
    buffer<std::int32_t> path;  // edges from the source to v
    std::int32_t v = source;
    while (true) {
      if (v == sink) {
        double least = unlimited;
        std::size_t narrowest = 0;
        for (std::size_t i = 0; i < path.size(); ++i)
          if (edges[path[i]].room < least) {
            least = edges[path[i]].room;
            narrowest = i;
          }
        for (const std::int32_t e : path) {
          edges[e].room -= least;
          edges[e ^ 1].room += least;
        }
        v = edges[path[narrowest] ^ 1].to;
        path.resize(narrowest);
        continue;
      }
      std::int32_t& e = next[v];
      while (e >= 0 && !(edges[e].room > 0 && distance[edges[e].to] == distance[v] - 1)) e = edges[e].next;
      if (e >= 0) {
        path.push_back(e);
        v = edges[e].to;
      } else if (path.empty()) {
        return;
      } else {  // v leads nowhere: not that way again
        const std::int32_t back = path.back();
        path.pop_back();
        v = edges[back ^ 1].to;
        next[v] = edges[back].next;
      }
    }
  }
};

}  // namespace passes
}  // namespace napkin
