// A step allocates nothing: no operator new and, where the C library lets it be seen, no malloc or mmap of
// any library.
#include <catch2/catch.hpp>
#include <vector>

#include "napkin/cpu/threads.hpp"
#include "support/count_allocations.hpp"
#include "support/skip.hpp"
#include "support/temporary_folder.hpp"
#include "tiny.hpp"

TEST_CASE("training: steps and evaluations allocate nothing") {
#if defined(NAPKIN_ONEDNN)
  SKIP("NAPKIN_ONEDNN is ON, and oneDNN allocates in every call");
#endif
  const std::size_t before = napkin::on_cpu::threads();
  const temporary_folder folder;
  for (const std::size_t threads : {1u, 3u}) {
    INFO(threads << " threads");
    napkin::on_cpu::set_threads(threads);
    tiny::run run(folder.write("text", tiny::text()), 1);
    run.fetch();
    run.step_on_fetched();
    run.evaluate_fetched();

    {
      const allocations::count_here counter;
      const std::vector<float> everything = run.everything();
      CHECK(allocations::news > 0);  // they are counted
      CHECK((allocations::mallocs > 0) == allocations::mallocs_are_counted);
    }

    float loss = 0, evaluated = 0;
    long news = 0, mallocs = 0, maps = 0;
    {
      const allocations::count_here counter;
      for (int i = 0; i < 3; ++i) loss = run.step_on_fetched();
      evaluated = run.evaluate_fetched();
      news = allocations::news, mallocs = allocations::mallocs, maps = allocations::maps;
    }
    CHECK(news == 0);
    CHECK(mallocs == 0);
    CHECK(maps == 0);
    CHECK(evaluated <= loss);
  }
  napkin::on_cpu::set_threads(before);
}
