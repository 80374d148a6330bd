// A graph as text, one line a node, for people and for golden files: the format is stable.
#pragma once

#include <string>

#include "napkin/graph/graph.hpp"

namespace napkin {

/// The nodes in order, then the outputs. A legal graph's (passes/verify.hpp) prints as
///
///   %0 f32[4,16] = input slot=0
///   %1 f32[4,16] = constant 0.5
///   %2 f32[4,16] = mul(%0, %1)
///   %3 f32[16,2,4] = expand(%2) axes=[1,_,0]
///   %4 f32[16,16] = einsum(%2, %2) "ab,ac->bc" composite=3 origin=7
///   return %3, %4
///
/// Constants are written in the fewest digits that read back as the same double; composite and origin only
/// where a node has them.
std::string to_string(const graph_view& g);

}  // namespace napkin
