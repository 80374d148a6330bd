#!/usr/bin/env bash
# lanes.sh COMPILER: whether what a step of a fused kernel computes is in registers when the next one takes it, on
# processors with AVX2 and with AVX-512: no results and no time of a run, but the loops of the machine code. Of
# lanes that go through the stack a loop reads more vectors there than it computes, or reads one that it wrote in
# pieces, for which a processor waits. And joining a row's lanes takes a tree of vectors, not a loop. Exits with 77
# where the compiler makes no code for these processors.
set -euo pipefail
compiler=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# clang's loops over rows have the end of a row in them, which is copied in pieces.
whole=1
if "$compiler" --version | grep -q clang; then whole=0; fi
passed=0 failed=0
for processor in x86-64-v3 x86-64-v4; do
  "$compiler" -march="$processor" -x c++ -fsyntax-only /dev/null 2>"$work/said" || {
    echo "skipped: no code for $processor from $compiler" && exit 77
  }
  "$compiler" -std=c++20 -O3 -march="$processor" -ffp-contract=off -fno-math-errno -I "$here/../../include" \
    -S "$here/program.cpp" -o "$work/code.s"
  awk -f "$here/loops.awk" "$work/code.s" >"$work/loops"
  # A few may be spilled where registers are few.
  if awk -v whole=$whole '/^joined_/ { ++joins; if ($2 > 20) bad = 1; next }
          { ++loops } ($3 > 4 && $3 > $2) || (whole && $3 > 0 && $4 > 0) { bad = 1 }
          END { exit !(loops > 0 && joins == 2 && !bad) }' "$work/loops"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $processor: loops by instructions, vectors computed, read from the stack, and pieces written there;" \
      "and what joining takes" && cat "$work/loops"
  fi
done
echo "$passed passed, $failed failed"
[ -z "${NAPKIN_TOTALS:-}" ] || echo "$passed $failed 0" >"$NAPKIN_TOTALS"
[ "$failed" -eq 0 ]
