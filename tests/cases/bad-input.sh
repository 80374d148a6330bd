#!/usr/bin/env bash
# bad-input.sh TOOLS: what the cases' scripts answer to input they cannot use. A choices.json that nothing could be
# judged by is refused, with what is wrong; a line that is no row is a failure like another, named by file:line, and
# the rest runs. TOOLS: as run-cases.sh takes it. Counts its cases for scripts/test.sh.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../support/check.sh"
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
tools=$(realpath "$1")
generate=$tools/tests/case_generate
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

# run CODE LAST FILE...: run-cases.sh's exit code and last line; what it said is left as stdout.
run() {
  local code=$1 last=$2
  shift 2
  "$root/scripts/run-cases.sh" --tools "$tools" "$@" >stdout 2>stderr
  [ $? = "$code" ] && [ "$(tail -n 1 stdout)" = "$last" ] && [ ! -s stderr ]
}
fails() { grep -qxF -- "FAILED $1" stdout; }

: >empty.jsonl
printf '\n \r\n\n' >blank.jsonl
printf '%s\n' '{"id": "cut", "op": ' '[1, 2]' '{"op": "reduce"}' '{"id": 7}' '{"id": "a/b"}' '{"id": "an"}' \
  '{"id": "an-b", "annotation": "a b"}' '{"id": "an_b"}' '{"id": "fft", "op": "fft", "ok": true}' \
  '{"id": "negative", "op": "reduce", "reduction": "sum", "pattern": "a ->", "in_shape": [-1]}' \
  '{"id": "bare", "op": "reduce", "pattern": "a ->"}' 'text' '{"id": "bytes \xff"}' >"some lines.jsonl"
at=some_lines.jsonl
check "an empty file, one of blank lines, one that is missing, a folder" \
  run 1 "0 passed, 4 failed" empty.jsonl blank.jsonl missing.jsonl .
check "the empty one is named" fails "empty.jsonl: has no rows"
check "the blank one too" fails "blank.jsonl: has no rows"
check "the missing one too" fails "missing.jsonl: cannot be read"
check "the folder too" fails ".: cannot be read"
check "lines that are no rows" run 1 "0 passed, 13 failed" "some lines.jsonl"
check "half an object" grep -q "^FAILED $at:1: is no JSON: parse error" stdout
check "a list" fails "$at:2: is no row: a JSON object with an id that is text"
check "no id" grep -q "^FAILED $at:3: is no row" stdout
check "an id that is a number" grep -q "^FAILED $at:4: is no row" stdout
check "an id that is a path" fails "$at:5: has an id that is no file name: 'a/b'"
check "a row of nothing" grep -q "^FAILED an: no case can be made of some lines.jsonl:6: .*no op" stdout
check "a row of an annotation" grep -q "^FAILED an-b: .*:7: a row of another form" stdout
check "an id that another row has" fails "$at:8: has an id that some lines.jsonl:7 has: an_b"
check "an unknown operation" grep -q "^FAILED fft: .*:9: .*its op is 'fft'" stdout
check "a negative size" grep -q "^FAILED negative: .*:10: a size that is no whole number: -1" stdout
check "no shape" grep -q "^FAILED bare: .*:11: .*'in_shape' not found" stdout
check "a word" grep -q "^FAILED $at:12: is no JSON" stdout
check "bytes that are no text" grep -q "^FAILED $at:13: is no JSON" stdout

# Among such lines, with a mark of UTF-8 before and a carriage return after, rows are run; the last line has no end.
product() {
  printf '{"id": "%s", "op": "einsum", "named": "i, i -> ", "shapes": [[2], [2]], "out_shape": [], ' "$1"
  printf '"out_sum_weighted": %s, "out_first8": [%s]}' "$2" "$2"
}
{
  printf '\xef\xbb\xbf' && product before 13 && printf '\r\n\r\nno row\n'
  product before 13 && echo && product wrong 14 && echo && product after 13
} >mixed.jsonl
check "rows among lines that are none" run 1 "2 passed, 3 failed" mixed.jsonl
check "the line is named" grep -q "^FAILED mixed.jsonl:3: is no JSON" stdout
check "the second of two" fails "mixed.jsonl:4: has an id that mixed.jsonl:1 has: before"
check "the wrong value" grep -q "^FAILED wrong: element 0 is 13, expected 14" stdout

finish cases.bad_input
