// expect: assignment: the axes differ, by name, size or order
// facts: seq | hidden
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct seq : nk::dim<"seq", 6> {};
struct hidden : nk::dim<"hidden", 8> {};

void f(const nk::tensor<nk::f32, seq>& row, const nk::tensor<nk::f32, hidden>& gain) {
#ifdef MISTAKE
  nk::copy(row, gain);
#else
  nk::copy(row, row);
#endif
  (void)gain;
}
