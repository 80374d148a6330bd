#!/usr/bin/env bash
# bad-input.sh TOOLS: a choices.json that nothing could be judged by is refused, with what is wrong. TOOLS: as
# run-cases.sh takes it. Counts its cases for scripts/test.sh.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../support/check.sh"
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
generate=$(realpath "$1")/tests/case_generate
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# chosen FILTER...: what the generator says of choices.json with an edit by sed; stderr in a file of that name.
chosen() {
  sed "$@" "$root/tests/cases/choices.json" >choices.json
  "$generate" --into generated --choices choices.json --rules "$root/include/napkin" 2>stderr
}
# refused WORD FILTER...: it fails, with the word in one line.
refused() {
  local word=$1
  shift
  ! chosen "$@" && [ "$(wc -l <stderr)" = 1 ] && grep -qF -- "$word" stderr
}
size=s/one\ label\ has\ two\ sizes/

check "choices as they are" chosen ''
check "an empty sentence" refused "'refused' is empty" "$size/"
check "an empty list" refused "'refused' is missing" 's/"one label has two sizes"/[]/'
check "a list with nothing in it" refused "'refused' is empty" 's/"one label has two sizes"/[""]/'
check "no sentence" refused "'refused' is missing" '/one label has two sizes/d'
check "a sentence of no rule" refused "0 sentences" "$size""one label has three/"
check "a sentence of several rules" refused "sentences of the library, not one" "$size""a label /"
check "refused and accepted" refused "'accepted' has no meaning" 's/"refused": "one/"accepted": "x", &/'
check "a refusal that is none" refused "'accepted' has no meaning" 's/"refused": "one/"accepted": "one/'
check "no reason" refused "'why' is missing" 's/"why": "one name.*"/"why": ""/'
check "a feature misspelt" refused "no such feature" 's/against another size/against another/'
check "a feature left out" refused "has nothing of" '2,6d'
check "a feature twice" refused "stands twice" '2,6{H;6{G}}'
check "no JSON" refused parse_error 1d

finish cases.bad_input
