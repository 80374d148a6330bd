// expect: an axis that is sized at run time stays one axis
// facts: one_hot | later | 9
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", nk::up_to<4>> {};
struct vocab : nk::dim<"vocab", 7> {};
struct later : nk::dim<"later", nk::up_to<9>> {};

#ifdef MISTAKE
void f(const nk::tensor<nk::i32, batch>& x) { nk::tensor y = nk::one_hot<later>(x); }
#else
void f(const nk::tensor<nk::i32, batch>& x) { nk::tensor y = nk::one_hot<vocab>(x); }
#endif
