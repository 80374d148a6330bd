// How far the rounding of intermediate values carries what comes of them: what two ways to compute a graph may
// differ by, where neither is wrong.
#pragma once

#include <cstdint>
#include <vector>

#include "napkin/graph/graph.hpp"

namespace napkin::testing {

/// That of each element of each output, found as stochastic arithmetic finds it (Vignes 1993): the graph in
/// doubles, three times over with every value of a float nudged by some share of its dtype's unit roundoff,
/// beside the graph without. To the largest change of an element come the root mean square of its output's,
/// so that none is taken for exact by chance, and the roundoff of the largest number in the graph. Infinite
/// where nudges change a tenth of the element, and a millionth of the largest: roundings decide what it is.
std::vector<std::vector<double>> rounding_noise(const graph_view& g,
                                                const std::vector<std::vector<double>>& inputs,
                                                std::uint64_t seed);

}  // namespace napkin::testing
