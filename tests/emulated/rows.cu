// The kernels of rows.hpp, as a program on a GPU has them.
#include <napkin/cuda.hpp>

#include "emulated/rows.hpp"

namespace napkin::testing {
namespace {

struct rows : dim<"rows", 3> {};
struct vocab : dim<"vocab", 50304> {};
struct tokens : dim<"tokens", 96> {};
struct embed : dim<"embed", 768> {};
struct picks : dim<"picks", 40> {};
struct heads : dim<"heads", 12000> {};
struct many : dim<"rows", normed_rows> {};
struct seq : dim<"seq", 1024> {};
struct hidden : dim<"hidden", 64> {};
struct keys : dim<"keys", 1024> {};
struct few : dim<"seq", 256> {};
struct wide : dim<"hidden", 256> {};

}  // namespace

void run_elementwise() {
  const auto x = to_cuda(randn<bf16, rows, vocab>(seed{1}));
  to_host(eval(sin(x) * 2));
}
void run_long_softmax() {
  const auto x = to_cuda(randn<bf16, rows, vocab>(seed{2}));
  to_host(eval(softmax<"vocab">(x)));
}
void run_column_sums() {
  const auto x = to_cuda(randn<f32, tokens, embed>(seed{3}));
  to_host(eval(sum<"tokens">(x * x)));
}
namespace {

template <class E>
byte_counts moved_by(const E& e) {
  eval(e);
  return cost<E, cuda>.bytes;
}
/// Three tensors are more than a row's values would be made of again.
template <class F>
byte_counts moved_by_softmax(F f) {
  const auto x = to_cuda(randn<f32, rows, vocab>(seed{9})), y = to_cuda(randn<f32, rows, vocab>(seed{10})),
             z = to_cuda(randn<f32, rows, vocab>(seed{11}));
  return moved_by(f(softmax<"vocab">(x * y + z)));
}

}  // namespace

byte_counts move_column_sums() {
  const auto x = to_cuda(randn<f32, tokens, embed>(seed{3}));
  return moved_by(sum<"tokens">(x * x));
}
byte_counts move_scratch_rows() {
  return moved_by_softmax([](const auto& x) { return x; });
}
byte_counts move_scratch_and_sums() {
  return moved_by_softmax([](const auto& x) { return sum<"rows">(x); });
}
void run_scattered_sums() {
  const auto table = to_cuda(randn<bf16, tokens, embed>(seed{4}));
  tensor<i32, picks> index;
  fill(index, 7);
  const auto at = to_cuda(index);
  const auto slope = value_and_grad<0>([](auto t, auto i) { return sum(cast<f32>(gather<"tokens">(t, i))); });
  slope(table, at);
}
std::vector<std::byte> run_cross_entropy() {
  static_assert(rows::size * vocab::size == logits);
  const auto x = to_cuda(randn<bf16, rows, vocab>(seed{8}));
  tensor<i32, rows> index;
  fill(index, 7);
  const auto slope =
      value_and_grad<0>([](auto x, auto i) { return cross_entropy<"vocab">(cast<f32>(x), i); });
  const auto gradient = to_host(std::get<1>(slope(x, to_cuda(index))));
  const auto* const bytes = reinterpret_cast<const std::byte*>(gradient.data());
  return {bytes, bytes + logits * sizeof(bf16)};
}
namespace {

/// Each phase has another number of values to join.
constexpr auto joined_often = fn([](auto x) {
  const auto by = [](auto x, auto joined) { return x / (1 + joined); };
  const auto most = [](auto x) { return max<"heads">(x); };
  const auto least = [](auto x) { return min<"heads">(x); };
  const auto two = by(x, sum<"heads">(x) + most(x));
  const auto three = by(two, sum<"heads">(two) + most(two) + least(two));
  const auto in_four = three * three;
  const auto four = by(three, sum<"heads">(three) + most(three) + least(three) + sum<"heads">(in_four));
  const auto in_five = four * four;
  const auto five =
      by(four, sum<"heads">(four) + most(four) + least(four) + sum<"heads">(in_five) + most(in_five));
  const auto in_six = five * five;
  return by(five, sum<"heads">(five) + most(five) + least(five) + sum<"heads">(in_six) + most(in_six) +
                      least(in_six));
});

}  // namespace
std::array<std::vector<double>, 2> run_many_joins() {
  const auto x = randn<f64, rows, heads>(seed{16});
  const auto here = eval(joined_often(x)), there = to_host(eval(joined_often(to_cuda(x))));
  return {std::vector<double>(here.data(), here.data() + joined_elements),
          std::vector<double>(there.data(), there.data() + joined_elements)};
}
void run_norm_gradient() {
  static_assert(embed::size == normed_width);
  const auto h = to_cuda(randn<bf16, many, embed>(seed{12})),
             dy = to_cuda(randn<bf16, many, embed>(seed{13}));
  const auto gain = to_cuda(randn<f32, embed>(seed{14})), bias = to_cuda(randn<f32, embed>(seed{15}));
  grad<0, 1, 2>([](auto h, auto gain, auto bias, auto dy) {
    return sum(layer_norm<"embed">(cast<f32>(h), gain, bias) * cast<f32>(dy));
  })(h, gain, bias, dy);
}
void run_attention(bool backward) {
  const auto q = to_cuda(randn<bf16, seq, hidden>(seed{5})), k = to_cuda(randn<bf16, seq, hidden>(seed{6})),
             v = to_cuda(randn<bf16, seq, hidden>(seed{7}));
  if (!backward) return static_cast<void>(eval(causal_attention<"seq", "hidden">(q, k, v)));
  value_and_grad<0, 1, 2>([](auto... x) { return sum(causal_attention<"seq", "hidden">(x...)); })(q, k, v);
}

namespace {
template <class T, class Hidden>
void run_full(bool backward) {
  const auto q = to_cuda(randn<T, few, Hidden>(seed{5})), k = to_cuda(randn<T, few, Hidden>(seed{6})),
             v = to_cuda(randn<T, few, Hidden>(seed{7}));
  if (!backward) return static_cast<void>(eval(full_attention<"seq", "hidden">(q, k, v)));
  value_and_grad<0, 1, 2>([](auto... x) { return sum(full_attention<"seq", "hidden">(x...)); })(q, k, v);
}
}  // namespace
void run_wide_attention(bool backward) { run_full<bf16, wide>(backward); }
void run_exact_attention(bool backward) { run_full<f64, hidden>(backward); }

namespace {

/// Attention with something done to the scores, perhaps with a mask: forward, or with gradients.
template <class Hide>
struct hiding_attention {
  template <class Q, class K, class V, class... Mask>
  constexpr auto operator()(const Q& q, const K& k, const V& v, const Mask&... mask) const {
    const auto scores = cast<f32>(einsum<"seq hidden, keys hidden -> seq keys">(q, k)) * 0.125f;
    const auto weights = softmax<"keys">(Hide{}(scores, mask...));
    return einsum<"seq keys, keys hidden -> seq hidden">(cast<bf16>(weights), v);
  }
};
template <class Hide>
struct hiding_loss {
  template <class... X>
  constexpr auto operator()(const X&... x) const {
    return sum(cast<f32>(hiding_attention<Hide>{}(x...)));
  }
};
template <class Hide, class... Mask>
void run_hiding(bool backward, const Mask&... mask) {
  const auto q = to_cuda(randn<bf16, seq, hidden>(seed{5}));
  const auto k = to_cuda(randn<bf16, keys, hidden>(seed{6})), v = to_cuda(randn<bf16, keys, hidden>(seed{7}));
  if (backward)
    value_and_grad<0, 1, 2>(hiding_loss<Hide>{})(q, k, v, mask...);
  else
    eval(fn(hiding_attention<Hide>{})(q, k, v, mask...));
}

struct by_bias {
  constexpr auto operator()(const auto& scores, const auto& bias) const { return scores + bias; }
};
struct by_padding {
  constexpr auto operator()(const auto& scores, const auto& shown) const {
    return where(detail::visible_of<seq, keys>(scores) && shown, scores, -1e30f);
  }
};
struct by_window {
  constexpr auto operator()(const auto& scores) const {
    using both = axes<seq, keys>;
    const auto before = apply<detail::iota_op<both, 0>, i32, both>(scores) -
                        apply<detail::iota_op<both, 1>, i32, both>(scores);
    return where(detail::visible_of<seq, keys>(scores) && before < 256, scores, -1e30f);
  }
};

}  // namespace

void run_biased_attention(bool backward) {
  run_hiding<by_bias>(backward, to_cuda(randn<f32, seq, keys>(seed{8})));
}
void run_padded_attention(bool backward) {
  tensor<b8, keys> shown;
  fill(shown, true);
  for (std::size_t i = keys::size - 100; i < keys::size; ++i) shown[i] = false;
  run_hiding<by_padding>(backward, to_cuda(shown));
}
void run_window_attention(bool backward) { run_hiding<by_window>(backward); }

}  // namespace napkin::testing
