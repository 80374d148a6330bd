#!/usr/bin/env bash
# check-kernel-traps.sh OBJECT...: no kernel traps. nvcc compiles to a trap, without a word, what a device cannot
# do, such as to read a table of the host's in a constexpr function; tests on the host do not see that. Read from
# the PTX in what nvcc wrote, which is text there with nvcc's --no-compress.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/compilers.sh"

[ $# -gt 0 ] || { echo "usage: check-kernel-traps.sh OBJECT..." >&2 && exit 2; }

passed=0 failed=0
for object in "$@"; do
  # Where each kernel begins, and each trap.
  lines=$(LC_ALL=C grep -a -e '^[.a-z ]*\.entry' -e '^[[:space:]]*trap;' "$object" || true)
  trap_in=$(awk '/\.entry/ { name = $0 } /^[[:space:]]*trap;/ { print name; exit }' <<<"$lines")
  if ! grep -q '\.entry' <<<"$lines"; then
    echo "failed: $object has no kernel in PTX that is not compressed"
    failed=$((failed + 1))
  elif [ -n "$trap_in" ]; then
    echo "failed: $object: $trap_in"
    failed=$((failed + 1))
  else
    passed=$((passed + 1))
  fi
done
echo "kernel traps: $passed files without, $failed with"
totals "$passed" "$failed" 0
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
