// expect: a std::vector or an array has no named axes
// facts: vector
#include <napkin/napkin.hpp>
#include <vector>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct vocab : nk::dim<"vocab", 16> {};

auto f(const nk::tensor<nk::f32, batch, vocab>& logits, const std::vector<int>& targets) {
#ifdef MISTAKE
  return nk::eval(nk::cross_entropy<"vocab">(logits, targets));
#else
  return nk::eval(nk::cross_entropy<"vocab">(logits, nk::tensor<nk::i32, batch>(targets)));
#endif
}
