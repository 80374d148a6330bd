// expect: time_on: no peak of this device is known for what the step computes in
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct m : nk::dim<"m", 8> {};
struct k : nk::dim<"k", 16> {};
struct n : nk::dim<"n", 4> {};

template <class T>
using product =
    decltype(nk::matmul(std::declval<nk::tensor<T, m, k>>(), std::declval<nk::tensor<T, k, n>>()));

int main() {
#ifdef MISTAKE
  return nk::time_on<nk::h100_sxm, product<nk::f64>>.seconds < 1 ? 0 : 1;
#else
  return nk::time_on<nk::h100_sxm, product<nk::f32>>.seconds < 1 ? 0 : 1;
#endif
}
