#!/usr/bin/env bash
# build.sh PRESET [TARGET [CMAKE ARGUMENTS]]: configures a preset of CMakePresets.json into build/PRESET and builds
# it, on all cores, with Ninja where it is there. Goes on past what does not compile, and fails at the end.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
[ $# -ge 1 ] || { echo "usage: build.sh PRESET [TARGET [CMAKE ARGUMENTS]]" >&2 && exit 2; }
preset=$1
target=${2:-all}

if command -v ninja >/dev/null; then export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}; fi
SECONDS=0
echo "build: configuring build/$preset"
cmake -S "$root" --preset "$preset" "${@:3}" >/dev/null

keep_going=(-k)
if [ -f "$root/build/$preset/build.ninja" ]; then keep_going=(-k 0); fi
echo "build: target $target with $(nproc) jobs"
cmake --build "$root/build/$preset" --target "$target" --parallel "$(nproc)" -- "${keep_going[@]}"
echo "build: done in $SECONDS s"
