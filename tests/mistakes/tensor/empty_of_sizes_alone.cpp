// expect: axes have names, and sizes go with them
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

void f() {
#ifdef MISTAKE
  auto y = nk::empty<nk::i32>(4, 6);
#else
  auto y = nk::empty<nk::i32, batch, seq>();
#endif
  (void)y;
}
