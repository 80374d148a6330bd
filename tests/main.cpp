// The one main of every Catch2 program here, and the listener that counts for scripts/test.sh: it writes
// "passed failed skipped" (test cases) into the file that NAPKIN_TOTALS names. A program that crashes
// leaves no such line, which counts as a failure.
#define CATCH_CONFIG_MAIN                 // version 2: main and the implementation are compiled here
#define CATCH_CONFIG_EXTERNAL_INTERFACES  // version 2: listeners
#include <cstdlib>
#include <fstream>

#include "catch.hpp"
#include "support/skip.hpp"

#if NAPKIN_CATCH_VERSION >= 3
using listener_base = Catch::EventListenerBase;
#else
using listener_base = Catch::TestEventListenerBase;
#endif

namespace {

struct write_totals : listener_base {
  using listener_base::listener_base;

  void testRunEnded(const Catch::TestRunStats& stats) override {
    const char* path = std::getenv("NAPKIN_TOTALS");
    if (path == nullptr) return;
    const auto& cases = stats.totals.testCases;
#if NAPKIN_CATCH_VERSION >= 3
    const auto skipped = cases.skipped, passed = cases.passed;
#else
    const auto skipped = skipped_cases, passed = cases.passed - skipped_cases;
#endif
    std::ofstream(path) << passed + cases.failedButOk << ' ' << cases.failed << ' ' << skipped << '\n';
  }
};

}  // namespace

CATCH_REGISTER_LISTENER(write_totals)
