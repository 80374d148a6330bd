#!/usr/bin/env bash
# check-kernel-traps.sh NVCC FILE.cu...: no kernel traps. nvcc compiles to a trap, without a word, what a device
# cannot do, such as to read a table of the host's in a constexpr function; tests on the host do not see that.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/compilers.sh"

[ $# -gt 1 ] || { echo "usage: check-kernel-traps.sh NVCC FILE.cu..." >&2 && exit 2; }
nvcc=$1
shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

check_one() {  # FILE
  local to
  to=$(mktemp "$work/XXXXXX.ptx")
  if ! "$nvcc" --ptx -arch=compute_90 -std=c++20 -fmad=false --expt-relaxed-constexpr \
    -Xcudafe --max_cost_constexpr_call=100000000 -I "$root/include" -I "$root/src" -I "$root/tests" \
    -o "$to" "$1" >"$to.errors" 2>&1; then
    echo "failed: $1 does not compile: $(grep -m 1 error "$to.errors" || true)"
  elif ! grep -q '\.entry' "$to"; then
    echo "skipped: $1 has no kernel"
  elif grep -q '^[[:space:]]*trap;' "$to"; then
    echo "failed: $1: $(awk '/\.entry/ { name = $0 } /^[[:space:]]*trap;/ { print name; exit }' "$to")"
  else
    echo "ok: $1"
  fi
}
export -f check_one
export nvcc root work
results=$(printf '%s\n' "$@" | xargs -d '\n' -n 1 -P "$(nproc)" bash -c 'check_one "$1"' check_one)
printf '%s\n' "$results" | grep -v '^ok:' || true

passed=$(grep -c '^ok:' <<<"$results" || true)
failed=$(grep -c '^failed:' <<<"$results" || true)
echo "kernel traps: $passed files without, $failed with"
totals "$passed" "$failed" 0
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
