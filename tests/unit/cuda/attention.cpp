// The GPU's kernels of attention, thread by thread on the host, against plain loops in f64: every kernel that
// is compiled, over shapes that fill its tiles and shapes that do not.
#include "napkin/cuda/attention.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <type_traits>

#include "support/host_attention.hpp"
#include "support/random_graph.hpp"

namespace nk = napkin;
using nk::dtype;
using nk::passes::attention_extent;
using nk::passes::attention_tensor;
using nk::passes::attention_tensors;
using nk::planning::attention_record;
using nk::testing::random_source;

namespace {

constexpr attention_tensor all_tensors[] = {
    attention_tensor::query,   attention_tensor::key,     attention_tensor::value,
    attention_tensor::output,  attention_tensor::log_sum, attention_tensor::delta,
    attention_tensor::d_query, attention_tensor::d_key,   attention_tensor::d_value};

struct sizes {
  std::size_t batch = 1, heads = 1, group = 1, queries = 1, keys = 1, hidden = 1, value = 1;
  bool causal = false;
  std::size_t apart = 0;  // elements between one row's end and the next
};

bool of_keys(attention_tensor x) {
  return x == attention_tensor::key || x == attention_tensor::value || x == attention_tensor::d_key ||
         x == attention_tensor::d_value;
}
bool is_sums(attention_tensor x) { return x == attention_tensor::log_sum || x == attention_tensor::delta; }
std::size_t width_of(const sizes& s, attention_tensor x) {
  if (is_sums(x)) return 1;
  const bool hidden = x == attention_tensor::query || x == attention_tensor::key ||
                      x == attention_tensor::d_query || x == attention_tensor::d_key;
  return hidden ? s.hidden : s.value;
}

/// Packed as models have it: (batch, position, head, group, width), rows `apart`.
attention_extent extent_of(const sizes& s) {
  attention_extent e;
  e.queries = s.queries;
  e.keys = s.keys;
  e.hidden = s.hidden;
  e.value = s.value;
  e.causal = s.causal;
  e.scale = 1 / std::sqrt(static_cast<double>(s.hidden));
  e.outer = {s.batch, s.heads, s.group};
  e.shared = 2;
  for (const attention_tensor x : all_tensors) {
    const auto row = static_cast<std::ptrdiff_t>(width_of(s, x) + (is_sums(x) ? 0 : s.apart));
    const auto group = static_cast<std::ptrdiff_t>(of_keys(x) ? 1 : s.group),
               heads = static_cast<std::ptrdiff_t>(s.heads);
    const auto positions = static_cast<std::ptrdiff_t>(of_keys(x) ? s.keys : s.queries);
    nk::passes::attention_walk& w = e.walk(x);
    w.width = 1;
    w.position = row * group * heads;
    w.outer = {w.position * positions, row * group, of_keys(x) ? 0 : row};
  }
  return e;
}
std::size_t elements_of(const sizes& s, attention_tensor x) {
  return s.batch * s.heads * (of_keys(x) ? s.keys : s.group * s.queries) *
         (width_of(s, x) + (is_sums(x) ? 0 : s.apart));
}

template <class T, class A>
struct tensors {
  std::vector<T> of[attention_tensors];
  std::vector<A> sums[attention_tensors];
};

/// By plain loops, in f64, from inputs that T holds.
template <class T>
tensors<double, double> expected_of(const sizes& s, const attention_extent& e, random_source& random) {
  tensors<double, double> x;
  for (const attention_tensor t : all_tensors) {
    auto& to = x.of[static_cast<std::size_t>(t)];
    to.resize(elements_of(s, t));
    for (double& v : to) v = static_cast<double>(static_cast<float>(static_cast<T>(random.uniform(-1, 1))));
  }
  const auto at = [&](attention_tensor t) { return x.of[static_cast<std::size_t>(t)].data(); };
  nk::passes::attention_loops<double, double> loops{e};
  loops.query = at(attention_tensor::query);
  loops.key = at(attention_tensor::key);
  loops.value = at(attention_tensor::value);
  std::vector<double> dy = x.of[static_cast<std::size_t>(attention_tensor::output)];
  loops.output = at(attention_tensor::output);
  loops.log_sum = at(attention_tensor::log_sum);
  for (std::size_t row = 0; row < loops.query_rows(); ++row) loops.forward_row(row);
  x.sums[0] = x.of[static_cast<std::size_t>(attention_tensor::output)];  // what forward gave
  // delta: of a row, the sum of the output times its adjoint
  const auto& y = x.sums[0];
  const std::size_t step = s.value + s.apart;
  for (std::size_t row = 0; row < y.size() / step; ++row) {
    double sum = 0;
    for (std::size_t c = 0; c < s.value; ++c) sum += y[row * step + c] * dy[row * step + c];
    at(attention_tensor::delta)[row] = sum;
  }
  x.sums[1] = dy;
  loops.output = nullptr;
  loops.log_sum = nullptr;
  loops.d_output = dy.data();
  loops.log_sums = at(attention_tensor::log_sum);
  loops.deltas = at(attention_tensor::delta);
  loops.d_query = at(attention_tensor::d_query);
  loops.d_key = at(attention_tensor::d_key);
  loops.d_value = at(attention_tensor::d_value);
  for (std::size_t row = 0; row < loops.query_rows(); ++row) loops.query_row(row);
  for (std::size_t row = 0; row < loops.key_rows(); ++row) loops.key_row(row);
  return x;
}

template <class T>
void check(const sizes& s, random_source& random, double tolerance) {
  INFO(nk::name_of(nk::dtype_of<T>) << ": batch " << s.batch << ", heads " << s.heads << ", group " << s.group
                                    << ", " << s.queries << " queries, " << s.keys << " keys, widths "
                                    << s.hidden << " and " << s.value << (s.causal ? ", causal" : ", full")
                                    << ", " << s.apart << " apart");
  const attention_extent e = extent_of(s);
  const tensors<double, double> expected = expected_of<T>(s, e, random);
  struct alignas(16) piece {
    std::byte bytes[16];
  };
  std::vector<piece> memory[attention_tensors];
  const auto put = [&](attention_tensor t, const std::vector<double>& from) {
    auto& to = memory[static_cast<std::size_t>(t)];
    const bool sums = is_sums(t);
    to.assign((from.size() * (sums ? 4 : sizeof(T)) + 15) / 16, piece{});
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (sums)
        reinterpret_cast<float*>(to.data())[i] = static_cast<float>(from[i]);
      else
        reinterpret_cast<T*>(to.data())[i] = static_cast<T>(from[i]);
    }
  };
  for (const attention_tensor t : all_tensors) put(t, expected.of[static_cast<std::size_t>(t)]);
  const auto poison = [&](attention_tensor t) { put(t, std::vector<double>(elements_of(s, t), 1e4)); };
  const auto differs = [&](attention_tensor t, const std::vector<double>& from) {
    const std::size_t row = width_of(s, t) + (is_sums(t) ? 0 : s.apart);
    const auto& given = memory[static_cast<std::size_t>(t)];
    double largest = 0, scale = 1e-3;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const double x =
          is_sums(t) ? static_cast<double>(reinterpret_cast<const float*>(given.data())[i])
                     : static_cast<double>(static_cast<float>(reinterpret_cast<const T*>(given.data())[i]));
      const bool between = !is_sums(t) && i % row >= width_of(s, t);  // is nobody's
      const double off =
          std::fabs(x - (between ? static_cast<double>(static_cast<float>(static_cast<T>(1e4))) : from[i]));
      if (!between) scale = std::fmax(scale, std::fabs(from[i]));
      if (!(off <= largest)) largest = off;
      if (off != off) return off;
    }
    return largest / scale;
  };

  attention_record r;
  r.extent = e;
  r.type = nk::dtype_of<T>;
  nk::on_cuda::attention_addresses at;
  const auto hand = [&](std::initializer_list<attention_tensor> reads,
                        std::initializer_list<attention_tensor> writes) {
    for (auto& o : r.operands) o = {};
    for (auto& a : at.of) a = nullptr;
    for (const auto list : {reads, writes})
      for (const attention_tensor t : list) {
        r.of(t) = {{}, 0, true, list.begin() == writes.begin()};
        at.of[static_cast<std::size_t>(t)] = memory[static_cast<std::size_t>(t)].data()->bytes;
      }
    for (const attention_tensor t : writes) poison(t);
    nk::testing::attend_by_warps(r, at);
  };
  using enum attention_tensor;
  nk::testing::host_machine::unfinished() = false;
  hand({query, key, value}, {output, log_sum});
  CHECK(differs(output, expected.sums[0]) <= tolerance);
  CHECK(differs(log_sum, expected.of[static_cast<std::size_t>(log_sum)]) <= tolerance);
  put(output, expected.sums[1]);  // dy
  put(log_sum, expected.of[static_cast<std::size_t>(log_sum)]);
  r.backward = true;
  hand({query, key, value, output, log_sum, delta}, {d_query});
  CHECK(differs(d_query, expected.of[static_cast<std::size_t>(d_query)]) <= tolerance);
  hand({query, key, value, output, log_sum, delta}, {d_key, d_value});
  CHECK(differs(d_key, expected.of[static_cast<std::size_t>(d_key)]) <= tolerance);
  CHECK(differs(d_value, expected.of[static_cast<std::size_t>(d_value)]) <= tolerance);
  hand({query, key, value, output, log_sum, delta}, {d_value});
  CHECK(differs(d_value, expected.of[static_cast<std::size_t>(d_value)]) <= tolerance);
  CHECK(!nk::testing::host_machine::unfinished());
}

template <class T>
void check_all(double tolerance) {
  random_source random(sizeof(T) * 100 + nk::name_of(nk::dtype_of<T>).size());
  const std::size_t n = 16 / sizeof(T);
  check<T>({.queries = 64, .keys = 64, .hidden = 64, .value = 64}, random, tolerance);
  check<T>({.queries = 64, .keys = 64, .hidden = 128, .value = 128, .causal = true}, random, tolerance);
  check<T>({.batch = 2,
            .heads = 2,
            .group = 2,
            .queries = 150,
            .keys = 150,
            .hidden = 64,
            .value = 64,
            .causal = true},
           random, tolerance);
  check<T>({.heads = 2, .queries = 70, .keys = 131, .hidden = 128, .value = 128}, random, tolerance);
  check<T>({.queries = 131, .keys = 40, .hidden = 72, .value = 24, .causal = true, .apart = n}, random,
           tolerance);
  check<T>({.group = 3, .queries = 5, .keys = 5, .hidden = 8, .value = 8, .causal = true}, random, tolerance);
  // rows that 16 bytes do not go into
  check<T>({.heads = 3, .queries = 33, .keys = 70, .hidden = 7, .value = 9, .apart = 1}, random, tolerance);
  check<T>({.queries = 66, .keys = 66, .hidden = 100, .value = 99, .causal = true}, random, tolerance);
  check<T>({.queries = 1, .keys = 1, .hidden = 1, .value = 1, .causal = true}, random, tolerance);
}

}  // namespace

// Tolerances are of a tensor's largest element: PyTorch's for the dtype.
TEST_CASE("attention's kernels in f32", "[cuda]") { check_all<float>(1e-5); }
TEST_CASE("attention's kernels in bf16", "[cuda]") { check_all<nk::bf16>(1.6e-2); }
TEST_CASE("attention's kernels in f16", "[cuda]") { check_all<nk::f16>(2e-3); }

TEST_CASE("attention's shared memory is what a block of any GPU since sm_80 has", "[cuda]") {
  using enum nk::on_cuda::detail::attention_kernel;
  std::size_t most = 0;
  for (const dtype t : {dtype::f32, dtype::bf16, dtype::f16})
    for (const std::size_t width : {64u, 128u})
      for (const bool backward : {false, true}) {
        attention_record r;
        r.type = t;
        r.backward = backward;
        r.extent.hidden = r.extent.value = width;
        nk::on_cuda::detail::dispatch_attention(
            r, [&]<dtype Type, unsigned Width, nk::on_cuda::detail::attention_kernel Kernel>() {
              const std::size_t bytes =
                  nk::on_cuda::detail::attention_shape<Type, Width, Kernel>::shared_bytes;
              CHECK(Type == t);
              CHECK(Width == width);
              most = bytes > most ? bytes : most;
            });
      }
  CHECK(most > 0);
  CHECK(most <= 99 * 1024);  // of sm_86 and sm_89; sm_80 and sm_90 have more
}
