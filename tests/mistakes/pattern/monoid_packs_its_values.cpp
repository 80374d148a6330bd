// expect: a monoid combines two values by elementwise operations
// facts: log_of_exponentials | concat
#include <limits>
#include <napkin/napkin.hpp>

namespace nk = napkin;

struct batch : nk::dim<"batch", 4> {};
struct seq : nk::dim<"seq", 6> {};

struct log_of_exponentials {
  static constexpr double identity = -std::numeric_limits<double>::infinity();
#ifdef MISTAKE
  constexpr auto operator()(auto a, auto b) const { return nk::logsumexp(nk::pack<"*">(a, b).packed); }
#else
  constexpr auto operator()(auto a, auto b) const { return nk::log(nk::exp(a) + nk::exp(b)); }
#endif
};

void f(const nk::tensor<nk::f32, batch, seq>& x) {
#ifdef MISTAKE
  auto y = nk::reduce<"batch seq -> batch", log_of_exponentials>(x);
#else
  auto y = nk::reduce<"batch seq -> batch", log_of_exponentials>(x);
#endif
  (void)y;
}
