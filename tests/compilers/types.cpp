// Types of what operations give, named in a function by decltype, as cost<decltype(y)> names them: each compiler
// takes them. nvcc hands them to the host's compiler spelled out (core/fixed_string.hpp has what that asks for).
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 9> {};
struct wide : nk::dim<"wide", 12> {};

using matrix = nk::tensor<nk::f32, batch, wide>;
using classes = nk::tensor<nk::i32, batch>;
using vector = nk::tensor<nk::f32, wide>;
using number = nk::tensor<nk::f32>;

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

void functions(const matrix& x, const vector& g, const classes& right,
               const nk::tensor<nk::f32, batch, seq, wide>& q) {
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
