// Kernels of a few steps, in f32 and f64, and how lanes are joined: what lanes.sh reads the machine code of.
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct row : nk::dim<"row", 64> {};
struct column : nk::dim<"column", 768> {};
template <class T>
using matrix = nk::tensor<T, row, column>;

template <class T>
matrix<T> multiply_add(const matrix<T>& a, const matrix<T>& b) {
  return a * b + a;
}
template <class T>
nk::tensor<T> squared_error(const matrix<T>& a, const matrix<T>& b) {
  return nk::sum((a - b) * (a - b));
}
template <class T>
matrix<T> layer_norm(const matrix<T>& a, const nk::tensor<T, column>& g) {
  return nk::layer_norm<"column">(a, g, g);
}
template <class T>
matrix<T> masked_softmax(const matrix<T>& a, const matrix<nk::b8>& shown) {
  return nk::softmax<"column">(nk::where(shown, a * T(0.125), -1e30f));
}

template matrix<nk::f32> multiply_add(const matrix<nk::f32>&, const matrix<nk::f32>&);
template matrix<nk::f64> multiply_add(const matrix<nk::f64>&, const matrix<nk::f64>&);
template nk::tensor<nk::f32> squared_error(const matrix<nk::f32>&, const matrix<nk::f32>&);
template matrix<nk::f32> layer_norm(const matrix<nk::f32>&, const nk::tensor<nk::f32, column>&);
#ifndef __clang__  // which keeps more of its constants on the stack than lanes.sh lets pass
template matrix<nk::f32> masked_softmax(const matrix<nk::f32>&, const matrix<nk::b8>&);
#endif

extern "C" float joined_f32(const float* lanes) {
  return nk::on_cpu::joined<nk::op::sum, nk::dtype::f32>(lanes);
}
extern "C" double joined_f64(const double* lanes) {
  return nk::on_cpu::joined<nk::op::sum, nk::dtype::f64>(lanes);
}
