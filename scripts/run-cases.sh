#!/usr/bin/env bash
# run-cases.sh [--every N] [--gradients N] [--into DIR] [--tools DIR] [FILE...]: turns corpora of the peers' cases
# (JSON Lines; those of tests/cases/data where none is named) into C++, compiles and runs them. A case that
# must not compile passes if it fails by a rule of the library and its valid twin compiles. A line that is no row,
# a file without rows and one that cannot be read count as failures. Prints each failure by id or as file:line,
# the counts of each file, and at last "N passed, N failed".
#   --every N      the first, the N+1st, ... row of each file
#   --gradients N  one in N differentiable rows checks its gradient too (8)
#   --into DIR     leaves what was generated there
#   --tools DIR    has the generator and the libraries already; else the preset $PRESET (all) builds them
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/compilers.sh"
root=$(dirname "$here")
export LC_ALL=C  # plain quotes in messages

files=() choices=() into="" tools=""
while [ $# -gt 0 ]; do
  case $1 in
    --every | --gradients)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || { echo "run-cases.sh: $1 takes a number from 1 on" >&2 && exit 2; }
      choices+=("$1" "$2") && shift
      ;;
    --into) into=${2:?run-cases.sh: --into takes a folder} && shift ;;
    --tools) tools=${2:?run-cases.sh: --tools takes a folder} && shift ;;
    -*) echo "run-cases.sh: unknown flag '$1'; flags: --every --gradients --into --tools" >&2 && exit 2 ;;
    *) files+=("$1") ;;
  esac
  shift
done
if [ ${#files[@]} -eq 0 ]; then
  files=("$root"/tests/cases/data/{rearrange,reduce,repeat,einsum,invalid,flops,flops_torch}.jsonl)
fi
compiler=$(find_compiler gcc) || skip "g++ is not installed"
set_flags gcc
SECONDS=0

if [ -z "$tools" ]; then
  tools="$root/build/${PRESET:-all}"
  "$here/build.sh" "${PRESET:-all}" case_tools
fi
generate="$tools/tests/case_generate"
[ -x "$generate" ] || { echo "run-cases.sh: $generate is not built" >&2 && exit 2; }

if [ -n "$into" ]; then
  mkdir -p "$into"
  work=$(cd "$into" && pwd)
  rm -rf "$work/valid" "$work/refused" "$work/batches"
else
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
fi
mkdir -p "$work/batches" "$work/verdicts" "$work/header"
rm -f "$work"/verdicts/*
"$generate" --into "$work" --choices "$root/tests/cases/choices.json" --rules "$root/include/napkin" \
  ${choices[@]+"${choices[@]}"} "${files[@]}"
echo "cases: $(wc -l <"$work/ids") in $SECONDS s"

# The header is compiled once, if there is a case; every case is then compiled with the same flags.
compile=("$compiler" "${flags[@]}" -O1 -I "$work/header" -I "$root/tests/cases")
header="$work/header/case.hpp"
printf '#ifndef CASES\n#define CASES\n#include "%s"\n#endif\n' "$root/tests/cases/case.hpp" >"$header"
! grep -q -v '^broken ' "$work/ids" || "${compile[@]}" -x c++-header "$header" -o "$header.gch"
printf '#ifndef CASES\n#error the compiled header was not taken\n#endif\n' >"$header"

# An error's line, without what precedes the message.
first_error() { { grep -m 1 -E ' (fatal )?error: ' "$1" || echo "no message"; } | sed -E 's/^.* error: //'; }

# Each writes "passed|failed <id> <why>" into verdicts, and a batch its object.
judge_refused() {
  local id=$1 file="$work/refused/$1.cpp" said="$work/verdicts/$1.said" rules why=""
  if ! "${compile[@]}" -fsyntax-only "$file" >"$said" 2>&1; then
    why="the twin does not compile: $(first_error "$said")"
  elif "${compile[@]}" -fsyntax-only -DMISTAKE "$file" >"$said" 2>&1; then
    why="compiles"
  else
    rules=$(sed -n 's|^// rule: |static assertion failed: |p' "$file")  # one of these
    if ! first_error "$said" | grep -q -F "${rules:-static assertion failed: }"; then
      why="fails for another reason: $(first_error "$said")"
    elif ! first_error "$said" | grep -q -F -f "$work/sentences"; then
      why="fails by no rule of the library: $(first_error "$said")"
    fi
  fi
  echo "$([ -z "$why" ] && echo passed || echo failed) $id $why" >"$work/verdicts/$id"
}
judge_batch() {
  local batch=$1 id said="$work/batches/$1.said"
  "${compile[@]}" -c "$work/batches/$batch.cpp" -o "$work/batches/$batch.o" >"$said" 2>&1 && return
  # Some case does not compile: each alone, then the rest together.
  while IFS='"' read -r _ file _; do
    [ "$file" != case.hpp ] || { echo "#include \"$file\"" && continue; }
    id=$(basename "$file" .cpp)
    if "${compile[@]}" -fsyntax-only "$file" >"$said" 2>&1; then
      echo "#include \"$file\""
    else
      echo "failed $id does not compile: $(first_error "$said")" >"$work/verdicts/$id"
    fi
  done <"$work/batches/$batch.cpp" >"$work/batches/$batch.rest.cpp"
  "${compile[@]}" -c "$work/batches/$batch.rest.cpp" -o "$work/batches/$batch.o" >"$said" 2>&1 && return
  while IFS='"' read -r _ file _; do
    [ "$file" != case.hpp ] || continue
    id=$(basename "$file" .cpp)
    echo "failed $id its batch does not compile: $(first_error "$said")" >"$work/verdicts/$id"
  done <"$work/batches/$batch.rest.cpp"
  rm -f "$work/batches/$batch.o"
}
judge() {
  eval "$compile_words"
  "judge_$1" "$2"
}
compile_words=$(declare -p compile)
export -f first_error judge judge_batch judge_refused
export work compile_words

# Twenty valid cases a batch, so that the header is read once for them.
awk -v work="$work" '$1 == "valid" {
  file = sprintf("%s/batches/%04d.cpp", work, int(n / 20))
  if (n++ % 20 == 0) print "#include \"case.hpp\"" >file
  printf "#include \"%s/valid/%s.cpp\"\n", work, $2 >file
}' "$work/ids"
{
  find "$work/batches" -name '*.cpp' | sort | sed -E 's|.*/(.*)\.cpp|batch \1|'
  awk '$1 == "refused" { print "refused", $2 }' "$work/ids"
} | xargs -r -n 2 -P "$(nproc)" bash -c 'judge "$1" "$2"' judge

# The valid cases, as one program. Where it ends before its time, the case that it was in has failed, and the
# rest is run without it.
mapfile -t objects < <(find "$work/batches" -name '*.o' | sort)
if [ ${#objects[@]} -gt 0 ]; then
  "$compiler" "${objects[@]}" "$tools/tests/libcase_run.a" "$tools/libnapkin.a" -pthread -o "$work/cases"
  ended="" crashed=()
  while [ -z "$ended" ]; do
    "$work/cases" ${crashed[@]+"${crashed[@]}"} >"$work/said" 2>"$work/errors" </dev/null || true
    ended=$(grep -x ended "$work/said" || true)
    if [ -n "$ended" ]; then break; fi
    last=$(sed -n 's/^begun //p' "$work/said" | tail -n 1)
    if [ -z "$last" ] || [ -e "$work/verdicts/$last" ]; then break; fi
    echo "failed $last ends the program: $(tail -n 1 "$work/errors")" >"$work/verdicts/$last"
    crashed+=("$last")
  done
  grep -E '^(passed|failed) ' "$work/said" >"$work/verdicts/of-the-program" || true
fi

{ cat "$work/broken" && find "$work/verdicts" -type f ! -name '*.said' -exec cat {} +; } >"$work/all"
awk '
  NR == FNR { verdict[$2] = $1; $1 = ""; id = $2; $2 = ""; sub("^ *", ""); why[id] = $0; next }
  {
    if (!($3 in count)) order[++n] = $3
    ++count[$3]
    if (verdict[$2] == "passed") { ++passed[$3] } else {
      print "FAILED " $2 ": " (why[$2] == "" ? "was not run" : why[$2])
      ++failed[$3]
    }
  }
  END { for (i = 1; i <= n; ++i) printf "%-20s %4d passed, %d failed\n", order[i], passed[order[i]], failed[order[i]] }
' "$work/all" "$work/ids" | tee "$work/report"
total=$(wc -l <"$work/ids")
failed=$(grep -c '^FAILED ' "$work/report" || true)
echo "cases: done in $SECONDS s"
totals $((total - failed)) "$failed" 0
echo "$((total - failed)) passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$total" -gt 0 ]
