// The GPU's kernels of attention, thread by thread on the host, against plain loops in f64: every kernel that
// is compiled, over shapes that fill its tiles and shapes that do not.
#include "napkin/cuda/attention.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <type_traits>

#include "napkin/cuda/plan.hpp"
#include "napkin/plan/cost.hpp"
#include "support/device_graphs.hpp"
#include "support/host_attention.hpp"
#include "support/random_graph.hpp"

namespace nk = napkin;
using nk::attention_mask;
using nk::dtype;
using nk::passes::attention_extent;
using nk::passes::attention_tensor;
using nk::passes::attention_tensors;
using nk::planning::attention_record;
using nk::testing::random_source;

namespace {

constexpr attention_tensor all_tensors[] = {
    attention_tensor::query,   attention_tensor::key,    attention_tensor::value,   attention_tensor::output,
    attention_tensor::log_sum, attention_tensor::delta,  attention_tensor::largest, attention_tensor::d_query,
    attention_tensor::d_key,   attention_tensor::d_value};

constexpr double endless = std::numeric_limits<double>::infinity();

struct sizes {
  std::size_t batch = 1, heads = 1, group = 1, queries = 1, keys = 1, hidden = 1, value = 1;
  bool causal = false;
  std::size_t apart = 0;  // elements between one row's end and the next
  std::size_t window = 0;
  attention_mask mask = attention_mask::none;
  std::array<bool, 5> has{};  // which axes the mask has: batch, heads, group, query, key
  dtype mask_type = dtype::b8;
  double hides_by = -1e30;
  double scale = 0;  // 0: one over the root of `hidden`
  double blinds =
      0;  // what a mask that adds does to all keys of every fifth query, and before key 70 of others;
          // of one that shows 1: these are hidden
};

bool of_keys(attention_tensor x) {
  return x == attention_tensor::key || x == attention_tensor::value || x == attention_tensor::d_key ||
         x == attention_tensor::d_value;
}
bool is_sums(attention_tensor x) {
  return x == attention_tensor::log_sum || x == attention_tensor::delta || x == attention_tensor::largest;
}
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
  e.window = s.window;
  e.mask = s.mask;
  e.mask_type = s.mask_type;
  e.hidden_score = static_cast<float>(s.hides_by);
  e.scale = s.scale != 0 ? s.scale : 1 / std::sqrt(static_cast<double>(s.hidden));
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
  const std::size_t size[] = {s.batch, s.heads, s.group, s.queries, s.keys};
  std::ptrdiff_t step[5] = {}, next = 1;
  for (std::size_t i = 5; i-- > 0;)
    if (s.has[i]) {
      step[i] = next;
      next *= static_cast<std::ptrdiff_t>(size[i]);
    }
  nk::passes::attention_walk& w = e.walk(attention_tensor::mask);
  w.outer = {step[0], step[1], step[2]};
  w.position = step[3];
  w.width = step[4];
  return e;
}
/// As T holds it.
template <class T>
double held(double x) {
  if constexpr (std::is_same_v<T, double>)
    return x;
  else
    return static_cast<double>(static_cast<float>(static_cast<T>(static_cast<float>(x))));
}

/// Numbers of the mask's dtype; 0 and 1 of one that shows.
std::vector<double> mask_of(const sizes& s, random_source& random) {
  std::vector<double> x;
  const auto of = [&](std::size_t i, std::size_t n) { return s.has[i] ? n : 1; };
  for (std::size_t outer = of(0, s.batch) * of(1, s.heads) * of(2, s.group); outer > 0; --outer)
    for (std::size_t i = 0; i < of(3, s.queries); ++i)
      for (std::size_t j = 0; j < of(4, s.keys); ++j) {
        const bool blind = s.blinds != 0 && (i % 5 == 2 || j < 70);
        double y = s.mask == attention_mask::shows ? random.chance(0.7) && !blind
                   : blind                         ? s.blinds
                                                   : random.uniform(-2, 2);
        nk::dispatch(s.mask_type, [&]<class M>(std::type_identity<M>) {
          if constexpr (nk::is_floating(nk::dtype_of<M>)) y = held<M>(y);
        });
        x.push_back(y);
      }
  return x;
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
tensors<double, double> expected_of(const sizes& s, attention_extent e, random_source& random) {
  tensors<double, double> x;
  e.mask_type = dtype::f64;
  for (const attention_tensor t : all_tensors) {
    auto& to = x.of[static_cast<std::size_t>(t)];
    to.resize(elements_of(s, t));
    for (double& v : to) v = held<T>(random.uniform(-1, 1));
  }
  if (e.is_masked()) x.of[static_cast<std::size_t>(attention_tensor::mask)] = mask_of(s, random);
  const auto at = [&](attention_tensor t) { return x.of[static_cast<std::size_t>(t)].data(); };
  nk::passes::attention_loops<double, double> loops{e};
  loops.query = at(attention_tensor::query);
  loops.key = at(attention_tensor::key);
  loops.value = at(attention_tensor::value);
  loops.mask = at(attention_tensor::mask);
  std::vector<double> dy = x.of[static_cast<std::size_t>(attention_tensor::output)];
  loops.output = at(attention_tensor::output);
  loops.log_sum = at(attention_tensor::log_sum);
  loops.largest = at(attention_tensor::largest);
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
  loops.largest = nullptr;
  loops.all_largest = at(attention_tensor::largest);
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

/// Returns how many numbers are none, as they are to be.
template <class T>
std::size_t check(const sizes& s, random_source& random, double tolerance) {
  INFO(nk::name_of(nk::dtype_of<T>) << ": batch " << s.batch << ", heads " << s.heads << ", group " << s.group
                                    << ", " << s.queries << " queries, " << s.keys << " keys, widths "
                                    << s.hidden << " and " << s.value << (s.causal ? ", causal" : ", full")
                                    << ", " << s.apart << " apart, window " << s.window << ", mask "
                                    << static_cast<int>(s.mask) << " of " << nk::name_of(s.mask_type) << " "
                                    << s.has[0] << s.has[1] << s.has[2] << s.has[3] << s.has[4] << ", hidden "
                                    << s.hides_by << ", blinds " << s.blinds << ", scale " << s.scale);
  using A = nk::planning::register_type<nk::dtype_of<T>>;
  const attention_extent e = extent_of(s);
  const tensors<double, double> expected = expected_of<T>(s, e, random);
  struct alignas(16) piece {
    std::byte bytes[16];
  };
  std::vector<piece> memory[attention_tensors];
  const auto put = [&](attention_tensor t, const std::vector<double>& from) {
    auto& to = memory[static_cast<std::size_t>(t)];
    const bool sums = is_sums(t);
    to.assign((from.size() * (sums ? sizeof(A) : sizeof(T)) + 15) / 16, piece{});
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (sums)
        reinterpret_cast<A*>(to.data())[i] = static_cast<A>(from[i]);
      else
        reinterpret_cast<T*>(to.data())[i] = static_cast<T>(from[i]);
    }
  };
  for (const attention_tensor t : all_tensors) put(t, expected.of[static_cast<std::size_t>(t)]);
  if (e.is_masked()) {
    const auto& from = expected.of[static_cast<std::size_t>(attention_tensor::mask)];
    auto& to = memory[static_cast<std::size_t>(attention_tensor::mask)];
    nk::dispatch(s.mask_type, [&]<class M>(std::type_identity<M>) {
      if constexpr (nk::is_floating(nk::dtype_of<M>) || nk::dtype_of<M> == dtype::b8) {
        to.assign((from.size() * sizeof(M) + 15) / 16, piece{});
        for (std::size_t i = 0; i < from.size(); ++i)
          reinterpret_cast<M*>(to.data())[i] = static_cast<M>(from[i]);
      }
    });
  }
  const auto poison = [&](attention_tensor t) { put(t, std::vector<double>(elements_of(s, t), 1e4)); };
  std::size_t without = 0;  // numbers that are none, and are to be none
  const auto differs = [&](attention_tensor t, const std::vector<double>& from) {
    const std::size_t row = width_of(s, t) + (is_sums(t) ? 0 : s.apart);
    const auto& given = memory[static_cast<std::size_t>(t)];
    double largest = 0, scale = 1e-3;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const double x = is_sums(t) ? static_cast<double>(reinterpret_cast<const A*>(given.data())[i])
                                  : static_cast<double>(reinterpret_cast<const T*>(given.data())[i]);
      const bool between = !is_sums(t) && i % row >= width_of(s, t);  // is nobody's
      if (!between && from[i] != from[i]) {
        ++without;
        if (x == x) return endless;
        continue;
      }
      if (!between && x == from[i]) continue;  // both may be infinite
      const double off = std::fabs(x - (between ? held<T>(1e4) : from[i]));
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
  const auto hand = [&](const std::vector<attention_tensor>& reads,
                        const std::vector<attention_tensor>& writes) {
    for (auto& o : r.operands) o = {};
    for (auto& a : at.of) a = nullptr;
    for (const auto* const list : {&reads, &writes})
      for (const attention_tensor t : *list) {
        r.of(t) = {{}, 0, true, list == &writes};
        at.of[static_cast<std::size_t>(t)] = memory[static_cast<std::size_t>(t)].data()->bytes;
      }
    for (const attention_tensor t : writes) poison(t);
    nk::testing::attend_by_warps(r, at);
  };
  using enum attention_tensor;
  nk::testing::host_machine::unfinished() = false;
  const auto also_mask = [&](std::initializer_list<attention_tensor> reads) {
    std::vector<attention_tensor> all(reads);
    if (e.is_masked()) all.push_back(mask);
    if (e.is_masked() && reads.size() > 3) all.push_back(largest);
    return all;
  };
  if (e.is_masked())
    hand(also_mask({query, key, value}), {output, log_sum, largest});
  else
    hand({query, key, value}, {output, log_sum});
  CHECK(differs(output, expected.sums[0]) <= tolerance);
  if (e.is_masked()) {  // the sum's logarithm belongs to what was subtracted
    const auto number = [&](attention_tensor t, std::size_t i) {
      return static_cast<double>(reinterpret_cast<const A*>(memory[static_cast<std::size_t>(t)].data())[i]);
    };
    double off = 0;
    for (std::size_t i = 0; i < elements_of(s, log_sum); ++i) {
      const double less = number(largest, i), true_less = expected.of[static_cast<std::size_t>(largest)][i],
                   total = number(log_sum, i), true_total = expected.of[static_cast<std::size_t>(log_sum)][i];
      if (less == true_less && total == true_total) continue;
      const double now = std::fabs(less - true_less + (total - true_total));
      if (!(now <= off)) off = now;
    }
    CHECK(off <= 8 * tolerance);
    put(largest, expected.of[static_cast<std::size_t>(largest)]);
  } else {
    CHECK(differs(log_sum, expected.of[static_cast<std::size_t>(log_sum)]) <= tolerance);
  }
  put(output, expected.sums[1]);  // dy
  put(log_sum, expected.of[static_cast<std::size_t>(log_sum)]);
  r.backward = true;
  hand(also_mask({query, key, value, output, log_sum, delta}), {d_query});
  CHECK(differs(d_query, expected.of[static_cast<std::size_t>(d_query)]) <= tolerance);
  hand(also_mask({query, key, value, output, log_sum, delta}), {d_key, d_value});
  CHECK(differs(d_key, expected.of[static_cast<std::size_t>(d_key)]) <= tolerance);
  CHECK(differs(d_value, expected.of[static_cast<std::size_t>(d_value)]) <= tolerance);
  hand(also_mask({query, key, value, output, log_sum, delta}), {d_value});
  CHECK(differs(d_value, expected.of[static_cast<std::size_t>(d_value)]) <= tolerance);
  CHECK(!nk::testing::host_machine::unfinished());
  return without;
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

/// Masks of every kind and dtype, broadcast and whole, with and without positions that hide.
template <class T>
void check_masked(double tolerance) {
  using enum attention_mask;
  random_source random(77 + sizeof(T) + nk::name_of(nk::dtype_of<T>).size());
  const dtype t = nk::dtype_of<T>;
  const auto one = [&](const sizes& s) { return check<T>(s, random, tolerance); };
  sizes s{.queries = 64,
          .keys = 64,
          .hidden = 64,
          .value = 64,
          .mask = adds,
          .has = {0, 0, 0, 1, 1},
          .mask_type = dtype::f32};
  CHECK(one(s) == 0);
  s.hidden = s.value = 128;
  s.causal = true;
  CHECK(one(s) == 0);
  s = {.batch = 2,
       .heads = 2,
       .group = 2,
       .queries = 70,
       .keys = 131,
       .hidden = 64,
       .value = 64,
       .mask = adds,
       .has = {1, 1, 1, 1, 1},
       .mask_type = t};
  CHECK(one(s) == 0);
  s = {.heads = 2,
       .queries = 150,
       .keys = 150,
       .hidden = 128,
       .value = 100,
       .causal = true,
       .mask = adds,
       .has = {0, 1, 0, 1, 1},
       .mask_type = t == dtype::f32 ? dtype::bf16 : dtype::f32};
  CHECK(one(s) == 0);
  s.mask_type = dtype::f16;
  s.has = {0, 1, 0, 0, 1};
  CHECK(one(s) == 0);
  // widths that 16 bytes do not go into; of queries alone it says nothing, of keys and heads
  s = {.heads = 3,
       .queries = 33,
       .keys = 71,
       .hidden = 7,
       .value = 9,
       .apart = 1,
       .mask = adds,
       .has = {0, 0, 0, 1, 0},
       .mask_type = dtype::f32};
  CHECK(one(s) == 0);
  // padding, causal: the first 70 queries of a sequence see no key, and all blocks' tiles weigh
  s = {.batch = 2,
       .group = 2,
       .queries = 150,
       .keys = 150,
       .hidden = 64,
       .value = 64,
       .causal = true,
       .mask = shows,
       .has = {1, 0, 0, 0, 1},
       .blinds = 1};
  CHECK(one(s) == 0);
  s.hidden = 40, s.value = 128;
  CHECK(one(s) == 0);
  s = {.batch = 2,
       .heads = 2,
       .queries = 90,
       .keys = 140,
       .hidden = 64,
       .value = 64,
       .mask = shows,
       .has = {1, 0, 0, 1, 1},
       .blinds = 1};
  CHECK(one(s) == 0);
  s.hides_by = -endless;
  CHECK(one(s) > 0);
  s.causal = true;
  CHECK(one(s) > 0);
  // what the mask hides lies below what positions hide; lies as deep
  s = {.queries = 150,
       .keys = 150,
       .hidden = 64,
       .value = 64,
       .causal = true,
       .mask = adds,
       .has = {0, 0, 0, 1, 1},
       .mask_type = dtype::f32,
       .hides_by = -1e20,
       .blinds = -1e30};
  CHECK(one(s) == 0);
  s.hides_by = -1e30;
  CHECK(one(s) == 0);
  s.blinds = -endless;
  CHECK(one(s) == 0);  // what positions hide has all the weight
  s.queries = 153;
  CHECK(one(s) > 0);  // nothing is hidden from the last query by its position
  s.causal = false;
  CHECK(one(s) > 0);
  // windows, alone and masked
  s = {.heads = 2, .queries = 200, .keys = 200, .hidden = 64, .value = 64, .causal = true, .window = 40};
  CHECK(one(s) == 0);
  s = {.group = 2, .queries = 170, .keys = 140, .hidden = 100, .value = 99, .causal = true, .window = 33};
  CHECK(one(s) == 0);
  s = {.queries = 300, .keys = 300, .hidden = 8, .value = 8, .causal = true, .window = 2};
  CHECK(one(s) == 0);
  s = {.heads = 2,
       .queries = 200,
       .keys = 200,
       .hidden = 64,
       .value = 64,
       .causal = true,
       .window = 50,
       .mask = shows,
       .has = {0, 1, 0, 1, 1},
       .blinds = 1};
  CHECK(one(s) == 0);
  s.mask = adds;
  s.mask_type = dtype::f32;
  s.blinds = -1e30;
  s.hides_by = -1e20;
  CHECK(one(s) == 0);
}

/// What only general kernels take: wide heads, scales that are not above 0; of f64 all that others take.
template <class T>
void check_general(double tolerance) {
  using enum attention_mask;
  random_source random(500 + sizeof(T) + nk::name_of(nk::dtype_of<T>).size());
  const auto one = [&](const sizes& s) { return check<T>(s, random, tolerance); };
  const std::size_t n = 16 / sizeof(T);
  CHECK(one({.queries = 64, .keys = 64, .hidden = 256, .value = 256}) == 0);
  CHECK(one({.heads = 2, .queries = 70, .keys = 90, .hidden = 192, .value = 128, .causal = true}) == 0);
  CHECK(
      one({.batch = 2, .group = 2, .queries = 40, .keys = 40, .hidden = 160, .value = 160, .causal = true}) ==
      0);
  // results in pieces, unequal; rows that 16 bytes do not go into, and rows apart
  CHECK(one({.group = 2, .queries = 37, .keys = 70, .hidden = 300, .value = 520}) == 0);
  CHECK(one({.queries = 70, .keys = 33, .hidden = 520, .value = 131, .causal = true, .apart = 1}) == 0);
  CHECK(one({.queries = 66, .keys = 66, .hidden = 264, .value = 136, .causal = true, .apart = n}) == 0);
  CHECK(one({.queries = 1, .keys = 1, .hidden = 129, .value = 1, .causal = true}) == 0);
  for (const double scale : {-0.125, -1e-30, 2.0})
    CHECK(one({.heads = 2,
               .queries = 50,
               .keys = 50,
               .hidden = 72,
               .value = 140,
               .causal = true,
               .scale = scale}) == 0);
  CHECK(one({.queries = 65, .keys = 50, .hidden = 16, .value = 16, .scale = -0.25}) == 0);
  // windows, of which whole tiles lie outside, and masks
  CHECK(one({.queries = 170, .keys = 170, .hidden = 136, .value = 24, .causal = true, .window = 40}) == 0);
  CHECK(one({.group = 2,
             .queries = 150,
             .keys = 140,
             .hidden = 9,
             .value = 150,
             .causal = true,
             .window = 11}) == 0);
  sizes s{.batch = 2,
          .heads = 2,
          .queries = 40,
          .keys = 71,
          .hidden = 136,
          .value = 136,
          .mask = adds,
          .has = {1, 1, 0, 1, 1},
          .mask_type = nk::dtype_of<T>};
  CHECK(one(s) == 0);
  for (const dtype type : {dtype::f64, dtype::f32, dtype::bf16, dtype::f16}) {
    s.mask_type = type;
    s.has = {0, 1, 0, 0, 1};
    s.causal = true;
    CHECK(one(s) == 0);
  }
  s = {.batch = 2,
       .group = 2,
       .queries = 100,
       .keys = 100,
       .hidden = 72,
       .value = 136,
       .causal = true,
       .mask = shows,
       .has = {1, 0, 0, 0, 1},
       .blinds = 1};
  CHECK(one(s) == 0);
  s.causal = false;
  s.has = {1, 0, 0, 1, 1};
  CHECK(one(s) == 0);
  s.hides_by = -endless;
  CHECK(one(s) > 0);
  s = {.queries = 100,
       .keys = 100,
       .hidden = 136,
       .value = 64,
       .causal = true,
       .window = 50,
       .mask = adds,
       .has = {0, 0, 0, 1, 1},
       .mask_type = dtype::f32,
       .hides_by = -1e20,
       .blinds = -1e30};
  CHECK(one(s) == 0);
}

}  // namespace

// Tolerances are of a tensor's largest element: PyTorch's for the dtype.
TEST_CASE("attention's kernels in f32", "[cuda]") { check_all<float>(1e-5); }
TEST_CASE("attention's kernels in bf16", "[cuda]") { check_all<nk::bf16>(1.6e-2); }
TEST_CASE("attention's kernels in f16", "[cuda]") { check_all<nk::f16>(2e-3); }
TEST_CASE("attention's kernels with masks in f32", "[cuda]") { check_masked<float>(1e-5); }
TEST_CASE("attention's kernels with masks in bf16", "[cuda]") { check_masked<nk::bf16>(1.6e-2); }
TEST_CASE("attention's kernels with masks in f16", "[cuda]") { check_masked<nk::f16>(2e-3); }

TEST_CASE("attention's general kernels in f64", "[cuda]") {
  check_all<double>(1e-13);
  check_masked<double>(1e-13);
  check_general<double>(1e-13);
}
TEST_CASE("attention's general kernels in f32", "[cuda]") { check_general<float>(1e-5); }
TEST_CASE("attention's general kernels in bf16", "[cuda]") { check_general<nk::bf16>(1.6e-2); }
TEST_CASE("attention's general kernels in f16", "[cuda]") { check_general<nk::f16>(2e-3); }

// Lengths and widths that fill tiles and chunks, so that nothing is multiplied but what is counted.
TEST_CASE("attention's general kernels multiply what a plan's cost says", "[cuda]") {
  using Gradients = nk::testing::attention_gradients<dtype::f64, 64, 288, false>;
  const nk::graph graph = Gradients::make(), lowered = nk::planning::lower_graph(graph.view());
  const auto plan = nk::planning::make_unsettled_plan<nk::on_cuda::target>(lowered.view());
  std::uint64_t counted = 0, done = 0;
  nk::planning::instruction_costs costs(nk::planning::view_of(plan), lowered.view());
  for (std::size_t i = 0; i < plan.instructions.size(); ++i) {
    if (plan.instructions[i].kind != nk::passes::unit_kind::attention) continue;
    counted += costs.of(i).flops.matmul;
    const attention_record& r = plan.attentions[static_cast<std::size_t>(plan.instructions[i].index)];
    CHECK(nk::on_cuda::is_general(r));
    std::vector<double> memory[attention_tensors];
    nk::on_cuda::attention_addresses at;
    for (std::size_t x = 0; x < attention_tensors; ++x) {
      memory[x].assign(std::size_t{2} * 64 * 8 * 288, 0);
      if (r.operands[x].there) at.of[x] = reinterpret_cast<std::byte*>(memory[x].data());
    }
    nk::testing::host_machine::fmas() = 0;
    nk::testing::attend_by_warps(r, at);
    done += 2 * nk::testing::host_machine::fmas();
  }
  CHECK(done == counted);
  // Of each result's two pieces, the scores and with them d_output times values; and of the result, its sum.
  const std::uint64_t product = std::uint64_t{2} * 8 * 64 * 64 * 288, forward = 2 + 1, of_queries = 4 + 1,
                      of_keys = 4 + 1, of_values = 2 + 1;
  CHECK(counted == (forward + of_queries + of_keys + of_values) * product);
}

TEST_CASE("attention's shared memory is what a block of any GPU since sm_80 has", "[cuda]") {
  using enum nk::on_cuda::detail::attention_kernel;
  std::size_t most = 0;
  for (const dtype t : {dtype::f32, dtype::bf16, dtype::f16})
    for (const std::size_t width : {64u, 128u})
      for (const bool backward : {false, true})
        for (const auto masking :
             {nk::on_cuda::detail::attention_masking::causal, nk::on_cuda::detail::attention_masking::window,
              nk::on_cuda::detail::attention_masking::tensor}) {
          attention_record r;
          r.type = t;
          r.backward = backward;
          r.extent.hidden = r.extent.value = width;
          r.extent.window = masking == nk::on_cuda::detail::attention_masking::window ? 4 : 0;
          if (masking == nk::on_cuda::detail::attention_masking::tensor) r.extent.mask = attention_mask::adds;
          nk::on_cuda::detail::dispatch_attention(
              r, [&]<dtype Type, unsigned Width, nk::on_cuda::detail::attention_kernel Kernel,
                     nk::on_cuda::detail::attention_masking Masking>() {
                const std::size_t bytes =
                    nk::on_cuda::detail::attention_shape<Type, Width, Kernel, Masking>::shared_bytes;
                CHECK(Type == t);
                CHECK(Width == width);
                CHECK(Masking == masking);
                most = bytes > most ? bytes : most;
              });
        }
  CHECK(most > 0);
  CHECK(most <= 99 * 1024);  // of sm_86 and sm_89; sm_80 and sm_90 have more
}
