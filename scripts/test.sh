#!/usr/bin/env bash
# test.sh [--all] [CTEST ARGUMENTS]: installs what is missing, builds everything and runs the tests; --all
# runs those labelled "long" too. PRESET=asan tests another preset. The last line counts Catch2's test cases
# and the other checks: "N passed, N failed", with ", N skipped" where a check lacks what it needs.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
preset=${PRESET:-all}
build="$root/build/$preset"

selection=(-LE long)
arguments=()
for word in "$@"; do
  if [ "$word" = --all ]; then selection=(); else arguments+=("$word"); fi
done
if [ "$preset" = asan ]; then selection=(-LE "source${selection[1]:+|long}"); fi  # sanitizers change no text

"$root/scripts/install.sh" test

passed=0 failed=0 skipped=0
finish() {
  local line="$passed passed, $failed failed"
  if [ "$skipped" -gt 0 ]; then line+=", $skipped skipped"; fi
  echo "$line"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}

# What fails to build leaves its tests without a program, and these are counted as failed below.
built=yes
"$root/scripts/build.sh" "$preset" || built=no
results="$build/results.xml"
rm -rf "$results" "$build/totals"
if [ -f "$build/CTestTestfile.cmake" ]; then
  mkdir -p "$build/totals"
  echo "test: ctest in build/$preset"
  ctest --test-dir "$build" --output-on-failure --parallel "$(nproc)" --output-junit "$results" \
    ${selection[@]+"${selection[@]}"} ${arguments[@]+"${arguments[@]}"} </dev/null || true
fi

# One line "status name" for each entry that ran; what an entry says of its own cases counts instead of it.
while read -r status name; do
  [ -n "$name" ] || continue
  p=0 f=0 s=0
  if [ "$status" = skipped ]; then
    s=1
  elif [ -f "$build/totals/$name" ]; then
    read -r p f s <"$build/totals/$name" || true
    # A crash after the cases, or a leak: the entry failed, but none of its cases did.
    if [ "$status" = failed ] && [ "$f" -eq 0 ]; then f=1; fi
  elif [ "$status" = passed ]; then
    p=1
  else
    f=1
  fi
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done <<<"$([ ! -f "$results" ] || awk -f "$root/scripts/results.awk" "$results")"
if [ "$built" = no ] && [ "$failed" -eq 0 ]; then failed=1; fi
finish
