#!/usr/bin/env bash
# vendor.sh [FOLDER]: copies the header-only libraries that the build needs from this machine into FOLDER (vendor),
# as CMake packages, for a machine that cannot install any: scripts/gpu.sh looks there. Headers of Boost.Hana and
# what it includes, nlohmann-json, CLI11 and Catch2: some 5 MB. Fails where they are 40 MiB or more.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
to=${1:-vendor}
[[ $to != -* ]] || { echo "usage: vendor.sh [FOLDER]" >&2 && exit 2; }

# Where the compiler finds a header: the folder that holds it.
folder_of() {
  local found
  found=$(g++ -std=c++20 -E -x c++ - <<<"#include <$1>" 2>/dev/null | sed -n "s|^# 1 \"\(.*\)/$1\".*|\1|p" | head -n 1)
  [ -n "$found" ] || { echo "vendor.sh: no <$1> on this machine: run scripts/install.sh test first" >&2 && exit 2; }
  printf '%s\n' "$found"
}

# package NAME VERSION TARGET: a package of headers, and the target that it defines.
package() {
  local at="$to/lib/cmake/$1"
  mkdir -p "$at"
  cat >"$at/$1Config.cmake" <<EOF
if(NOT TARGET $3)
  add_library($3 INTERFACE IMPORTED)
  set_target_properties($3 PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "\${CMAKE_CURRENT_LIST_DIR}/../../../include"
                        INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "\${CMAKE_CURRENT_LIST_DIR}/../../../include")
endif()
EOF
  cat >"$at/$1ConfigVersion.cmake" <<EOF
set(PACKAGE_VERSION "$2")
if(NOT PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
EOF
}

# macro FILE NAME: the number that a header defines.
macro() { sed -nE "s/^ *# *define +$2 +\"?([0-9.]+)\"?.*/\1/p" "$1" | head -n 1; }

rm -rf "$to"
mkdir -p "$to/include/boost"

boost=$(folder_of boost/hana.hpp)
cp -r "$boost/boost/hana" "$boost/boost/config" "$to/include/boost/"  # whole: nvcc takes other parts of config
cp "$boost/boost/hana.hpp" "$boost/boost/version.hpp" "$boost/boost/config.hpp" "$to/include/boost/"
grep -rhoE '#include <boost/[^>]+>' include src tests examples bench | sort -u >"$to/used.hpp"
g++ -std=c++20 -M -x c++ "$to/used.hpp" | tr ' \\' '\n\n' | grep "^$boost/boost/" | sort -u | while IFS= read -r header; do
  mkdir -p "$to/include/$(dirname "${header#"$boost"/}")"
  cp "$header" "$to/include/${header#"$boost"/}"
done
rm "$to/used.hpp"
number=$(macro "$boost/boost/version.hpp" BOOST_VERSION)
package Boost "$((number / 100000)).$((number / 100 % 1000)).$((number % 100))" Boost::headers

json=$(folder_of nlohmann/json.hpp)
cp -r "$json/nlohmann" "$to/include/"
package nlohmann_json "$(grep -rhoE 'VERSION_MAJOR +[0-9]+' "$json/nlohmann" | awk '{ print $2; exit }').11" \
  nlohmann_json::nlohmann_json

cli=$(folder_of CLI/CLI.hpp)
cp -r "$cli/CLI" "$to/include/"
package CLI11 "$(macro "$cli/CLI/Version.hpp" CLI11_VERSION)" CLI11::CLI11

catch=$(folder_of catch2/catch.hpp)
cp -r "$catch/catch2" "$to/include/"
package Catch2 "2.$(macro "$catch/catch2/catch.hpp" CATCH_VERSION_MINOR).0" Catch2::Catch2

kibibytes=$(du -sk "$to" | cut -f 1)
if [ "$kibibytes" -ge $((40 * 1024)) ]; then
  echo "vendor.sh: $to takes $((kibibytes / 1024)) MiB, and less than 40 are allowed: copy fewer headers" >&2 && exit 1
fi
echo "vendor: $kibibytes KiB in $to"
