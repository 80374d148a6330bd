// expect: param: a parameter's sizes are known to the compiler
// facts: rows
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct rows : nk::dim<"rows", nk::up_to<5>> {};
struct cols : nk::dim<"cols", 3> {};

#ifdef MISTAKE
nk::param<rows, cols> weight;
#else
nk::param<cols> weight;
#endif
