#!/usr/bin/env bash
# napkin-math.sh PROGRAM: what the calculator answers to numbers that are none, exit code 2 and one line, and where
# nobody takes what it prints. Counts its cases for scripts/test.sh.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../support/check.sh"
program=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

ends() {  # the exit code, a word of the one line on stderr, arguments...
  local expected=$1 word=$2
  shift 2
  "$program" "$@" >stdout 2>stderr </dev/null
  [ $? = "$expected" ] && [ "$(wc -l <stderr)" = 1 ] && grep -qF -- "$word" stderr && [ ! -s stdout ]
}
for number in nan inf -1 0 0x10 many 1e31; do
  check "--parameters $number" ends 2 --parameters --parameters "$number"
done
check "more than the whole peak" ends 2 --mfu --parameters 1e9 --mfu 1.5
check "an unknown option" ends 2 --weight --weight 1
check "an unknown device" ends 2 L40S --parameters 1e9 --device L40S
check "a number" test "$("$program" --parameters 070e9 --tokens 15e12 | grep -c '6 N D')" = 1
into_full() { "$program" >/dev/full 2>stderr || [ $? = 1 ] && grep -q 'standard output' stderr; }
check "a full disk behind standard output" into_full

finish napkin_math
