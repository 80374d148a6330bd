#!/usr/bin/env bash
# bad-input.sh PROGRAM: what the training program answers to input it cannot use: an exit code of its kind (2 the
# command line, 3 data, 4 checkpoints), one line on stderr that names the culprit, and nothing left behind. Also
# that an interrupted run goes on to the same bits. Counts its cases for scripts/test.sh.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../support/check.sh"
program=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
quick=(--eval-every 1000 --sample 5)

# files_but FOLDER: every file with its checksum, but for that folder's lock and what the program said.
files_but() {
  find . -type f -not -path ./stdout -not -path ./stderr -not -path "./$1/lock" -exec sha256sum {} + | sort
}
# refused CODE WORD ARGUMENTS: that exit code, one line with the word, and no file appears or changes but the
# lock of the folder that --out names.
refused() {
  local expected=$1 word=$2 out=out before after i
  shift 2
  for ((i = 1; i < $#; ++i)); do
    if [ "${!i}" = --out ]; then out=${*:i+1:1}; fi
  done
  before=$(files_but "$out")
  "$program" "${quick[@]}" "$@" >stdout 2>stderr </dev/null
  local code=$?
  after=$(files_but "$out")
  [ $code = "$expected" ] && [ "$(wc -l <stderr)" = 1 ] && grep -qF -- "$word" stderr && [ "$before" = "$after" ]
}

for i in $(seq 300); do echo "line $i of a text that is long enough to train on"; done >text.txt
: >empty.txt
echo short >short.txt
mkdir empty_folder
head -c 40000 /dev/zero | tr '\0' '\377' >tokens.bin  # 20,000 tokens of 65,535
head -c 40001 /dev/zero >odd.bin

check "missing data" refused 2 nowhere.txt --data nowhere.txt
check "an empty file" refused 3 empty.txt --data empty.txt
check "an empty folder" refused 3 empty_folder --data empty_folder
check "a file shorter than one sequence" refused 3 short.txt --data short.txt
check "a token beyond the vocabulary" refused 3 65535 --data tokens.bin
check "half a token" refused 3 odd.bin --data odd.bin
check "an output folder below a file" refused 2 text.txt --data text.txt --out text.txt/out
check "an output folder that cannot be made" refused 2 /proc --data text.txt --out /proc/out
check "an unknown flag" refused 2 --learn-fast --data text.txt --learn-fast
check "a number that is none" refused 2 --steps --data text.txt --steps many
check "no steps" refused 2 --steps --data text.txt --steps 0
check "a path that no checkpoint can hold" refused 2 'caf\xe9.txt" is not UTF-8' --data $'caf\xe9.txt'
check "a learning rate that is no number" refused 2 --learning-rate --data text.txt --learning-rate nan
check "nothing to resume" refused 4 checkpoint --data text.txt --out none --resume
check "a device that is not known" refused 2 L40S --cost --device L40S
check "JSON of a run" refused 2 --json --data text.txt --json
check "a report of costs in no folder" refused 2 nowhere --cost --report nowhere/report.html
check "a report of a run in no folder" refused 2 nowhere --data text.txt --report nowhere/report.html
check "a log in no folder" refused 2 nowhere --data text.txt --log nowhere/log.jsonl --out logged
check "curves below a file" refused 2 text.txt --data text.txt --tensorboard text.txt/curves --out logged
check "a top-p of nothing" refused 2 --top-p --data text.txt --top-p 0
check "no folder is made for a run that cannot begin" test ! -e none -a ! -e out

trains() { "$program" "${quick[@]}" --data text.txt "$@" >stdout 2>stderr; }
limited() { (ulimit -f 2 && refused "$@"); }
check "a limit on the size of files" limited 5 "File too large" --data text.txt --out limited
check "four steps" trains --steps 4 --out straight
check "the same four steps, interrupted" trains --steps 4 --out broken --seconds 0.000001
check "say how to go on" grep -q -- --resume stdout
cp -r broken damaged
check "numbers are decimal" trains --steps 010 --out decimal --seconds 0.000001
check "so 010 is ten" grep -q 'of 10 steps' stdout
"$program" "${quick[@]}" --data text.txt --steps 1 --out mute >&- 2>&- </dev/null
check "nowhere to print to" test $? = 0
check "and nothing of it in the lock or the log" \
  test -z "$(grep -v '^[0-9]*$' mute/lock; grep -v '^{.*}$' mute/log.jsonl)" -a -s mute/log.jsonl -a -s mute/lock
check "go on" trains --out broken --resume
check "to the same bits" cmp straight/*-step-4.safetensors broken/*-step-4.safetensors

file=damaged/$(cat damaged/LATEST)
size=$(stat -c %s "$file")
cp "$file" sound
check "another seed for a run" refused 2 seed --data text.txt --out damaged --resume --seed 5
for at in 0 20 $((size / 2)) $((size - 1)); do
  cp sound "$file"
  printf '\x5a' | dd of="$file" bs=1 seek="$at" conv=notrunc status=none
  check "a checkpoint with byte $at changed" refused 4 checkpoint --data text.txt --out damaged --resume
done
head -c $((size / 2)) sound >"$file"
check "half a checkpoint" refused 4 checkpoint --data text.txt --out damaged --resume
echo '{}' >"$file"
check "no checkpoint at all" refused 4 checkpoint --data text.txt --out damaged --resume

# Of two checkpoints the one before is gone on from, and that is said.
printf '\x5a' | dd of="broken/$(cat broken/LATEST)" bs=1 seek=$((size / 2)) conv=notrunc status=none
check "a damaged checkpoint of two" trains --out broken --resume
check "say which was passed over" grep -q '^passed over: "broken/checkpoint-.*is damaged' stdout
check "and which was taken" grep -q '^going on from step' stdout
check "to the same bits again" cmp straight/*-step-4.safetensors broken/*-step-4.safetensors

# Ctrl-C: finishes the step, saves, says how to go on, and exits as a shell expects.
"$program" --data text.txt --steps 100000 --out stopped >stdout 2>stderr &
pid=$!
for _ in $(seq 600); do
  grep -q '^step 1 ' stdout && break
  sleep 0.1
done
kill -TERM $pid
wait $pid
check "SIGTERM gives 143" test $? = 143
check "a checkpoint, LATEST, the lock and a log, and nothing else" \
  test -s "stopped/$(cat stopped/LATEST)" -a "$(ls -A stopped | wc -l)" = 4
check "and how to go on" grep -q -- --resume stdout

finish "bad input"
