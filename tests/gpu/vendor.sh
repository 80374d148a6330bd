#!/usr/bin/env bash
# vendor.sh [CXX]: the folder that scripts/vendor.sh makes has the packages that the build looks for, and a file that
# includes every library compiles against it with none of the machine's own headers of them.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../support/check.sh"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
compiler=${1:-g++}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

code=0
"$root/scripts/vendor.sh" "$work/vendor" >stdout 2>stderr || code=$?
if [ $code -eq 2 ]; then echo "skipped: $(cat stderr)" && exit 77; fi
check "a folder is made" test $code = 0
check "its size is said" grep -qE '^vendor: [0-9]+ KiB in ' stdout

cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(vendored CXX)
foreach(package IN ITEMS Boost nlohmann_json CLI11 Catch2)
  find_package(\${package} CONFIG REQUIRED NO_DEFAULT_PATH PATHS "$work/vendor")
endforeach()
add_library(one OBJECT one.cpp)
target_compile_features(one PRIVATE cxx_std_20)
target_include_directories(one PRIVATE "$root/include")
target_link_libraries(one PRIVATE Boost::headers nlohmann_json::nlohmann_json CLI11::CLI11 Catch2::Catch2)
END
cat >one.cpp <<'END'
#include <CLI/CLI.hpp>
#include <catch2/catch.hpp>
#include <napkin/napkin.hpp>
#include <nlohmann/json.hpp>

struct feature : napkin::dim<"feature", 2> {};
struct model {
  BOOST_HANA_DEFINE_STRUCT(model, (napkin::param<feature>, weight));
};
nlohmann::json described(const CLI::App& app) { return {{"name", app.get_name()}}; }
TEST_CASE("counted") { CHECK(napkin::count_parameters<model> == 2); }
END
# Every header that was read, one a line.
headers() { find built -name '*.d' -exec cat {} + | tr ' \\' '\n\n' | grep -E '\.(hpp|h)$' | sort -u; }
others() { headers | grep -E '/(boost|nlohmann|CLI|catch2)/' | grep -v "^$work/vendor/include/"; }
check "the build finds its packages there" cmake -S . -B built -G "Unix Makefiles" -DCMAKE_CXX_COMPILER="$compiler"
check "a file of all of them compiles" cmake --build built
for library in boost/hana nlohmann CLI catch2; do
  check "with the folder's $library" grep -q "^$work/vendor/include/$library/" <(headers)
done
check "and nothing of the machine's own" test -z "$(others)"

mkdir bin
sized() {  # KIBIBYTES: what vendor.sh says where that is what the folder takes
  printf '#!/bin/sh\nprintf "%s\\t%%s" "$2"\n' "$1" >bin/du && chmod +x bin/du
  PATH="$work/bin:$PATH" "$root/scripts/vendor.sh" "$work/sized" 2>&1
}
refused() { ! sized "$1" >said && grep -qF 'takes 40 MiB, and less than 40 are allowed' said; }
usage() { ! "$root/scripts/vendor.sh" "$1" >said 2>&1 && grep -q '^usage' said; }
check "a folder under 40 MiB" sized 40959
check "one of 40 MiB is refused in a sentence" refused 40960
check "an option is refused" usage --help
finish vendor
