// A graph run on the CPU at run time, kernels interpreted: from doubles to typed memory and back.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "napkin/cpu/interpret_kernel.hpp"
#include "napkin/cpu/plan.hpp"

namespace napkin::testing {

using raw_bytes = std::vector<std::byte>;

inline raw_bytes to_bytes(const std::vector<double>& values, dtype type) {
  raw_bytes out(values.size() * size_of(type) + 1);  // never empty: an address is wanted
  dispatch(type, [&]<class T>(std::type_identity<T>) {
    if constexpr (!is_complex(dtype_of<T>))
      for (std::size_t i = 0; i < values.size(); ++i) {
        const T x = static_cast<T>(values[i]);
        std::memcpy(out.data() + i * sizeof(T), static_cast<const void*>(&x), sizeof x);
      }
  });
  out.pop_back();
  return out;
}

inline std::vector<double> to_doubles(const raw_bytes& from, dtype type) {
  std::vector<double> out(from.size() / size_of(type));
  dispatch(type, [&]<class T>(std::type_identity<T>) {
    if constexpr (!is_complex(dtype_of<T>))
      for (std::size_t i = 0; i < out.size(); ++i) {
        T x;
        std::memcpy(static_cast<void*>(&x), from.data() + i * sizeof(T), sizeof x);
        out[i] = static_cast<double>(x);
      }
  });
  return out;
}

/// The inputs of a graph as tensors of their dtypes hold them.
inline std::vector<raw_bytes> typed_inputs(const graph_view& g,
                                           const std::vector<std::vector<double>>& values) {
  std::vector<raw_bytes> out(values.size());
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    if (g[id].kind == op::input) {
      const auto slot = static_cast<std::size_t>(g.attribute(id, 0));
      out[slot] = to_bytes(values[slot], g[id].type);
    }
  return out;
}

/// Run a graph that cpu::lower_graph has made. The arena, and the outputs, hold `poison` before.
inline std::vector<raw_bytes> run_lowered(const graph_view& lowered, on_cpu::plan_options options,
                                          const std::vector<raw_bytes>& inputs, std::byte poison) {
  const on_cpu::plan p = on_cpu::make_plan(lowered, options);
  std::vector<raw_bytes> out;
  std::vector<const void*> from;
  std::vector<void*> to;
  for (const raw_bytes& in : inputs) from.push_back(in.data());
  for (std::int32_t id : lowered.output_ids())
    out.emplace_back(numel(lowered.shape_of(id)) * size_of(lowered[id].type), poison);
  for (raw_bytes& o : out) to.push_back(o.data());
  on_cpu::run_plan_interpreted(on_cpu::view_of(p), from, to, poison);
  return out;
}

/// Equal bits, or both NaN (which NaN it is, is left open): the first element that differs, -1 for none.
inline std::ptrdiff_t first_difference(const raw_bytes& a, const raw_bytes& b, dtype type) {
  if (a.size() != b.size()) return 0;
  if (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0) return -1;
  const std::vector<double> x = to_doubles(a, type), y = to_doubles(b, type);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool both_nan = is_floating(type) && x[i] != x[i] && y[i] != y[i];
    const std::size_t at = i * size_of(type);
    if (!both_nan && std::memcmp(a.data() + at, b.data() + at, size_of(type)) != 0)
      return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

}  // namespace napkin::testing
