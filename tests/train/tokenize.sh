#!/usr/bin/env bash
# tokenize.sh TOKENIZE TRAIN_LM: the command that makes token files, from outside: tokens that are the text's and
# train as the text does, refusals with exit code 2 and one line, and with SentencePiece text that comes back byte
# for byte. Counts its cases for scripts/test.sh.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../support/check.sh"
program=$(realpath "$1") train_lm=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

works() { "$program" "$@" >stdout 2>stderr; }
refused() {  # a word of the one line on stderr, arguments...
  local word=$1
  shift
  "$program" "$@" >stdout 2>stderr </dev/null
  [ $? = 2 ] && [ "$(wc -l <stderr)" = 1 ] && grep -qF -- "$word" stderr
}
numbers() { od -An -v "$1" -w"$2" | tr -d ' '; }
same_numbers() { diff <(head -c "$2" text | numbers -tu1 1) <(tail -c +1025 "$1" | numbers -tu2 2) >/dev/null; }

for i in $(seq 400); do printf 'line %d of a  text,\twith \xc3\xa4, \xe2\x96\x81, \xff and \\0: \0.\r\n' "$i"; done >text
size=$(stat -c %s text)
border=$((size - size / 10))

check "bytes" works bytes --data text --out bytes
check "the first nine tenths train, as they are" same_numbers bytes/train_000000.bin "$border"
check "and two files and the vocabulary are all" test "$(ls bytes | wc -l)" = 3
check "several files" works bytes --data text --out many --shard 1000
check "of the tokens asked for" test "$(ls many/train_*.bin | wc -l)" = $(((border + 999) / 1000))
check "a folder that has token files" refused many bytes --data text --out many
check "data that are tokens" refused bytes bytes --data bytes --out other
check "data that are not there" refused nowhere bytes --data nowhere --out other
check "an output folder below a file" refused text bytes --data text --out text/out

trains() { "$train_lm" --steps 3 --sample 5 --data "$1" --out "out_$1" >stdout 2>stderr; }
losses() { grep -o '"loss":[^,]*' "out_$1/log.jsonl"; }
mkdir -p half/vocabulary.json  # in the way of the file that is written last
check "a run that fails at its last file" refused vocabulary.json bytes --data text --out half
"$train_lm" --steps 1 --data half >stdout 2>stderr
check "what it left is not trained on" test $? = 3 -a "$(grep -c INCOMPLETE stderr)" = 1
check "a number that begins with 0" works bytes --data text --out octal --shard 010000
check "is decimal" test "$(stat -c %s octal/train_000000.bin)" = 21024
cp text text.txt
check "train on the text" trains text.txt
check "and on its tokens" trains bytes
check "to the same losses" test "$(losses text.txt)" = "$(losses bytes)" -a "$(losses bytes | wc -l)" = 4
check "that are told of a byte" grep -q 'bits per byte' stdout

if works train --data text --model model --vocabulary 320; then
  check "a tokenizer's tokens" works apply --data text --model model --out pieces
  check "from which the text comes back" test "$(grep -c 'come back' stdout)" = 0
  check "and are fewer than bytes" test "$(stat -c %s pieces/train_000000.bin)" -lt "$(stat -c %s bytes/train_000000.bin)"
  "$train_lm" --steps 1 --data pieces >stdout 2>stderr
  check "a model of too few tokens" test $? = 2 -a "$(grep -c -- '--vocabulary 320' stderr)" = 1
  cp model model_before
  check "trained again" works train --data text --model model --vocabulary 320
  check "it is the same" cmp -s model model_before
  check "more tokens than the text has" refused 'too high' train --data text --model other --vocabulary 60000
  check "which leaves nothing" test ! -e other
  check "a model that is none" refused text apply --data text --model text --out other
  head -c 1000 model >cut
  check "half a model" refused cut apply --data text --model cut --out other
else
  check "without SentencePiece: how to get it" refused libsentencepiece-dev train --data text --model model
  skipped=10
fi

finish tokenize
