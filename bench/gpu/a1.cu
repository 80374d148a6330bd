// A1: causal attention of queries, keys and values packed in one tensor, forward alone and with its gradient,
// which is packed alike; and of three tensors, as nn::gpt has them.
#include <napkin/nn/attention.hpp>

#include "rung.hpp"

namespace nk = napkin;

namespace {

struct attention {
  constexpr auto operator()(const auto& packed) const {
    return nk::causal_attention<"seq", "hidden">(nk::index<"part", 0>(packed), nk::index<"part", 1>(packed),
                                                 nk::index<"part", 2>(packed));
  }
};
/// Its gradient in `packed` is attention's, of dy; the output is kept.
struct weighted {
  constexpr auto operator()(const auto& packed, const auto& dy) const {
    const auto y = attention{}(packed);
    return std::tuple(nk::sum(nk::cast<nk::f32>(y) * nk::cast<nk::f32>(dy)), y);
  }
};
struct weighted_apart {
  constexpr auto operator()(const auto& q, const auto& k, const auto& v, const auto& dy) const {
    const auto y = nk::causal_attention<"seq", "hidden">(q, k, v);
    return std::tuple(nk::sum(nk::cast<nk::f32>(y) * nk::cast<nk::f32>(dy)), y);
  }
};

template <std::size_t Batch, std::size_t Seq, std::size_t Heads, std::size_t Hidden>
void add(std::vector<nk::benched::rung_case>& to, const char* name) {
  using batch = nk::dim<"batch", nk::benched::sized(Batch, 2)>;
  using seq = nk::dim<"seq", nk::benched::sized(Seq, 80)>;
  using part = nk::dim<"part", 3>;
  using heads = nk::dim<"heads", nk::benched::sized(Heads, 2)>;
  using hidden = nk::dim<"hidden", Hidden>;
  using packed = nk::input<nk::bf16, batch, seq, part, heads, hidden>;
  using output = nk::input<nk::bf16, batch, seq, heads, hidden>;
  to.push_back(nk::benched::function_case<attention, packed>(std::string("forward ") + name));
  to.push_back(nk::benched::case_of<
               nk::benched::gradient_graph<weighted, 1, nk::benched::in_arguments<0>, packed, output>>(
      std::string("forward and backward ") + name));
  to.push_back(
      nk::benched::case_of<nk::benched::gradient_graph<weighted_apart, 1, nk::benched::in_arguments<0, 1, 2>,
                                                       output, output, output, output>>(
          std::string("apart, forward and backward ") + name));
}

}  // namespace

std::vector<nk::benched::rung_case> nk::benched::cases() {
  std::vector<rung_case> all;
  add<64, 1024, 12, 64>(all, "T=1024 D=64");
  add<64, 1024, 6, 128>(all, "T=1024 D=128");
  add<16, 4096, 12, 64>(all, "T=4096 D=64");
  return all;
}
