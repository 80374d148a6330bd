// In which order intermediates lie for the sake of products (passes/order_results.hpp): einsums whose second product
// would be a loop of calls, or no GEMM, row-major, and a model whose attention is products.
#include "napkin/cuda/cost.hpp"
#include "napkin/nn/transformer.hpp"
#include "napkin/ops/einsum.hpp"
#include "napkin/optim/adamw.hpp"
#include "napkin/train/cuda_step.hpp"

namespace nk = napkin;

namespace {

template <std::size_t N>
struct i : nk::dim<"i", N> {};
template <std::size_t N>
struct j : nk::dim<"j", N> {};
template <std::size_t N>
struct k : nk::dim<"k", N> {};
template <std::size_t N>
struct r : nk::dim<"r", N> {};
template <std::size_t N>
struct a : nk::dim<"a", N> {};
template <std::size_t N>
struct b : nk::dim<"b", N> {};
template <std::size_t N>
struct c : nk::dim<"c", N> {};
template <class... Ds>
using tensor = nk::tensor<nk::f32, Ds...>;

struct counts {
  std::uint64_t products = 0, calls = 0, read_again = 0, refused = 0, kernels = 0;
  constexpr bool operator==(const counts&) const = default;
};
template <class Plan>
constexpr counts count(const Plan& p) {
  counts n;
  for (std::size_t x = 0; x < p.count.contractions; ++x) {
    const nk::on_cuda::product& made = p.products[p.contractions[x].product];
    ++n.products;
    n.calls += made.gemm.possible ? made.gemm.calls() : 0;
    n.read_again += made.gemm.bytes_again;
    n.refused += !made.gemm.possible;
  }
  n.kernels = p.count.kernels;
  return n;
}
template <class Expression>
constexpr counts counts_of = count(nk::lowering<Expression, nk::cuda>::frozen::view());
template <nk::fixed_string Pattern, class... Xs>
using einsum = decltype(nk::einsum<Pattern>(std::declval<const Xs&>()...));

// A decomposition's update (MTTKRP): "i j k, k r -> i j r" first, and "i j r, j r -> i r" is a call for each r, 32 in
// all; as r i j the intermediate is one batch.
using factor = einsum<"i j k, j r, k r -> i r", tensor<i<256>, j<256>, k<256>>, tensor<j<256>, r<32>>,
                      tensor<k<256>, r<32>>>;
static_assert(counts_of<factor> == counts{2, 2, 0, 0, 0});

// Tucker's: each product's rows are the next one's sums. Row-major, the last one's columns are apart.
using tucker = einsum<"a b c, i a, j b, k c -> i j k", tensor<a<32>, b<32>, c<32>>, tensor<i<256>, a<32>>,
                      tensor<j<256>, b<32>>, tensor<k<256>, c<32>>>;
static_assert(counts_of<tucker>.products == 3 && counts_of<tucker>.calls == 3 &&
              counts_of<tucker>.refused == 0);

// A product that is asked for transposed is made so: there is no copy.
using transposed = decltype(nk::permute<"k", "i">(
    std::declval<const einsum<"i j, j k -> i k", tensor<i<8>, j<8>>, tensor<j<8>, k<8>>>&>()));
static_assert(counts_of<transposed> == counts{1, 1, 0, 0, 0});

// What kernels make for a product lies as that wants it: with both operands by batch and head, all heads are one
// batch. Where they are given, each head is a call, or a row of addresses.
template <class Q, class K>
using scores = einsum<"i j k r, i a k r -> i k j a", Q, K>;
using queries = tensor<i<16>, j<64>, k<12>, r<64>>;
using keys = tensor<i<16>, a<64>, k<12>, r<64>>;
static_assert(counts_of<scores<queries, keys>> == counts{1, 12, 0, 0, 0});
template <class X>
using after_tanh = decltype(nk::tanh(std::declval<const X&>()));
static_assert(counts_of<scores<after_tanh<queries>, after_tanh<keys>>> == counts{1, 1, 0, 0, 2});

// An output lies as it was asked for, and so do tensors that are given.
using given = einsum<"i j r, j r -> i r", tensor<i<256>, j<256>, r<32>>, tensor<j<256>, r<32>>>;
static_assert(counts_of<given>.calls == 32);

// ---- attention left as products, as it was traced: queries and keys leave rotary in the order of heads, so that
// scores are one batch, and no sum over groups and positions is refused.
struct wide_heads {
  struct batch : nk::dim<"batch", 4> {};
  struct seq : nk::dim<"seq", 512> {};
  struct vocab : nk::dim<"vocab", 8'192> {};
  struct embed : nk::dim<"embed", 512> {};
  struct ffn : nk::dim<"ffn", 1'408> {};
  struct heads : nk::dim<"heads", 8> {};
  struct kv_heads : nk::dim<"kv_heads", 4> {};
  struct group : nk::dim<"group", 2> {};
  struct hidden : nk::dim<"hidden", 256> {};
  static constexpr std::size_t layers = 2;
};
using of_gradients = nk::on_cuda::frozen_plan<
    nk::gradient_graph<nk::nn::llama<wide_heads>, nk::bf16, nk::attention_as_traced>>;
static_assert(of_gradients::view().count.attentions == 0);
constexpr counts of_step = count(of_gradients::view());
static_assert(of_step.products > 0 && of_step.refused == 0);  // 4 row-major

}  // namespace
