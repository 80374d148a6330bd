// expect: the tensor has no axis of this name
// facts: vocab | seq
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 2> {};
struct seq : nk::dim<"seq", 4> {};

int main() {
  auto x = nk::ones<nk::f32, batch, seq>();
#ifdef MISTAKE
  nk::tensor y = nk::fn([](auto scores) { return nk::softmax<"vocab">(scores); })(x);
#else
  nk::tensor y = nk::fn([](auto scores) { return nk::softmax<"seq">(scores); })(x);
#endif
  (void)y;
}
