#include "support/run_plan.hpp"

#include <cstring>

#include "napkin/cpu/executor.hpp"
#include "napkin/cpu/interpret_kernel.hpp"
#include "support/plan_watch.hpp"
#include "support/planned.hpp"

namespace napkin::testing {

raw_bytes to_bytes(const std::vector<double>& values, dtype type) {
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

std::vector<double> to_doubles(const raw_bytes& from, dtype type) {
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

std::vector<raw_bytes> typed_inputs(const graph_view& g, const std::vector<std::vector<double>>& values) {
  std::vector<raw_bytes> out(values.size());
  for (int id = 0; id < static_cast<int>(g.size()); ++id)
    if (g[id].kind == op::input) {
      const auto slot = static_cast<std::size_t>(g.attribute(id, 0));
      out[slot] = to_bytes(values[slot], g[id].type);
    }
  return out;
}

void run_plan_watched(const on_cpu::plan_view& p, const on_cpu::kernel_pointer* kernels,
                      std::span<const void* const> from, std::span<void* const> to,
                      std::vector<std::span<std::byte>> looked_at) {
  const storage arena(p.peak);
  auto* const memory = static_cast<std::byte*>(arena.data());
  looked_at.emplace_back(memory, p.peak);
  plan_watch<on_cpu::contraction_plan> watch(p, memory, to, looked_at);
  on_cpu::executor run(p, kernels, memory);
  run.bind(from, to);
  for (std::size_t i = 0; i < p.count.instructions; ++i) {
    watch.before(i);
    run.run_instruction(i);
    if (const std::string found = watch.after(i); !found.empty()) throw error(found);
  }
}
void run_plan_watched(const on_cpu::plan_view& p, const on_cpu::kernel_pointer* kernels,
                      const std::vector<raw_bytes>& inputs, std::vector<raw_bytes>& outputs) {
  std::vector<const void*> from;
  std::vector<void*> to;
  std::vector<std::span<std::byte>> looked_at;
  for (const raw_bytes& x : inputs) {
    from.push_back(x.data());
    looked_at.emplace_back(const_cast<std::byte*>(x.data()), x.size());
  }
  for (raw_bytes& x : outputs) {
    to.push_back(x.data());
    looked_at.emplace_back(x);
  }
  run_plan_watched(p, kernels, from, to, looked_at);
}
std::vector<on_cpu::kernel_pointer> interpreted_kernels(const on_cpu::plan_view& p) {
  return std::vector<on_cpu::kernel_pointer>(p.count.programs, &on_cpu::interpret_kernel);
}
void run_plan_watched(const on_cpu::plan_view& p, const std::vector<raw_bytes>& inputs,
                      std::vector<raw_bytes>& outputs) {
  run_plan_watched(p, interpreted_kernels(p).data(), inputs, outputs);
}

std::vector<raw_bytes> run_lowered(const graph_view& lowered, on_cpu::plan_options options,
                                   const std::vector<raw_bytes>& inputs, std::byte poison) {
  const on_cpu::plan p = planned<on_cpu::target>(lowered, options);
  std::vector<raw_bytes> out;
  for (std::int32_t id : lowered.output_ids())
    out.emplace_back(numel(lowered.shape_of(id)) * size_of(lowered[id].type), poison);
  run_plan_watched(on_cpu::view_of(p), inputs, out);
  return out;
}

std::ptrdiff_t first_difference(const raw_bytes& a, const raw_bytes& b, dtype type) {
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
