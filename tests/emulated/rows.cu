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
struct seq : dim<"seq", 1024> {};
struct hidden : dim<"hidden", 64> {};

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
void run_scattered_sums() {
  const auto table = to_cuda(randn<bf16, tokens, embed>(seed{4}));
  tensor<i32, picks> index;
  fill(index, 7);
  const auto at = to_cuda(index);
  const auto slope = value_and_grad<0>([](auto t, auto i) { return sum(cast<f32>(gather<"tokens">(t, i))); });
  slope(table, at);
}
std::size_t run_cross_entropy() {
  const auto logits = to_cuda(randn<bf16, rows, vocab>(seed{8}));
  tensor<i32, rows> index;
  fill(index, 7);
  value_and_grad<0>([](auto x, auto i) { return cross_entropy<"vocab">(cast<f32>(x), i); })(logits,
                                                                                            to_cuda(index));
  return rows::size * vocab::size;
}
void run_attention(bool backward) {
  const auto q = to_cuda(randn<bf16, seq, hidden>(seed{5})), k = to_cuda(randn<bf16, seq, hidden>(seed{6})),
             v = to_cuda(randn<bf16, seq, hidden>(seed{7}));
  if (!backward) return static_cast<void>(eval(causal_attention<"seq", "hidden">(q, k, v)));
  value_and_grad<0, 1, 2>([](auto... x) { return sum(causal_attention<"seq", "hidden">(x...)); })(q, k, v);
}

}  // namespace napkin::testing
