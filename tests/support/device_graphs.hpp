// Graphs that are run on the device, and on the host as the device would: constants, so that their kernels
// are compiled. nvcc reads this file too.
#pragma once

#include "napkin/cuda/attention.hpp"
#include "napkin/nn/transformer.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/passes/precision.hpp"
#include "napkin/train/step.hpp"
#include "support/scaled_product.hpp"

namespace napkin::testing {

namespace nk = napkin;

/// A builder's graph, as a constant.
template <auto Build>
struct made_by {
  static constexpr nk::graph make() {
    nk::builder b;
    b.simplify = true;
    Build(b);
    return b.take();
  }
};
template <class Loss>
struct with_gradients {
  static constexpr nk::graph make() {
    const nk::graph loss = Loss::make();
    const std::int32_t wanted[] = {0, 1};
    return nk::passes::differentiate(loss.view(), wanted);
  }
};
constexpr std::int32_t last_axis[] = {1}, both_axes[] = {0, 1}, along_rows[] = {-1, 0},
                       along_columns[] = {0, -1};

constexpr int matmul(nk::builder& b, int x, int w) {
  const std::int32_t both[] = {x, w}, labels[] = {0, 1, 1, 2}, result[] = {0, 2};
  return b.einsum(both, labels, result);
}

/// A norm of rows with a gain, and the sum of its squares: reductions over rows and, in the gradient,
/// columns.
constexpr void output_norm(nk::builder& b, int x, int gain) {
  const nk::shape all = b.shape_of(x), row{all[0]};
  const double columns = static_cast<double>(all[1]);
  const int mean = b.scale(b.reduce(nk::op::sum, x, last_axis), 1.0 / columns);
  const int centred = b.sub(x, b.expand(mean, all, along_columns));
  const int square = b.scale(b.reduce(nk::op::sum, b.mul(centred, centred), last_axis), 1.0 / columns);
  const int factor = b.unary(nk::op::rsqrt, b.add(square, b.constant(1e-5, b.type_of(x), row)));
  const int y = b.mul(b.mul(centred, b.expand(factor, all, along_columns)), b.expand(gain, all, along_rows));
  b.output(b.reduce(nk::op::sum, b.mul(y, b.unary(nk::op::sin, y)), both_axes));
}
template <nk::dtype T, std::size_t Rows, std::size_t Columns>
constexpr void normed(nk::builder& b) {
  const int x = b.input(0, T, {Rows, Columns}), gain = b.input(1, T, {Columns});
  output_norm(b, x, gain);
}
/// The same of rows in `T`, computed in f32: a row is read once, and lies in registers as it lay in memory.
template <nk::dtype T, std::size_t Rows, std::size_t Columns>
constexpr void widened_norm(nk::builder& b) {
  const nk::shape all{Rows, Columns}, row{Rows};
  const int narrow = b.input(0, T, all), gain = b.input(1, nk::dtype::f32, {Columns});
  const int x = b.cast(narrow, nk::dtype::f32);
  const int square = b.scale(b.reduce(nk::op::sum, b.mul(x, x), last_axis), 1.0 / Columns);
  const int factor = b.unary(nk::op::rsqrt, b.add(square, b.constant(1e-5, nk::dtype::f32, row)));
  const int y = b.mul(b.mul(x, b.expand(factor, all, along_columns)), b.expand(gain, all, along_rows));
  b.output(b.reduce(nk::op::sum, b.mul(y, b.unary(nk::op::sin, y)), both_axes));
}
/// Of a product's result, over which its gradient is written.
template <nk::dtype T, std::size_t Rows, std::size_t Inner, std::size_t Columns>
constexpr void normed_product(nk::builder& b) {
  const int gain = b.input(0, T, {Columns}), x = b.input(1, T, {Rows, Inner});
  output_norm(b, matmul(b, x, b.input(2, T, {Inner, Columns})), gain);
}
/// A softmax of rows, with what it is made of: the maximum too.
template <std::size_t Rows, std::size_t Columns>
constexpr void softmaxed(nk::builder& b) {
  const nk::shape all{Rows, Columns};
  const int x = b.input(0, nk::dtype::f32, all);
  const int most = b.reduce(nk::op::max, x, last_axis);
  const int e = b.unary(nk::op::exp, b.sub(x, b.expand(most, all, along_columns)));
  const int sum = b.reduce(nk::op::sum, e, last_axis);
  b.output(b.div(e, b.expand(sum, all, along_columns)));
  b.output(most);
}
/// The logarithm of the sum of exponentials of rows, weighted: with its gradient as cross entropy has it.
template <nk::dtype T, std::size_t Rows, std::size_t Columns>
constexpr void log_summed(nk::builder& b) {
  const nk::shape all{Rows, Columns}, row{Rows};
  const int x = b.cast(b.input(0, T, all), nk::dtype::f32), weight = b.input(1, nk::dtype::f32, row);
  const int most = b.reduce(nk::op::max, x, last_axis);
  const int e = b.unary(nk::op::exp, b.sub(x, b.expand(most, all, along_columns)));
  const int each = b.add(b.unary(nk::op::log, b.reduce(nk::op::sum, e, last_axis)), most);
  constexpr std::int32_t only_axis[] = {0};
  b.output(b.reduce(nk::op::sum, b.mul(each, weight), only_axis));
}
/// Over the axis in the middle: the mean, and, for its gradient, squares of what lies off it.
template <nk::dtype T, std::size_t Batch, std::size_t Length, std::size_t Width>
constexpr void pooled(nk::builder& b) {
  constexpr std::int32_t middle[] = {1}, others[] = {0, -1, 1};
  const nk::shape all{Batch, Length, Width};
  const int x = b.cast(b.input(0, T, all), nk::dtype::f32);
  const int sum = b.reduce(nk::op::sum, x, middle);
  b.output(sum);
  const int off = b.sub(x, b.scale(b.expand(sum, all, others), 1.0 / Length));
  b.output(b.reduce(nk::op::sum, b.mul(off, off), middle));
}
/// One reduction of what is read once.
template <nk::dtype T, nk::op Kind, std::size_t Batch, std::size_t Length, std::size_t Width>
constexpr void reduced_middle(nk::builder& b) {
  constexpr std::int32_t middle[] = {1};
  const int x = b.cast(b.input(0, T, nk::shape{Batch, Length, Width}), nk::dtype::f32);
  b.output(b.reduce(Kind, x, middle));
}
/// One number of so much that rows and runs of them are summed first.
template <nk::dtype T, std::size_t... Size>
constexpr void summed_whole(nk::builder& b) {
  const int x = b.input(0, T, {Size...});
  constexpr std::int32_t all[] = {0, 1};
  b.output(b.reduce(nk::op::sum, b.mul(x, x), nk::ids{all, sizeof...(Size)}));
}
/// Over the leading axes, of more columns than are summed by rows; the coordinates count too.
template <nk::dtype T, std::size_t First, std::size_t Second, std::size_t Columns>
constexpr void column_summed(nk::builder& b) {
  constexpr std::int32_t leading[] = {0, 1};
  const nk::shape all{First, Second, Columns};
  const int x = b.cast(b.input(0, T, all), nk::dtype::f32);
  const int weighted = b.mul(x, b.cast(b.iota(1, nk::dtype::i32, all), nk::dtype::f32));
  b.output(b.reduce(nk::op::sum, weighted, leading));
  b.output(b.reduce(nk::op::max, b.sub(x, b.cast(b.iota(2, nk::dtype::i32, all), nk::dtype::f32)), leading));
}
/// The variance along the last axis of a turned operand: two phases of which memory is adjacent across rows.
template <nk::dtype T, std::size_t Batch, std::size_t Length, std::size_t Width>
constexpr void turned_variance(nk::builder& b) {
  constexpr std::int32_t turned[] = {0, 2, 1}, last[] = {2}, rows[] = {0, 1, -1};
  const int x = b.cast(b.permute(b.input(0, T, nk::shape{Batch, Length, Width}), turned), nk::dtype::f32);
  const int mean = b.scale(b.reduce(nk::op::sum, x, last), 1.0 / Length);
  const int off = b.sub(x, b.expand(mean, b.shape_of(x), rows));
  b.output(b.reduce(nk::op::sum, b.mul(off, off), last));
}
/// Over the leading axis, of what inputs alone give: each sum is read by an addition to an input, and by
/// nothing else.
template <nk::dtype T, std::size_t Rows, std::size_t Columns>
constexpr void added_columns(nk::builder& b) {
  constexpr std::int32_t leading[] = {0};
  const int x = b.input(0, T, nk::shape{Rows, Columns});
  const int there = b.input(1, T, nk::shape{Columns}), more = b.input(2, T, nk::shape{Columns});
  b.output(b.add(b.reduce(nk::op::sum, b.unary(nk::op::cos, x), leading), there));
  b.output(b.add(more, b.reduce(nk::op::max, b.unary(nk::op::sin, x), leading)));
}
/// Over the leading axis of many columns, each row by its own factor.
template <nk::dtype T, std::size_t Rows, std::size_t Columns>
constexpr void weighted_rows(nk::builder& b) {
  constexpr std::int32_t leading[] = {0}, row[] = {0, -1};
  const nk::shape all{Rows, Columns};
  const int factor = b.expand(b.input(1, T, nk::shape{Rows}), all, row);
  b.output(b.reduce(nk::op::sum, b.mul(b.input(0, T, all), factor), leading));
}
/// Elementwise, over a transposed operand, a row repeated and coordinates.
template <nk::dtype T, std::size_t Rows, std::size_t Columns>
constexpr void mixed(nk::builder& b) {
  const nk::shape all{Rows, Columns};
  const std::int32_t turned[] = {1, 0};
  const int x = b.input(0, T, all), y = b.permute(b.input(1, T, {Columns, Rows}), turned);
  const int row = b.expand(b.input(2, T, {Columns}), all, along_rows);
  const int place = b.cast(b.iota(1, nk::dtype::i32, all), T);
  b.output(b.add(b.mul(x, y), b.mul(row, b.unary(nk::op::cos, place))));
  b.output(b.cast(b.binary(nk::op::maximum, x, y), nk::dtype::f64));
}

/// Axes turned round, alone.
template <nk::dtype T, std::size_t A, std::size_t B, std::size_t C, std::size_t D>
constexpr void reversed(nk::builder& b) {
  const std::int32_t order[] = {3, 2, 1, 0};
  b.output(b.permute(b.input(0, T, {A, B, C, D}), order));
}

/// GELU by tanh, as nn/activation.hpp writes it.
constexpr int gelu(nk::builder& b, int x, double cubic = 0.044715) {
  const nk::shape s = b.shape_of(x);
  const nk::dtype t = b.type_of(x);
  const int inner = b.mul(x, b.add(b.constant(1, t, s), b.mul(b.mul(x, x), b.constant(cubic, t, s))));
  const int bent = b.unary(nk::op::tanh, b.mul(inner, b.constant(0.7978845608028654, t, s)));
  return b.mul(b.mul(b.constant(0.5, t, s), x), b.add(b.constant(1, t, s), bent));
}
/// bthd,bshd->bhts: two axes of the batch that lie apart.
template <nk::dtype T, std::size_t Batch, std::size_t Length, std::size_t Heads, std::size_t Width>
constexpr void scored(nk::builder& b) {
  const nk::shape s{Batch, Length, Heads, Width};
  const std::int32_t both[] = {b.input(0, T, s), b.input(1, T, s)}, labels[] = {0, 1, 2, 3, 0, 4, 2, 3},
                     result[] = {0, 2, 1, 4};
  b.output(b.einsum(both, labels, result));
}
/// Two products: scaled, with a row and a tensor added; and with a row added, then a GELU.
template <nk::dtype T, std::size_t Rows, std::size_t Inner, std::size_t Columns>
constexpr void finished(nk::builder& b) {
  const nk::shape all{Rows, Columns};
  const int x = b.input(0, T, {Rows, Inner}), w = b.input(1, T, {Inner, Columns});
  const int row = b.expand(b.input(2, T, {Columns}), all, along_rows), more = b.input(3, T, all);
  b.output(b.add(more, b.add(b.scale(matmul(b, x, w), 0.5), row)));
  b.output(gelu(b, b.add(matmul(b, x, b.scale(w, 2)), row)));
}

/// The sum of squares of two layers, biases and a GELU between, computed in T, with its gradients.
template <nk::dtype T>
struct layer_gradients {
  static constexpr std::size_t rows = 45, inner = 24, hidden = 40;
  static constexpr nk::graph make() {
    nk::builder b;
    b.simplify = true;
    const int w = b.input(0, nk::dtype::f32, {inner, hidden}), bias = b.input(1, nk::dtype::f32, {hidden}),
              v = b.input(2, nk::dtype::f32, {hidden, inner}), end = b.input(3, nk::dtype::f32, {inner}),
              x = b.input(4, nk::dtype::f32, {rows, inner});
    const int before = b.add(matmul(b, b.scale(x, 0.25), w), b.expand(bias, {rows, hidden}, along_rows));
    const int after = b.scale(matmul(b, gelu(b, before), v), 0.25);
    const int y = b.add(x, b.add(after, b.expand(end, {rows, inner}, along_rows)));
    b.output(b.reduce(nk::op::sum, b.mul(y, y), both_axes));
    const nk::graph loss = b.take();
    const std::int32_t wanted[] = {w, bias, v, end};
    if constexpr (T == nk::dtype::f32) {
      return nk::passes::differentiate(loss.view(), wanted);
    } else {
      const nk::graph narrow = nk::passes::compute_narrow(loss.view(), T);
      const nk::graph both = nk::passes::differentiate(narrow.view(), wanted);
      return nk::passes::keep_narrow(both.view(), narrow.view().size(), T);
    }
  }
};

/// What kernels make, joined along the axis in the middle: one of them turned, and an input between.
template <nk::dtype T, std::size_t Rows, std::size_t Columns>
constexpr void joined(nk::builder& b) {
  const std::int32_t turned[] = {2, 1, 0};
  const int x = b.input(0, T, {Rows, 2, Columns}), y = b.input(1, T, {Columns, 3, Rows});
  const int bent = b.unary(nk::op::cos, x);
  const std::int32_t parts[] = {bent, b.input(2, T, {Rows, 1, Columns}),
                                b.permute(b.unary(nk::op::sin, y), turned)};
  b.output(b.concat(parts, 1));
}

/// Scores of heads that lie between positions and widths, and what they weigh: kernels make all of it, in
/// orders that the products want. At the end one reads a product's result transposed.
template <nk::dtype T, std::size_t Positions, std::size_t Heads, std::size_t Width>
constexpr void ordered(nk::builder& b) {
  constexpr std::int32_t n = 0, i = 1, j = 2, h = 3, d = 4;
  const nk::shape s{2, Positions, Heads, Width};
  const auto tanh_of = [&](int slot) { return b.unary(nk::op::tanh, b.input(slot, T, s)); };
  const int q = tanh_of(0), k = tanh_of(1), v = tanh_of(2);
  const std::int32_t qk[] = {q, k}, inner[] = {n, i, h, d, n, j, h, d}, scores[] = {n, h, i, j};
  const int x = b.unary(nk::op::tanh, b.einsum(qk, inner, scores));
  const std::int32_t xv[] = {x, v}, outer[] = {n, h, i, j, n, j, h, d}, summed[] = {n, i, h, d},
                     turned[] = {3, 1, 0, 2};
  b.output(b.unary(nk::op::neg, b.permute(b.einsum(xv, outer, summed), turned)));
}

/// Attention of two sequences, of queries whose heads share keys two by two, found and made one operation;
/// the gradients of its output's sum of squares. Packed: all heads lie in one tensor, and so do their
/// gradients. With a mask: a bias of queries and keys, or keys of each sequence that are padding. With a
/// window: so many positions.
template <nk::dtype T, std::size_t Positions, std::size_t Hidden, bool Causal, bool Packed = false,
          attention_mask Mask = attention_mask::none, int Window = 0>
struct attention_gradients {
  static constexpr int heads_of(nk::builder& b, int packed, std::int32_t first, const nk::shape& s) {
    const std::int32_t start[] = {0, 0, first, 0}, step[] = {1, 1, 1, 1};
    const std::size_t heads = numel(s) / (2 * Positions * Hidden);
    return b.reshape(b.slice(packed, {2, Positions, heads, Hidden}, start, step), s);
  }
  static constexpr nk::graph make() {
    constexpr std::int32_t n = 0, i = 1, h = 2, g = 3, d = 4, j = 5, w = 6;
    nk::builder b;
    b.simplify = true;
    const nk::shape queries{2, Positions, 2, 2, Hidden}, keys{2, Positions, 2, Hidden};
    const int first = b.input(0, T, Packed ? nk::shape{2, Positions, 8, Hidden} : queries);
    const int q = Packed ? heads_of(b, first, 0, queries) : first,
              k = Packed ? heads_of(b, first, 4, keys) : b.input(1, T, keys),
              v = Packed ? heads_of(b, first, 6, keys) : b.input(2, T, keys);
    const std::int32_t qk[] = {q, k}, inner[] = {n, i, h, g, d, n, j, h, d}, of_scores[] = {n, h, g, i, j};
    int x = b.scale(b.einsum(qk, inner, of_scores), Hidden > 128 ? 0.0625 : 0.125);
    const nk::shape s = b.shape_of(x);
    if (Mask == attention_mask::adds) {
      const std::int32_t along[] = {-1, -1, -1, 0, 1};
      x = b.add(x, b.expand(b.cast(b.input(3, dtype::f32, {Positions, Positions}), T), s, along));
    }
    if (Causal) {
      const int at = b.iota(3, nk::dtype::i32, s), key = b.iota(4, nk::dtype::i32, s);
      int seen = b.binary(nk::op::less_equal, key, at);
      if (Window > 0)
        seen = b.binary(nk::op::logical_and, seen,
                        b.binary(nk::op::less, b.sub(at, key), b.constant(Window, nk::dtype::i32, s)));
      if (Mask == attention_mask::shows) {
        const nk::shape of_keys{2, Positions};
        const std::int32_t along[] = {0, -1, -1, -1, 1};
        const int padding =
            b.binary(nk::op::less, b.input(3, dtype::f32, of_keys), b.constant(-0.5, dtype::f32, of_keys));
        seen = b.binary(nk::op::logical_and, seen, b.expand(b.unary(nk::op::logical_not, padding), s, along));
      }
      x = b.select(seen, x, b.constant(-1e30, T, s));
    }
    const std::int32_t of_keys[] = {4}, along[] = {0, 1, 2, 3, -1}, all[] = {0, 1, 2, 3, 4};
    const int most = b.unary(nk::op::stop_gradient, b.reduce(nk::op::max, x, of_keys));
    const int e = b.unary(nk::op::exp, b.sub(x, b.expand(most, s, along)));
    const int p = b.div(e, b.expand(b.reduce(nk::op::sum, e, of_keys), s, along));
    const std::int32_t pv[] = {p, v}, outer[] = {n, h, g, i, j, n, j, h, w}, of_output[] = {n, i, h, g, w};
    const int y = b.einsum(pv, outer, of_output);
    b.output(b.reduce(nk::op::sum, b.cast(b.mul(y, y), T == dtype::f64 ? T : dtype::f32), all));
    b.output(y);
    const nk::graph loss = b.take();
    const std::int32_t first_nodes[] = {0, 1, 2};
    const ids wanted{first_nodes, Packed ? 1u : 3u};
    const nk::graph fused = nk::passes::find_attention(loss.view(), nk::on_cuda::attention_fits{}, wanted);
    return nk::passes::differentiate(fused.view(), wanted);
  }
};

struct device_config {
  struct batch : nk::dim<"batch", 2> {};
  struct seq : nk::dim<"seq", 8> {};
  struct vocab : nk::dim<"vocab", 40> {};
  struct embed : nk::dim<"embed", 24> {};
  struct ffn : nk::dim<"ffn", 32> {};
  struct heads : nk::dim<"heads", 3> {};
  struct kv_heads : nk::dim<"kv_heads", 3> {};
  struct group : nk::dim<"group", 1> {};
  struct hidden : nk::dim<"hidden", 8> {};
  static constexpr std::size_t layers = 2;
};

// With attention as products and a softmax; as one operation below.
using llama_gradients = gradient_graph<nn::llama<device_config>, f32, attention_as_traced>;
using gpt_gradients = gradient_graph<nn::gpt<device_config>, f32, attention_as_traced>;

/// Two vectors of a row to a thread.
template <nk::dtype T>
constexpr void scaled_long_rows(nk::builder& b) {
  scaled_product(b, T, 768, 64, 384);
}

/// f(type_identity<graph>, tolerance) for each: relative to an output's largest element.
template <class F>
void for_each_device_graph(F&& f) {
  const auto one = [&]<class Make>(std::type_identity<Make> graph, double tolerance) { f(graph, tolerance); };
  one(std::type_identity<llama_gradients>{}, 3e-4);
  one(std::type_identity<gpt_gradients>{}, 3e-4);
  one(std::type_identity<layer_gradients<dtype::f32>>{}, 1e-5);
  one(std::type_identity<layer_gradients<dtype::bf16>>{}, 1.6e-2);
  one(std::type_identity<made_by<&finished<dtype::f32, 37, 24, 40>>>{}, 1e-5);
  one(std::type_identity<made_by<&finished<dtype::bf16, 37, 24, 40>>>{}, 1.6e-2);
  one(std::type_identity<made_by<&scored<dtype::f32, 3, 20, 5, 16>>>{}, 1e-5);
  one(std::type_identity<made_by<&scored<dtype::bf16, 2, 24, 70, 8>>>{}, 1.6e-2);
  // What is made of attention, forward and backward: each kernel's shapes are support/attention_cases.hpp's.
  // Adjoints of queries and keys are differences of much larger numbers, the rounded output's among them.
  one(std::type_identity<attention_gradients<dtype::f32, 70, 128, false>>{}, 1e-4);
  one(std::type_identity<attention_gradients<dtype::bf16, 200, 64, true>>{}, 1.6e-2);
  one(std::type_identity<attention_gradients<dtype::f16, 100, 128, false>>{}, 1.6e-2);
  // of few keys all are one kernel's
  one(std::type_identity<attention_gradients<dtype::f32, 40, 32, true>>{}, 1e-4);
  one(std::type_identity<attention_gradients<dtype::bf16, 64, 64, true>>{}, 1.6e-2);
  one(std::type_identity<attention_gradients<dtype::f32, 100, 64, true, true>>{}, 1e-4);
  one(std::type_identity<attention_gradients<dtype::bf16, 70, 128, false, true>>{}, 1.6e-2);
  using enum attention_mask;
  one(std::type_identity<attention_gradients<dtype::f32, 100, 64, true, false, shows>>{}, 1e-4);
  one(std::type_identity<attention_gradients<dtype::bf16, 130, 128, true, false, adds>>{}, 1.6e-2);
  one(std::type_identity<attention_gradients<dtype::bf16, 200, 64, true, false, none, 30>>{}, 1.6e-2);
  // by the general kernels
  one(std::type_identity<attention_gradients<dtype::f64, 70, 64, true, true>>{}, 1e-12);
  one(std::type_identity<attention_gradients<dtype::f64, 100, 24, true, false, shows>>{}, 1e-12);
  one(std::type_identity<attention_gradients<dtype::f32, 40, 300, false>>{}, 1e-4);
  one(std::type_identity<attention_gradients<dtype::bf16, 100, 160, true, false, adds>>{}, 1.6e-2);
  one(std::type_identity<attention_gradients<dtype::f16, 70, 256, true, false, none, 30>>{}, 1.6e-2);
  one(std::type_identity<made_by<&ordered<dtype::f32, 20, 3, 16>>>{}, 1e-5);
  one(std::type_identity<made_by<&ordered<dtype::bf16, 64, 12, 32>>>{}, 1.6e-2);
  one(std::type_identity<made_by<&joined<dtype::f32, 40, 33>>>{}, 0);
  one(std::type_identity<made_by<&joined<dtype::bf16, 24, 64>>>{}, 0);
  one(std::type_identity<with_gradients<made_by<&normed<dtype::f64, 5, 7>>>>{}, 1e-13);  // less than a warp
  one(std::type_identity<with_gradients<made_by<&normed<dtype::f64, 1100, 96>>>>{},
      1e-12);                                                                              // rows over teams
  one(std::type_identity<with_gradients<made_by<&normed<dtype::f32, 3, 3000>>>>{}, 1e-4);  // several warps
  one(std::type_identity<with_gradients<made_by<&normed<dtype::f32, 540, 2300>>>>{},
      1e-4);  // three, two rows each
  one(std::type_identity<with_gradients<made_by<&normed_product<dtype::f32, 768, 8, 128>>>>{}, 1e-4);
  one(std::type_identity<with_gradients<made_by<&widened_norm<dtype::bf16, 1060, 768>>>>{},
      1e-2);  // a warp a row
  one(std::type_identity<with_gradients<made_by<&widened_norm<dtype::f16, 530, 1608>>>>{}, 1e-3);
  one(std::type_identity<with_gradients<made_by<&normed<dtype::f64, 2, 40000>>>>{}, 1e-11);  // over registers
  one(std::type_identity<with_gradients<made_by<&log_summed<dtype::bf16, 3, 50304>>>>{}, 1e-2);
  one(std::type_identity<made_by<&reduced_middle<dtype::bf16, op::sum, 5, 100, 72>>>{}, 1e-6);
  one(std::type_identity<made_by<&reduced_middle<dtype::f32, op::max, 40, 3, 33>>>{}, 0);
  one(std::type_identity<made_by<&pooled<dtype::f32, 3, 300, 40>>>{}, 1e-4);
  one(std::type_identity<made_by<&pooled<dtype::f32, 2, 700, 36>>>{}, 1e-4);
  one(std::type_identity<made_by<&pooled<dtype::bf16, 3, 300, 40>>>{}, 1e-4);
  one(std::type_identity<made_by<&turned_variance<dtype::f32, 3, 90, 40>>>{}, 1e-5);
  one(std::type_identity<made_by<&turned_variance<dtype::bf16, 2, 400, 64>>>{}, 1e-5);
  one(std::type_identity<made_by<&weighted_rows<dtype::f32, 20, 16400>>>{}, 1e-5);
  one(std::type_identity<made_by<&added_columns<dtype::f32, 70, 45>>>{}, 1e-5);
  one(std::type_identity<made_by<&column_summed<dtype::bf16, 3, 10, 16387>>>{}, 1e-6);
  one(std::type_identity<made_by<&column_summed<dtype::f32, 5, 8, 260>>>{}, 1e-6);
  one(std::type_identity<made_by<&column_summed<dtype::f32, 4, 6, 1028>>>{}, 1e-6);
  one(std::type_identity<made_by<&summed_whole<dtype::f32, 300, 700>>>{}, 1e-5);
  one(std::type_identity<made_by<&summed_whole<dtype::bf16, 200000>>>{}, 1e-2);
  one(std::type_identity<made_by<&softmaxed<3, 20000>>>{}, 1e-6);
  one(std::type_identity<made_by<&softmaxed<70, 33>>>{}, 1e-6);
  one(std::type_identity<made_by<&mixed<dtype::f32, 64, 96>>>{}, 0);  // elementwise: equal to the bit
  one(std::type_identity<made_by<&mixed<dtype::bf16, 5, 1032>>>{}, 0);
  one(std::type_identity<made_by<&mixed<dtype::f64, 3, 4099>>>{}, 0);
  one(std::type_identity<made_by<&scaled_long_rows<dtype::bf16>>>{}, 1.6e-2);
  one(std::type_identity<made_by<&reversed<dtype::bf16, 8, 66, 12, 24>>>{}, 0);
  one(std::type_identity<made_by<&reversed<dtype::i8, 33, 5, 3, 64>>>{}, 0);
}

}  // namespace napkin::testing
