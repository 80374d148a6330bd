#!/usr/bin/env bash
# Each header compiles alone, twice in a row (its guard), and without a warning; cuda.hpp, which reads all of
# cuda/, and what holds kernels (.cuh) by nvcc, and not where it is absent. check-headers.sh [--every N]: the
# first, the N+1st, ... of them; all where N is not said.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/compilers.sh

check_one() {
  local header=$1 kind=gcc work compiler
  source scripts/compilers.sh
  case $header in napkin/cuda.hpp | *.cuh) kind=nvcc ;; esac
  compiler=$(find_compiler $kind) || { echo "skipped: $header: $kind is not installed" && return 0; }
  set_flags $kind
  work=$(mktemp -d)
  printf '#include <%s>\n#include <%s>\n' "$header" "$header" >"$work/alone.cpp"
  local only=(-fsyntax-only)
  if [ $kind = nvcc ]; then only=(-fdevice-syntax-only -c -o "$work/alone.o"); fi
  local status=ok
  "$compiler" "${flags[@]}" "${strict[@]}" "${only[@]}" "$work/alone.cpp" || status=failed
  rm -rf "$work"
  echo "$status: $header"
}
export -f check_one

every=1
if [ $# -gt 0 ]; then
  [ $# -eq 2 ] && [ "$1" = --every ] && [[ $2 =~ ^[1-9][0-9]*$ ]] ||
    { echo "usage: check-headers.sh [--every N]" >&2 && exit 2; }
  every=$2
fi
command -v g++ >/dev/null || skip "g++ is not installed"
results=$(cd include && find napkin -name '*.hpp' -o -name '*.cuh' | LC_ALL=C sort |
  awk -v every="$every" '(NR - 1) % every == 0' |
  (cd .. && xargs -r -d '\n' -n 1 -P "$(nproc)" bash -c 'check_one "$1"' check_one))
printf '%s\n' "$results" | grep -v '^ok:' || true

passed=$(grep -c '^ok:' <<<"$results" || true)
failed=$(grep -c '^failed:' <<<"$results" || true)
skipped=$(grep -c '^skipped:' <<<"$results" || true)
echo "headers: $passed compile alone, $failed do not, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
