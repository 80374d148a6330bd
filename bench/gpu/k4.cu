// K4: cross entropy of logits in bf16 and its gradient: one read, one write, of as many bytes as the logits
// have.
#include "rung.hpp"

namespace nk = napkin;

namespace {

struct loss {
  constexpr auto operator()(const auto& logits, const auto& targets) const {
    return nk::cross_entropy<"vocab">(nk::cast<nk::f32>(logits), targets);
  }
};
template <std::size_t Tokens>
nk::benched::rung_case of_tokens(const char* name) {
  using token = nk::dim<"token", nk::benched::sized(Tokens, Tokens / 2048)>;
  using vocab = nk::dim<"vocab", nk::benched::sized(50304, 1000)>;
  return nk::benched::case_of<nk::benched::gradient_graph<
      loss, 0, nk::benched::in_arguments<0>, nk::input<nk::bf16, token, vocab>, nk::input<nk::i32, token>>>(
      name);
}

}  // namespace

std::vector<nk::benched::rung_case> nk::benched::cases() {
  return {of_tokens<8192>("cross entropy 8192"), of_tokens<65536>("cross entropy 65536")};
}
