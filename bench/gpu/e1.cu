// E1: 40 einsums: of attention, of layers and mixtures of experts, bilinear, of tensor decompositions, and
// the contractions of many axes of quantum chemistry's kind, whose orders of axes no matrix product takes as
// they are.
#include "rung.hpp"

namespace nk = napkin;

namespace {

/// Axes are letters; on the host none is long.
constexpr std::size_t at_most(std::size_t size) { return nk::benched::sized(size, size < 6 ? size : 6); }
template <std::size_t N>
struct a : nk::dim<"a", at_most(N)> {};
template <std::size_t N>
struct b : nk::dim<"b", at_most(N)> {};
template <std::size_t N>
struct c : nk::dim<"c", at_most(N)> {};
template <std::size_t N>
struct d : nk::dim<"d", at_most(N)> {};
template <std::size_t N>
struct e : nk::dim<"e", at_most(N)> {};
template <std::size_t N>
struct f : nk::dim<"f", at_most(N)> {};
template <std::size_t N>
struct g : nk::dim<"g", at_most(N)> {};
template <std::size_t N>
struct h : nk::dim<"h", at_most(N)> {};
template <std::size_t N>
struct i : nk::dim<"i", at_most(N)> {};
template <std::size_t N>
struct j : nk::dim<"j", at_most(N)> {};
template <std::size_t N>
struct k : nk::dim<"k", at_most(N)> {};
template <std::size_t N>
struct l : nk::dim<"l", at_most(N)> {};
template <std::size_t N>
struct p : nk::dim<"p", at_most(N)> {};
template <std::size_t N>
struct q : nk::dim<"q", at_most(N)> {};
template <std::size_t N>
struct r : nk::dim<"r", at_most(N)> {};
template <std::size_t N>
struct s : nk::dim<"s", at_most(N)> {};
template <std::size_t N>
struct t : nk::dim<"t", at_most(N)> {};

template <nk::fixed_string Pattern>
struct contraction {
  constexpr auto operator()(const auto&... xs) const { return nk::einsum<Pattern>(xs...); }
};
/// Named for its pattern, without spaces.
template <nk::fixed_string Pattern, class... Xs>
struct of {
  static nk::benched::rung_case make() {
    std::string name;
    for (const char letter : Pattern.view())
      if (letter != ' ') name += letter;
    return nk::benched::function_case<contraction<Pattern>, Xs...>(name);
  }
};
template <class... Ds>
using half = nk::input<nk::bf16, Ds...>;
template <class... Ds>
using real = nk::input<nk::f32, Ds...>;

struct all
    : nk::benched::case_list<
          // attention
          of<"b t h d, b s h d -> b h t s", half<b<16>, t<1024>, h<12>, d<64>>,
             half<b<16>, s<1024>, h<12>, d<64>>>,
          of<"b h t s, b s h d -> b t h d", half<b<16>, h<12>, t<1024>, s<1024>>,
             half<b<16>, s<1024>, h<12>, d<64>>>,
          of<"b h t d, b h s d -> b h t s", half<b<16>, h<12>, t<1024>, d<64>>,
             half<b<16>, h<12>, s<1024>, d<64>>>,
          of<"b t k g d, b s k d -> b k g t s", half<b<8>, t<1024>, k<4>, g<4>, d<64>>,
             half<b<8>, s<1024>, k<4>, d<64>>>,
          of<"b t h d, s h d -> b h t s", half<b<16>, t<512>, h<12>, d<64>>, half<s<512>, h<12>, d<64>>>,
          of<"b h t s, b h t d -> b h s d", half<b<16>, h<12>, t<1024>, s<1024>>,
             half<b<16>, h<12>, t<1024>, d<64>>>,
          // layers
          of<"b t c, h c d -> b h t d", half<b<32>, t<1024>, c<768>>, half<h<12>, c<768>, d<64>>>,
          of<"b t c, c h d -> b t h d", half<b<32>, t<1024>, c<768>>, half<c<768>, h<12>, d<64>>>,
          of<"b t h d, h d c -> b t c", half<b<32>, t<1024>, h<12>, d<64>>, half<h<12>, d<64>, c<768>>>,
          of<"b h t d, h d c -> b t c", half<b<32>, h<12>, t<1024>, d<64>>, half<h<12>, d<64>, c<768>>>,
          of<"b t c, c f -> b t f", half<b<32>, t<1024>, c<768>>, half<c<768>, f<3072>>>,
          of<"b t c, b t f -> c f", half<b<32>, t<1024>, c<768>>, half<b<32>, t<1024>, f<3072>>>,
          of<"b c t, c f -> b f t", half<b<32>, c<768>, t<1024>>, half<c<768>, f<768>>>,
          of<"t b c, f c -> b t f", half<t<1024>, b<32>, c<768>>, half<f<768>, c<768>>>,
          // mixtures of experts
          of<"e t c, e c f -> e t f", half<e<16>, t<2048>, c<512>>, half<e<16>, c<512>, f<2048>>>,
          of<"t e c, e c f -> t e f", half<t<2048>, e<16>, c<512>>, half<e<16>, c<512>, f<1024>>>,
          of<"t e, t c -> e c", half<t<16384>, e<64>>, half<t<16384>, c<1024>>>,
          of<"t e k, t c -> e k c", half<t<4096>, e<16>, k<64>>, half<t<4096>, c<512>>>,
          of<"e t f, e t c -> e f c", half<e<16>, t<2048>, f<1024>>, half<e<16>, t<2048>, c<512>>>,
          // bilinear, and products that are none of matrices
          of<"b i, b j -> b i j", real<b<4096>, i<128>>, real<b<4096>, j<128>>>,
          of<"b i, i j k, b j -> b k", real<b<512>, i<128>>, real<i<128>, j<128>, k<128>>,
             real<b<512>, j<128>>>,
          of<"b i d, b i d -> b i", real<b<256>, i<1024>, d<128>>, real<b<256>, i<1024>, d<128>>>,
          of<"b i, b i -> b", real<b<65536>, i<512>>, real<b<65536>, i<512>>>,
          of<"i, j -> i j", real<i<16384>>, real<j<8192>>>,
          of<"b i j -> b j i", real<b<64>, i<1024>, j<1024>>>, of<"b i j -> b", real<b<256>, i<512>, j<512>>>,
          of<"j k, i j k l -> i l", real<j<64>, k<64>>, real<i<128>, j<64>, k<64>, l<128>>>,
          of<"a c, a b c -> c b", real<a<512>, c<512>>, real<a<512>, b<256>, c<512>>>,
          // decompositions
          of<"i j k, i a -> a j k", real<i<256>, j<256>, k<256>>, real<i<256>, a<64>>>,
          of<"i j k, j a -> i a k", real<i<256>, j<256>, k<256>>, real<j<256>, a<64>>>,
          of<"i j k, k a -> i j a", real<i<256>, j<256>, k<256>>, real<k<256>, a<64>>>,
          of<"a b c, i a, j b, k c -> i j k", real<a<32>, b<32>, c<32>>, real<i<256>, a<32>>,
             real<j<256>, b<32>>, real<k<256>, c<32>>>,
          of<"i r, j r, k r -> i j k", real<i<256>, r<32>>, real<j<256>, r<32>>, real<k<256>, r<32>>>,
          of<"i j k, j r, k r -> i r", real<i<256>, j<256>, k<256>>, real<j<256>, r<32>>,
             real<k<256>, r<32>>>,
          of<"i p, p j q, q k r -> i j k r", real<i<64>, p<64>>, real<p<64>, j<64>, q<64>>,
             real<q<64>, k<64>, r<64>>>,
          // of many axes
          of<"a e c, d e b -> a b c d", real<a<48>, e<64>, c<48>>, real<d<48>, e<64>, b<48>>>,
          of<"e a b c, f d e b -> a c d f", real<e<48>, a<32>, b<32>, c<32>>,
             real<f<32>, d<32>, e<48>, b<32>>>,
          of<"a e b f, d f c e -> a b c d", real<a<64>, e<24>, b<64>, f<24>>,
             real<d<64>, f<24>, c<64>, e<24>>>,
          of<"d e g a, g f b c -> a b c d e f", real<d<16>, e<16>, g<24>, a<16>>,
             real<g<24>, f<16>, b<16>, c<16>>>,
          of<"g d a b, e f g c -> a b c d e f", real<g<24>, d<16>, a<16>, b<16>>,
             real<e<16>, f<16>, g<24>, c<16>>>> {};

}  // namespace

std::vector<nk::benched::rung_case> nk::benched::cases() { return all::make(); }
