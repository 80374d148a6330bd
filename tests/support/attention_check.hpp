// An attention of any sizes, however it is done, against plain loops in f64.
#pragma once

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>

#include "napkin/plan/records.hpp"
#include "napkin/plan/scalar.hpp"
#include "support/compare.hpp"
#include "support/random_graph.hpp"

namespace napkin::testing::attention {

using passes::attention_extent;
using passes::attention_tensor;
using passes::attention_tensors;
using planning::attention_record;

inline constexpr attention_tensor all_tensors[] = {
    attention_tensor::query,   attention_tensor::key,    attention_tensor::value,   attention_tensor::output,
    attention_tensor::log_sum, attention_tensor::delta,  attention_tensor::largest, attention_tensor::d_query,
    attention_tensor::d_key,   attention_tensor::d_value};

inline constexpr double endless = std::numeric_limits<double>::infinity();

/// Of each tensor that a record reads or writes; of others, nothing.
using memory_of_all = std::array<std::span<std::byte>, attention_tensors>;

/// A way to do it: what a record says to the tensors in this memory.
struct way {
  void (*attend)(const attention_record&, const memory_of_all& of);
  bool adjoints_at_once = false;  // can give those of queries, keys and values together
  bool (*needs_no_deltas)(const attention_record&) = nullptr;  // gives all adjoints or some of them
};

struct sizes {
  std::size_t batch = 1, heads = 1, group = 1, queries = 1, keys = 1, hidden = 1, value = 1;
  bool causal = false;
  std::size_t apart = 0;  // elements between one row's end and the next
  std::size_t step = 1;   // from one element of a row to the next
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

inline bool of_keys(attention_tensor x) {
  return x == attention_tensor::key || x == attention_tensor::value || x == attention_tensor::d_key ||
         x == attention_tensor::d_value;
}
inline bool is_sums(attention_tensor x) {
  return x == attention_tensor::log_sum || x == attention_tensor::delta || x == attention_tensor::largest;
}
inline std::size_t width_of(const sizes& s, attention_tensor x) {
  if (is_sums(x)) return 1;
  const bool hidden = x == attention_tensor::query || x == attention_tensor::key ||
                      x == attention_tensor::d_query || x == attention_tensor::d_key;
  return hidden ? s.hidden : s.value;
}

/// Elements from a row's beginning to the next one's.
inline std::size_t row_of(const sizes& s, attention_tensor x) {
  return is_sums(x) ? 1 : width_of(s, x) * s.step + s.apart;
}
/// Packed as models have it: (batch, position, head, group, width), rows `apart`.
inline attention_extent extent_of(const sizes& s) {
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
    const auto row = static_cast<std::ptrdiff_t>(row_of(s, x));
    const auto group = static_cast<std::ptrdiff_t>(of_keys(x) ? 1 : s.group),
               heads = static_cast<std::ptrdiff_t>(s.heads);
    const auto positions = static_cast<std::ptrdiff_t>(of_keys(x) ? s.keys : s.queries);
    passes::attention_walk& w = e.walk(x);
    w.width = is_sums(x) ? 1 : static_cast<std::ptrdiff_t>(s.step);
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
  passes::attention_walk& w = e.walk(attention_tensor::mask);
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
inline std::vector<double> mask_of(const sizes& s, random_source& random) {
  std::vector<double> x;
  const auto of = [&](std::size_t i, std::size_t n) { return s.has[i] ? n : 1; };
  for (std::size_t outer = of(0, s.batch) * of(1, s.heads) * of(2, s.group); outer > 0; --outer)
    for (std::size_t i = 0; i < of(3, s.queries); ++i)
      for (std::size_t j = 0; j < of(4, s.keys); ++j) {
        const bool blind = s.blinds != 0 && (i % 5 == 2 || j < 70);
        double y = s.mask == attention_mask::shows ? random.chance(0.7) && !blind
                   : blind                         ? s.blinds
                                                   : random.uniform(-2, 2);
        dispatch(s.mask_type, [&]<class M>(std::type_identity<M>) {
          if constexpr (is_floating(dtype_of<M>)) y = held<M>(y);
        });
        x.push_back(y);
      }
  return x;
}
inline std::size_t elements_of(const sizes& s, attention_tensor x) {
  return s.batch * s.heads * (of_keys(x) ? s.keys : s.group * s.queries) * row_of(s, x);
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
  passes::attention_loops<double, double> loops{e};
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
  const std::size_t length = row_of(s, attention_tensor::output);
  for (std::size_t row = 0; row < y.size() / length; ++row) {
    double sum = 0;
    for (std::size_t c = 0; c < s.value; ++c)
      sum += y[row * length + c * s.step] * dy[row * length + c * s.step];
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
std::size_t check(const sizes& s, random_source& random, double tolerance, way by) {
  INFO(name_of(dtype_of<T>) << ": batch " << s.batch << ", heads " << s.heads << ", group " << s.group << ", "
                            << s.queries << " queries, " << s.keys << " keys, widths " << s.hidden << " and "
                            << s.value << (s.causal ? ", causal" : ", full") << ", " << s.apart
                            << " apart, step " << s.step << ", window " << s.window << ", mask "
                            << static_cast<int>(s.mask) << " of " << name_of(s.mask_type) << " " << s.has[0]
                            << s.has[1] << s.has[2] << s.has[3] << s.has[4] << ", hidden " << s.hides_by
                            << ", blinds " << s.blinds << ", scale " << s.scale);
  using A = planning::register_type<dtype_of<T>>;
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
    dispatch(s.mask_type, [&]<class M>(std::type_identity<M>) {
      if constexpr (is_floating(dtype_of<M>) || dtype_of<M> == dtype::b8) {
        to.assign((from.size() * sizeof(M) + 15) / 16, piece{});
        for (std::size_t i = 0; i < from.size(); ++i)
          reinterpret_cast<M*>(to.data())[i] = static_cast<M>(from[i]);
      }
    });
  }
  const auto poison = [&](attention_tensor t) { put(t, std::vector<double>(elements_of(s, t), 1e4)); };
  std::size_t without = 0;  // numbers that are none, and are to be none
  const auto differs = [&](attention_tensor t, const std::vector<double>& from) {
    const std::size_t row = row_of(s, t);
    const auto& given = memory[static_cast<std::size_t>(t)];
    double largest = 0, scale = 1e-3;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const double x = is_sums(t) ? static_cast<double>(reinterpret_cast<const A*>(given.data())[i])
                                  : static_cast<double>(reinterpret_cast<const T*>(given.data())[i]);
      const bool between =  // is nobody's
          !is_sums(t) && (i % row >= width_of(s, t) * s.step || i % row % s.step != 0);
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
  r.type = dtype_of<T>;
  memory_of_all at;
  const auto hand = [&](const std::vector<attention_tensor>& reads,
                        const std::vector<attention_tensor>& writes) {
    for (auto& o : r.operands) o = {};
    at = {};
    for (const auto* const list : {&reads, &writes})
      for (const attention_tensor t : *list) {
        r.of(t) = {{}, 0, true, list == &writes};
        at[static_cast<std::size_t>(t)] =
            std::as_writable_bytes(std::span(memory[static_cast<std::size_t>(t)]));
      }
    for (const attention_tensor t : writes) poison(t);
    by.attend(r, at);
  };
  using enum attention_tensor;
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
      const bool is_none = std::isnan(true_less + true_total);
      if (is_none && std::isnan(less + total)) continue;
      off = worst_of(off, std::fabs(less - true_less + (total - true_total)));
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
  if (by.adjoints_at_once) {
    hand(also_mask({query, key, value, output, log_sum, delta}), {d_query, d_key, d_value});
    for (const attention_tensor t : {d_query, d_key, d_value})
      CHECK(differs(t, expected.of[static_cast<std::size_t>(t)]) <= tolerance);
  }
  if (by.needs_no_deltas != nullptr && by.needs_no_deltas(r)) {
    for (const std::vector<attention_tensor>& given :
         {std::vector{d_query, d_key, d_value}, std::vector{d_query}, std::vector{d_key, d_value},
          std::vector{d_key}, std::vector{d_value}, std::vector{d_query, d_value}}) {
      hand({query, key, value, output, log_sum}, given);
      for (const attention_tensor t : given)
        CHECK(differs(t, expected.of[static_cast<std::size_t>(t)]) <= tolerance);
    }
  }
  return without;
}

}  // namespace napkin::testing::attention
