// Types of what operations give, named in a function by decltype, as cost<decltype(y)> names them: each compiler
// takes them. nvcc hands them to the host's compiler spelled out (core/fixed_string.hpp has what that asks for).
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 9> {};
struct wide : nk::dim<"wide", 12> {};
struct vocab : nk::dim<"vocab", 16> {};
struct row : nk::dim<"row", 8> {};
struct column : nk::dim<"column", 8> {};
struct down : nk::dim<"down", 3> {};
struct across : nk::dim<"across", 3> {};
struct gray : nk::dim<"gray", 1> {};
struct edges : nk::dim<"edges", 2> {};

using matrix = nk::tensor<nk::f32, batch, wide>;
using classes = nk::tensor<nk::i32, batch>;
using vector = nk::tensor<nk::f32, wide>;
using number = nk::tensor<nk::f32>;
using sequences = nk::tensor<nk::f32, batch, seq, wide>;
using tokens = nk::tensor<nk::i32, batch, seq>;
using image = nk::tensor<nk::f32, batch, row, column, gray>;

#define HAS_BYTES(bytes, ...)                          \
  {                                                    \
    [[maybe_unused]] auto y = __VA_ARGS__;             \
    static_assert(nk::bytes_of<decltype(y)> == bytes); \
  }

// Not called: the tensors have no elements.
void views(const matrix& x) {
  HAS_BYTES(192, nk::rearrange<"batch wide -> wide batch">(x))
  HAS_BYTES(192, nk::rearrange<"batch (h k) -> h batch k", nk::dim<"h", 3>>(x))
  HAS_BYTES(48, nk::slice<"wide", 2, 5>(x))
  HAS_BYTES(80, nk::slice<"wide", 5>(x, 2))
  HAS_BYTES(192, nk::flip<"wide">(x))
  HAS_BYTES(192, nk::split<"wide", nk::dim<"a", 3>, nk::dim<"b", 4>>(x))
  HAS_BYTES(192, nk::merge<"batch", "wide">(x))
  HAS_BYTES(192, nk::permute<"wide", "batch">(x))
  HAS_BYTES(192, nk::transpose<"wide", "batch">(x))
  HAS_BYTES(192, nk::as<"both">(nk::merge<"batch", "wide">(x)))
  HAS_BYTES(192, nk::rename<"wide", "w">(x))
  static_assert(nk::is_view<decltype(nk::rearrange<"batch wide -> wide batch">(x))>);
}

void expressions(const matrix& x, const nk::tensor<nk::f32, wide, seq>& w, const vector& g,
                 const nk::tensor<nk::f32, nk::dim<"left", 9>, wide>& square,
                 const nk::tensor<nk::i32, seq>& ids, const classes& right) {
  HAS_BYTES(192, nk::rearrange<"batch wide -> wide batch">(x * 2))
  HAS_BYTES(192, nk::rearrange<"batch (h k) -> h (batch k)", nk::dim<"h", 3>>(x))
  HAS_BYTES(48, nk::reduce<"batch wide -> wide", "max">(x))
  HAS_BYTES(576, nk::repeat<"batch wide -> batch r wide", nk::dim<"r", 3>>(x))
  HAS_BYTES(192, nk::pack<"batch *">(x).packed)
  HAS_BYTES(384, nk::pack<"batch *", "both">(x, x).packed)
  HAS_BYTES(384, nk::concat<"batch">(x, x))
  HAS_BYTES(48, nk::slice<"wide", 2, 5>(x * 2))
  HAS_BYTES(192, nk::flip<"wide">(x * 2))
  HAS_BYTES(192, nk::split<"wide", nk::dim<"a", 3>, nk::dim<"b", 4>>(x * 2))
  HAS_BYTES(192, nk::merge<"batch", "wide">(x * 2))
  HAS_BYTES(192, nk::permute<"wide", "batch">(x * 2))
  HAS_BYTES(192, nk::transpose<"wide", "batch">(x * 2))
  HAS_BYTES(192, nk::rename<"wide", "w">(x * 2))
  HAS_BYTES(480, nk::window<"wide", nk::dim<"k", 3>>(x * 2))
  HAS_BYTES(48, nk::index<"batch", 2>(x * 2))
  HAS_BYTES(432, nk::gather<"batch">(x, ids))
  HAS_BYTES(36, nk::diagonal<"seq", "left">(nk::dot<"wide">(w, square)))
  HAS_BYTES(144, nk::dot<"wide">(x, w))
  HAS_BYTES(144, nk::matmul(x, w))
  HAS_BYTES(192, nk::outer(nk::cast<nk::f32>(right), g))
  HAS_BYTES(144, nk::einsum<"batch wide, wide seq -> batch seq">(x, w))
  HAS_BYTES(144, nk::einsum_least_flops<"batch wide, wide seq -> batch seq">(x, w))
  HAS_BYTES(16, nk::einsum_summing<"batch wide -> batch", nk::summed<"wide">>(x))
  HAS_BYTES(16, nk::sum<"wide">(x))
  HAS_BYTES(16, nk::mean<"wide">(x))
  HAS_BYTES(16, nk::argmax<"wide">(x))
  HAS_BYTES(16, nk::logsumexp<"wide">(x))
  HAS_BYTES(4, nk::any<"wide">(x > 0))
}

void elements(const matrix& x, const vector& g) {
  HAS_BYTES(192, nk::fma(x, g, x))
  HAS_BYTES(192, nk::fma(x, 2, g))
  HAS_BYTES(192, nk::clamp(x, -1, 1))
  HAS_BYTES(192, nk::where(x > 0, x, g))
  HAS_BYTES(192, nk::gelu(x))
  HAS_BYTES(192, nk::gelu_exact(x))
  HAS_BYTES(192, nk::swiglu(x, x))
  HAS_BYTES(192, nk::silu(x) + nk::sigmoid(x) * nk::tanh(x))
  HAS_BYTES(192, nk::stop_gradient(x))
  HAS_BYTES(192, nk::broadcast_to<batch, wide>(g))
  HAS_BYTES(192, nk::squeeze(nk::unsqueeze<1>(x)))
  HAS_BYTES(16, nk::prod<"wide">(x))
  HAS_BYTES(4, nk::mse(x, x))
  HAS_BYTES(4, nk::binary_cross_entropy(x, x))
}

void by_index(const sequences& x, const tokens& ids) {
  HAS_BYTES(768, nk::scatter_add<vocab>(x, ids))
  HAS_BYTES(576, nk::one_hot<vocab>(ids))
  HAS_BYTES(2304, nk::cast<nk::f32>(nk::one_hot<vocab>(ids)))
}

void unpacked(const sequences& x) {
  auto [first, rest] =
      nk::unpack<"batch * wide">(x, nk::packed_shapes<nk::axes<>, nk::axes<nk::inferred<"rest">>>{});
  static_assert(nk::bytes_of<decltype(first)> == 192 && nk::bytes_of<decltype(rest)> == 1536);
  auto [doubled, others] =
      nk::unpack<"batch * wide">(x * 2, nk::packed_shapes<nk::axes<>, nk::axes<nk::dim<"others", 8>>>{});
  static_assert(nk::bytes_of<decltype(doubled)> == 192 && nk::bytes_of<decltype(others)> == 1536);
}

void images(const image& x, const nk::tensor<nk::f32, down, across, gray, edges>& w) {
  HAS_BYTES(512, nk::max_pool<2, "row">(x))
  HAS_BYTES(256, nk::max_pool<2, "row", "column">(x))
  HAS_BYTES(64, nk::mean_pool<4, "row", "column">(nk::relu(x)))
  HAS_BYTES(1152,
            nk::dot<"down", "across", "gray">(nk::window<"column", across>(nk::window<"row", down>(x)), w))
  HAS_BYTES(2048, nk::dot<"down", "across", "gray">(
                      nk::window<"column", across, 1, 1>(nk::window<"row", down, 1, 1>(x)), w))
}

void functions(const matrix& x, const vector& g, const classes& right, const sequences& q) {
  HAS_BYTES(192, nk::softmax<"wide">(x))
  HAS_BYTES(192, nk::log_softmax<"wide">(x))
  HAS_BYTES(16, nk::mean<"wide">(x))
  HAS_BYTES(4, nk::cross_entropy<"wide">(x, right))
  HAS_BYTES(4, nk::cross_entropy<"wide">(x, right, 0.1))
  HAS_BYTES(4, nk::cross_entropy<"wide", -1>(x, right))
  HAS_BYTES(16, nk::cross_entropies<"wide">(x, right))
  HAS_BYTES(16, nk::cross_entropies<"wide">(x, right, 0.1))
  HAS_BYTES(4, nk::z_loss<"wide">(x))
  HAS_BYTES(192, nk::layer_norm<"wide">(x, g, g))
  HAS_BYTES(192, nk::rms_norm<"wide">(x, g))
  HAS_BYTES(1728, nk::rotary<"seq", "wide">(q))
  HAS_BYTES(1728, nk::causal_attention<"seq", "wide">(q, q, q))
  HAS_BYTES(1728, nk::full_attention<"seq", "wide">(q, q, q))
}

// A tensor without axes on either side of one with some.
void broadcasts(const number& s, const vector& g) {
  HAS_BYTES(48, s * g)
  HAS_BYTES(48, g + s)
  HAS_BYTES(48, s - g)
}

int main() {}
