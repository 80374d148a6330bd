// Random graphs as constants, compiled by nvcc: generate.cpp writes them, into sources that hold them by this
// header; graphs.cpp runs them.
#pragma once

#include <cstdint>
#include <vector>

#include "support/device_kernels.hpp"
#include "support/plan_order.hpp"

namespace napkin::testing::random_graphs {

struct compiled_graph {
  const char* kind;  // of graph, as generate.cpp calls it
  std::uint64_t seed;
  graph (*make)();
  in_place same;
  compiled_plan plan;
};

/// Those of all sources.
inline std::vector<compiled_graph>& all() {
  static std::vector<compiled_graph> graphs;
  return graphs;
}

#if defined(__CUDACC__)
/// As a constant it adds Make's graph, before main.
template <class Make>
struct added {
  using plan = on_cuda::frozen_plan<Make>;
  added(const char* kind, std::uint64_t seed, in_place same) {
    all().push_back(
        {kind, seed, &Make::make, same, {plan::view(), plan::graph(), on_cuda::kernels_of<plan>.data()}});
  }
};
#endif

}  // namespace napkin::testing::random_graphs
