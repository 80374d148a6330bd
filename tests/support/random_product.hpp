// Random products that no GEMM says: of any strides, windows as convolutions have them among these, with their
// results by plain loops in f64 (of integers in i64), exact for the numbers that are drawn, rounded once.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "napkin/cuda/plan.hpp"
#include "napkin/plan/scalar.hpp"

namespace napkin::testing {

/// Labels of each kind (batch, rows, columns, summed) stand in a, b and c or do not.
constexpr bool has_kind[4][3] = {
    {true, true, true}, {true, false, true}, {false, true, true}, {true, true, false}};

inline std::size_t below(std::mt19937& random, std::size_t n) { return random() % n; }

struct product_axis {
  std::size_t size, kind;
};
struct product_operand {
  std::vector<std::int32_t> labels;
  shape sizes;
  stride_list strides;
  std::ptrdiff_t origin = 0;  // of index 0
  std::size_t elements = 1;

  passes::contraction_operand view() const { return {{labels.data(), labels.size()}, sizes, strides}; }
  std::ptrdiff_t stride_of(std::size_t label) const {
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (labels[i] == static_cast<std::int32_t>(label)) return strides[i];
    return 0;
  }
};

/// Axes in any order in memory, some apart or backwards; of what is read some broadcast, and some as a
/// convolution's windows are: two of one stride. `unit`: what strides are multiples of, the nearest excepted.
inline product_operand make_operand(std::mt19937& random, const std::vector<product_axis>& axes,
                                    std::size_t which, std::size_t unit) {
  product_operand x;
  for (std::size_t l = 0; l < axes.size(); ++l)
    if (has_kind[axes[l].kind][which]) x.labels.push_back(static_cast<std::int32_t>(l));
  std::shuffle(x.labels.begin(), x.labels.end(), random);
  std::vector<std::size_t> order(x.labels.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    x.sizes.push_back(axes[static_cast<std::size_t>(x.labels[i])].size);
    x.strides.push_back(0);
  }
  std::shuffle(order.begin(), order.end(), random);
  const bool wild = below(random, 2) == 0;
  std::ptrdiff_t stride = wild && below(random, 4) == 0 ? 2 : 1, lowest = 0, highest = 0, last = 0;
  for (const std::size_t i : order) {
    const std::size_t what = wild ? below(random, 8) : 7;
    const auto size = static_cast<std::ptrdiff_t>(std::max<std::size_t>(x.sizes[i], 1));
    if (which < 2 && what == 0)
      x.strides[i] = 0;
    else if (which < 2 && what == 1 && last != 0)
      x.strides[i] = last;
    else {
      last = x.strides[i] = what == 2 ? -stride : stride;
      stride *= size;
      const auto whole = static_cast<std::ptrdiff_t>(unit);
      stride = (stride + whole - 1) / whole * whole;
    }
    (x.strides[i] < 0 ? lowest : highest) += x.strides[i] * (size - 1);
  }
  x.origin = -lowest;
  x.elements = static_cast<std::size_t>(highest - lowest) + 1;
  return x;
}

inline std::vector<product_axis> make_axes(std::mt19937& random, bool long_sum) {
  std::vector<product_axis> axes;
  const std::size_t most[4] = {3, 300, below(random, 2) == 0 ? 16u : 150u, long_sum ? 1500u : 90u};
  std::size_t points[4] = {1, 1, 1, 1};
  for (std::size_t kind = 0; kind < 4; ++kind) {
    const std::size_t loops = 1 + below(random, 3);
    for (std::size_t l = 0; l < loops && axes.size() < max_rank; ++l) {
      const std::size_t rest = most[kind] / points[kind];
      std::size_t size =
          l + 1 == loops ? 1 + below(random, rest) : 1 + below(random, std::min<std::size_t>(rest, 9));
      if (below(random, 3) == 0) size = std::max<std::size_t>(size / 8 * 8, 1);
      if (below(random, 80) == 0) size = 0;
      axes.push_back({size, kind});
      points[kind] *= std::max<std::size_t>(size, 1);
    }
  }
  return axes;
}

/// long_sums: so many of four have sums that blocks share.
template <dtype Type>
struct random_product {
  using T = type_of<Type>;
  on_cuda::product p;
  std::vector<T> a, b, c, want;                   // c: what lies there before
  std::ptrdiff_t from_a = 0, from_b = 0, to = 0;  // index 0

  explicit random_product(std::mt19937& random, std::size_t long_sums = 1) {
    using A = type_of<accumulator_of(Type)>;
    constexpr bool whole = is_integer(Type);
    const std::vector<product_axis> axes = make_axes(random, below(random, 4) < long_sums);
    const std::size_t unit = below(random, 2) == 0 ? 8 : 1;
    const product_operand x[3] = {make_operand(random, axes, 0, unit), make_operand(random, axes, 1, unit),
                                  make_operand(random, axes, 2, 1)};
    const auto shift = static_cast<std::ptrdiff_t>(below(random, 4) == 0);  // an element off 16 bytes
    const auto drawn = [&](std::size_t elements) {
      std::vector<T> made(elements);
      for (T& v : made) v = static_cast<T>(static_cast<float>(below(random, 5)) - (whole ? 0.0f : 2.0f));
      return made;
    };
    a = drawn(x[0].elements + static_cast<std::size_t>(shift));
    if constexpr (whole && sizeof(T) <= 4)  // of all its bits: what is stored of a sum wraps around
      for (T& v : a) v = static_cast<T>(random());
    b = drawn(x[1].elements);
    want = c = drawn(x[2].elements);
    from_a = x[0].origin + shift, from_b = x[1].origin, to = x[2].origin;
    p.type = Type;
    p.loops = passes::group_labels(x[0].view(), x[1].view(), x[2].view());
    p.workspace = static_cast<std::size_t>(on_cuda::tile_workspace(Type, p.loops));

    bool no_sum = false;
    for (const product_axis& axis : axes) {
      if (axis.size == 0 && axis.kind != 3) return;
      no_sum = no_sum || axis.size == 0;
    }
    std::ptrdiff_t step[max_rank][3];
    for (std::size_t l = 0; l < axes.size(); ++l)
      for (std::size_t o = 0; o < 3; ++o) step[l][o] = x[o].stride_of(l);
    const std::vector<A> wide_a(a.begin(), a.end()), wide_b(b.begin(), b.end());
    std::vector<A> sums(c.size());
    std::vector<char> written(c.size(), 0);
    std::size_t longest = 0;
    for (std::size_t l = 1; l < axes.size(); ++l)
      if (axes[l].size > axes[longest].size) longest = l;
    std::size_t index[max_rank]{};
    for (bool more = true; more;) {  // every index of every axis; a summed axis without any is walked once
      std::ptrdiff_t at[3] = {from_a, from_b, to};
      for (std::size_t l = 0; l < axes.size(); ++l)
        for (std::size_t o = 0; o < 3; ++o) at[o] += static_cast<std::ptrdiff_t>(index[l]) * step[l][o];
      for (std::size_t i = 0; i < std::max<std::size_t>(axes[longest].size, 1); ++i) {
        const auto result = static_cast<std::size_t>(at[2]);
        written[result] = 1;
        if (!no_sum)
          sums[result] += wide_a[static_cast<std::size_t>(at[0])] * wide_b[static_cast<std::size_t>(at[1])];
        for (std::size_t o = 0; o < 3; ++o) at[o] += step[longest][o];
      }
      more = false;
      for (std::size_t l = 0; l < axes.size() && !more; ++l) {
        if (l == longest) continue;
        more = ++index[l] < axes[l].size;
        if (!more) index[l] = 0;
      }
    }
    for (std::size_t i = 0; i < c.size(); ++i)
      if (written[i] != 0) want[i] = planning::stored<Type>(planning::rounded<Type>(sums[i]));
  }
};

}  // namespace napkin::testing
