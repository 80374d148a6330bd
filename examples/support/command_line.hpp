// What the programs' command lines share: how numbers are read, and what a shell is told. Includes CLI11, which
// takes as long to compile as a model: for sources that hardly do more.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <exception>
#include <napkin/core/error.hpp>
#include <napkin/train/utf8.hpp>
#include <sstream>
#include <string>
#include <type_traits>

/// A number from low to high, for CLI::Option::transform. CLI11's own range lets NaN pass, and its integers
/// that begin with 0 are octal: here all are decimal.
template <class T>
CLI::Validator between(T low, T high) {
  return CLI::Validator(
      [=](std::string& text) -> std::string {
        T number{};
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (problem == std::errc{} && end == text.data() + text.size() && number >= low && number <= high) {
          if constexpr (std::is_integral_v<T>) text = std::to_string(number);
          return "";
        }
        std::ostringstream message;
        message << "'" << text << "' is no number from " << low << " to " << high;
        return message.str();
      },
      "");
}

/// Where a file may grow no further (ulimit -f), writing fails as on a full disk, and ends no program
/// silently.
inline void let_writes_beyond_limits_fail() { std::signal(SIGXFSZ, SIG_IGN); }

/// One line on stderr, whatever was typed; returns the code.
inline int fail(int code, const std::string& problem) {
  std::fflush(stdout);
  std::fprintf(stderr, "error: %s\n", napkin::without_controls(problem).c_str());
  return code;
}

/// The same of a command line that could not be understood.
inline int fail(int code, const CLI::ParseError& problem) {
  return fail(code, std::string(problem.what()) + " (--help lists the options)");
}

/// Understands the command line, runs the program, and says as an exit code and one line what was wrong: 2
/// where it was what was asked, 1 else.
template <class Program>
int parse_and_run(CLI::App& app, int argc, char** argv, const Program& program) {
  try {
    app.parse(argc, argv);
    return program();
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& problem) {
    return fail(2, problem);
  } catch (const napkin::input_error& problem) {
    return fail(2, problem.what());
  } catch (const std::exception& problem) {
    return fail(1, problem.what());
  }
}
