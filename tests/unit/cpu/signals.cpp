// A signal that a program handles, a timer's or Ctrl-C, may arrive in the middle of a contraction.
#include <signal.h>
#include <sys/time.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "napkin/cpu/lower.hpp"
#include "napkin/ops/matmul.hpp"
#include "napkin/tensor/create.hpp"

namespace nk = napkin;

namespace {

struct row : nk::dim<"row", 200> {};
struct inner : nk::dim<"inner", 200> {};
struct column : nk::dim<"column", 200> {};

volatile sig_atomic_t arrived = 0;
extern "C" void note_alarm(int) { arrived = arrived + 1; }

}  // namespace

// In bf16 the processor's matrix unit has tiles that the system keeps meanwhile.
TEMPLATE_TEST_CASE("contraction: signals do not disturb it", "", nk::f32, nk::bf16) {
  struct sigaction handler {
  }, before{};
  handler.sa_handler = note_alarm;
  handler.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &handler, &before);
  const itimerval often{{0, 200}, {0, 200}}, never{{0, 0}, {0, 0}};  // microseconds
  arrived = 0;
  const auto a = nk::ones<TestType, row, inner>();
  const auto b = nk::ones<TestType, inner, column>();
  setitimer(ITIMER_REAL, &often, nullptr);
  std::size_t wrong = 0;
  for (int i = 0; i < 400; ++i) {
    const nk::tensor c = nk::dot<"inner">(a, b);
    wrong += static_cast<std::size_t>(
        std::count_if(c.data(), c.data() + c.numel(), [](TestType x) { return x != TestType(200); }));
  }
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  CHECK(wrong == 0);
  CHECK(arrived > 0);
}
