#!/usr/bin/env bash
# instructions.sh COMPILER: whether a program that asserts what its training step costs has the instructions, and
# the data, of one that does not: all of accounting happens in the compiler. Exits with 77 where objdump is absent.
set -uo pipefail
compiler=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command -v objdump >/dev/null || { echo "skipped: no objdump (Debian: binutils)" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Instructions by function, and what lies in the sections that are loaded; names of files are in none of them.
contents() {  # NAME FLAG...
  local name=$1
  shift
  "$compiler" -std=c++20 -O2 -ffp-contract=off -fno-math-errno "$@" -I "$here/../../include" \
    -c "$here/program.cpp" -o "$work/$name.o" || exit 1
  objdump -dr --no-show-raw-insn "$work/$name.o" | sed 1,3d >"$work/$name.code"
  objdump -h "$work/$name.o" | awk '$2 ~ /^\.(text|rodata|data|bss)/ { print $2, $3 }' | sort >"$work/$name.sections"
}
contents plain
contents accounted -DACCOUNTED
contents asked -DASKED_AT_RUN_TIME

passed=0 failed=0
check() {  # what, command...
  local what=$1
  shift
  if "$@" >"$work/said" 2>&1; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    echo "FAILED: $what" && head -20 "$work/said"
  fi
}
check "there are instructions" grep -q '<main>:' "$work/plain.code"
check "accounting adds no instruction" cmp "$work/plain.code" "$work/accounted.code"
check "accounting adds no data" cmp "$work/plain.sections" "$work/accounted.sections"
check "what is asked at run time is seen" bash -c "! cmp -s '$work/plain.code' '$work/asked.code'"
echo "$(grep -c '^ *[0-9a-f]*:' "$work/plain.code") instructions, with accounting $(grep -c '^ *[0-9a-f]*:' "$work/accounted.code")"
echo "$passed passed, $failed failed"
[ -z "${NAPKIN_TOTALS:-}" ] || echo "$passed $failed 0" >"$NAPKIN_TOTALS"
[ "$failed" -eq 0 ]
