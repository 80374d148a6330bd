// The program of the README: an expression over tensors whose axes have names, what the compiler knows of it
// before it runs, and the numbers.
#include <iostream>
#include <napkin/napkin.hpp>
namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 128> {};
struct heads : nk::dim<"heads", 8> {};
struct hidden : nk::dim<"hidden", 64> {};

int main() {
  auto x = nk::randn<nk::f32, batch, seq, heads, hidden>(nk::seed{1});
  auto y = nk::rearrange<"batch seq heads hidden -> batch seq (heads hidden)">(x);
  static_assert(nk::is_view<decltype(y)>);  // nothing is copied
  auto s = nk::einsum<"batch seq heads hidden, batch key heads hidden -> batch heads seq key">(x, x);
  auto e = nk::reduce<"batch heads seq key -> batch heads", "mean">(nk::relu(s * 0.125f));
  static_assert(nk::cost<decltype(e)>.flops.matmul == 2ull * 4 * 8 * 128 * 128 * 64);
  static_assert(nk::plan_of<decltype(e), nk::cpu>.launches == 1);
  nk::tensor z = e;  // computed here
  std::cout << nk::to_string(nk::plan_of<decltype(e), nk::cpu>) << z << '\n';
}
