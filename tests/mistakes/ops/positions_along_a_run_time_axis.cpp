// expect: operations do not compute along an axis that is sized at run time yet
// facts: positions | later | 9
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 5> {};
struct later : nk::dim<"later", nk::up_to<9>> {};

#ifdef MISTAKE
void f(const nk::tensor<nk::f32, batch, later>& x) { nk::tensor y = nk::positions<later>(x); }
#else
void f(const nk::tensor<nk::f32, batch, later>& x) { nk::tensor y = nk::positions<batch>(x); }
#endif
