// The words and numbers of progress, and where they go.
#include "napkin/train/progress.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <csignal>

#include "napkin/train/stop_signal.hpp"
#include "support/temporary_folder.hpp"

namespace nk = napkin;

TEST_CASE("progress: durations and numbers in words") {
  CHECK(nk::duration_text(0) == "0 s");
  CHECK(nk::duration_text(59.4) == "59 s");
  CHECK(nk::duration_text(59.6) == "1 min 00 s");
  CHECK(nk::duration_text(200) == "3 min 20 s");
  CHECK(nk::duration_text(3725) == "1 h 02 min");
  CHECK(nk::number_text(7) == "7");
  CHECK(nk::number_text(999, "B") == "999 B");
  CHECK(nk::number_text(1234) == "1.23 k");
  CHECK(nk::number_text(12345678, "FLOP") == "12.3 MFLOP");
  CHECK(nk::number_text(999600) == "1.00 M");
  CHECK(nk::number_text(123e9, "B") == "123 GB");
  CHECK(nk::number_text(0.25) == "0.25");
  CHECK(std::abs(nk::bits_of(std::log(2.0)) - 1) <= 1e-15);
}

TEST_CASE("progress: a line says all with units") {
  nk::progress_facts facts{340, 1000, std::log(4.0), 0.5, 1e-3, {23400, 34.2e9, 0.415}, 80, 1};
  CHECK(nk::progress_text(facts) ==
        "step 340 of 1000 | 1.386 nats | 2.000 bits per byte | 23,400 tokens/s | 34.2 GFLOP/s | MFU 41.5% | "
        "rate 1.00e-03 | gradient 0.50 | 1 min 20 s left");
  // Where there is less room, what matters least goes first, whole.
  CHECK(nk::progress_text(facts, 120) ==
        "step 340 of 1000 | 1.386 nats | 2.000 bits per byte | 23,400 tokens/s | 34.2 GFLOP/s | MFU 41.5% | "
        "1 min 20 s left");
  CHECK(nk::progress_text(facts, 87) ==
        "step 340 of 1000 | 2.000 bits per byte | 23,400 tokens/s | MFU 41.5% | 1 min 20 s left");
  CHECK(nk::progress_text(facts, 86) ==
        "step 340 of 1000 | 2.000 bits per byte | 23,400 tokens/s | 1 min 20 s left");
  CHECK(nk::progress_text(facts, 20) == "step 340 of 1000 | ");
  for (std::size_t width = 1; width < 160; ++width) CHECK(nk::progress_text(facts, width).size() < width);
  CHECK(nk::bits_text(std::log(4.0), 4) == "0.500 bits per byte");
  CHECK(nk::bits_text(std::log(4.0), 0) == "2.000 bits per token");
  facts.rates.mfu = 0;  // no peak is known: nothing is said of it
  CHECK(nk::progress_text(facts).find("MFU") == std::string::npos);
}

TEST_CASE("progress: plain lines where it is no terminal, the last step always; else one line rewritten") {
  const temporary_folder folder;
  for (const bool terminal : {false, true}) {
    const std::string path = folder / "out";
    std::FILE* file = std::fopen(path.c_str(), "w");
    REQUIRE(file != nullptr);
    {
      nk::progress display(0, 50, {10, 1000, {}}, {file, terminal, 1000});
      for (int step = 1; step <= 50; ++step) display.update({step, 2, 1, 1e-3, 0.5});
      display.say("a line that stays");
    }
    std::fclose(file);
    const std::string text = read_whole(path);
    CHECK(text.find("step 50 of 50") != std::string::npos);
    CHECK(text.find("2.885 bits per byte") !=
          std::string::npos);  // a mean of equal losses, from the first step on
    CHECK(text.find("| 20 tokens/s |") != std::string::npos);
    CHECK(text.find("| 2.00 kFLOP/s |") != std::string::npos);
    CHECK((text.find("2.000 nats") != std::string::npos) != terminal);  // for which 80 columns are too few
    CHECK(text.find("a line that stays\n") != std::string::npos);
    CHECK((text.find('\x1b') != std::string::npos) == terminal);
    CHECK((text.find('\r') != std::string::npos) == terminal);
    const auto lines = std::count(text.begin(), text.end(), '\n');
    CHECK(lines == (terminal ? 1 : 3));
  }
}

TEST_CASE("stop signal: noted, and the default is back afterwards") {
  {
    const nk::stop_signal stop;
    CHECK(stop.received() == 0);
    std::raise(SIGTERM);
    CHECK(stop.received() == SIGTERM);
  }
  CHECK(std::signal(SIGTERM, SIG_DFL) == SIG_DFL);
  CHECK(std::signal(SIGINT, SIG_DFL) == SIG_DFL);
}
