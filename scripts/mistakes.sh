#!/usr/bin/env bash
# Wrong programs fail to compile, for the stated reason, in words that fit on a screen. Each
# tests/mistakes/**/*.cpp holds
#   // expect: words that stand in the compiler's first error line     (one line or several; all must)
#   // facts: axis | size | place                                      (may be left out; all in the first 4 lines)
#   // only: gcc clang                             (may be left out: the compilers to whom it is a mistake)
#   #ifdef MISTAKE ... the wrong program ... #else ... its twin, which compiles ... #endif
# and of what the compiler says, as a user's flags make it say,
#   one line is an error; the first that contains `error` has the words of `expect`
#   the facts stand in the first 4 lines
#   a line of the wrong branch is named within the first 6
#   there are at most 15 lines in all
# mistakes.sh [--gcc] [--clang] [--nvcc] [--precompiled] [--together] [--twins N] [--docs | --check-docs] [FILE...]:
# by those compilers (gcc and clang where none is named), these files (all where none is named). With --twins N the
# twins of the first, the N+1st, ... file alone, which take longer than the mistakes. With --precompiled g++
# and clang read the umbrella header once for all programs, a fifth of the time; nvcc's front end takes no
# precompiled header. With --together they see many programs as one, each in a namespace of its own, by nvcc a
# tenth of the time; whatever is not as expected there is seen alone. Prints a table: the message as a user sees
# it, the position of the user's line, the lines of the whole output. With --docs, writes docs/mistakes.md from
# what g++ 12 says; with --check-docs, fails where that file says something else. Exits with 77 where no named
# compiler is there.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/compilers.sh"

# An error's own line, as g++, clang and nvcc write it; not a line that quotes source or a count of errors.
export error_line='(:[0-9]+:|\([0-9]+\):|^[a-z0-9+]+:)( fatal| catastrophic| internal compiler)? error( #[0-9]+(-D)?)?:'
export most_lines=15 users_line=6 facts_line=4

# compile KIND ARGUMENT...: parses only, with the flags that users have.
compile() {
  local kind=$1 only=(-fsyntax-only)
  shift
  source "$here/compilers.sh"
  set_flags "$kind"
  if [ "$kind" = nvcc ]; then only=(-fdevice-syntax-only -c -o "$work/nvcc-$BASHPID.o"); fi
  "$(find_compiler "$kind")" "$@" "${flags[@]}" "${only[@]}"
}

# precompiled KIND: the arguments by which `compile` finds what `precompile` made, each on a line.
precompiled() {
  [ -d "$work/precompiled/$1" ] || return 0
  case $1 in
    gcc) printf '%s\n' -I "$work/precompiled/gcc" ;;
    clang) printf '%s\n' -include-pch "$work/precompiled/clang/napkin.pch" ;;
  esac
}

# precompile KIND: what a program takes for <napkin/napkin.hpp>. nvcc's front end has no such thing.
precompile() {
  local to="$work/precompiled/$1"
  source "$here/compilers.sh"
  set_flags "$1"
  case $1 in
    gcc) to+=/napkin/napkin.hpp.gch ;;
    clang) to+=/napkin.pch ;;
    *) return 0 ;;
  esac
  mkdir -p "${to%/*}"
  "$(find_compiler "$1")" "${flags[@]}" -x c++-header "$here/../include/napkin/napkin.hpp" -o "$to" \
    2>"$work/precompile" || { cat "$work/precompile" >&2 && exit 1; }
  if [ "$1" = gcc ]; then : >"${to%.gch}"; fi  # for whoever includes it again
}

# concerns KIND FILE: whether the program is a mistake to that compiler.
concerns() { ! grep -q '^// only: ' "$2" || grep -q "^// only: .*\b$1\b" "$2"; }

# said_file KIND FILE: where what the compiler says of the mistake is kept.
said_file() { printf '%s\n' "$work/said/$1-$(tr / _ <<<"${2#"$programs"/}")"; }

# name_program FILE: puts the line of g++'s "In file included from" that names the program into what was said of it:
# g++ has none for a header that was precompiled.
name_program() {
  [ -d "$work/precompiled/gcc" ] || return 0
  sed -i -E "s|^(In file included from\|  +from) (.*napkin/napkin\.hpp:[0-9]+):\$|\1 \2,\n$(printf '%17s' '')from $1:$(
    grep -n -m 1 '^#include <napkin/napkin.hpp>' "$1" | cut -d: -f1):|" "$(said_file gcc "$1")"
}

# judge KIND FILE...: prints a line as judge-mistakes.awk does for each mistake of which something was said.
judge() {
  local kind=$1 file
  shift
  for file in "$@"; do printf '%s\t%s\n' "$file" "$(said_file "$kind" "$file")"; done |
    kind=$kind awk -f "$here/judge-mistakes.awk"
}

# check_each KIND FILE...: judges what the compiler says of each mistake, alone.
check_each() {
  local kind=$1 file said header refused=()
  shift
  mapfile -t header < <(precompiled "$kind")
  for file in "$@"; do
    said=$(said_file "$kind" "$file")
    if compile "$kind" ${header[@]+"${header[@]}"} -DMISTAKE "$file" >"$said" 2>&1; then
      printf 'failed\t%s\t%s\t0\t0\t\tthe mistake compiles\n' "$(basename "$file" .cpp)" "$kind"
      continue
    fi
    if [ "$kind" = gcc ]; then name_program "$file"; fi
    refused+=("$file")
  done
  judge "$kind" ${refused[@]+"${refused[@]}"}
}

# together KIND FILE...: prints one program of them all, each in a namespace of its own. g++ and clang say where each
# ends, in three lines.
together() {
  local kind=$1 file number=0
  shift
  echo '#include <napkin/napkin.hpp>'  # the first, so that it may be precompiled
  grep -h '^#include <' "$@" | sort -u
  for file in "$@"; do
    printf 'namespace together_%s {\n#include "%s"\n}\n' "$((++number))" "$(realpath "$file")"
    if [ "$kind" != nvcc ]; then echo '#pragma message "the next program"'; fi
  done
}

# check_together KIND FILE...: as check_each, of one program: the compilers go on after an error. Of a mistake that is
# not as expected there, `again` and its file.
check_together() {
  local kind=$1 files file row n=0 program="$work/together-$BASHPID.cpp" header=()
  shift
  files=("$@")
  if [ "$kind" != nvcc ]; then mapfile -t header < <(precompiled "$kind" && echo -Wno-return-type); fi  # of main
  if [ "$kind" = clang ]; then header+=(-ferror-limit=0); fi
  together "$kind" "${files[@]}" >"$program"
  compile "$kind" ${header[@]+"${header[@]}"} -DMISTAKE "$program" >"$program.said" 2>&1 || true
  for file in "${files[@]}"; do
    printf '%s\t%s\t%s\n' "$(realpath "$file")" "$file" "$(said_file "$kind" "$file")"
  done | kind=$kind program=$program umbrella="$here/../include/napkin/napkin.hpp" \
    awk -f "$here/split-mistakes.awk" - "$program.said"
  if [ "$kind" = gcc ]; then
    for file in "${files[@]}"; do name_program "$file"; done
  fi
  while IFS= read -r row; do
    if [[ $row == ok* ]]; then printf '%s\n' "$row"; else printf 'again\t%s\n' "${files[n]}"; fi
    n=$((n + 1))
  done < <(judge "$kind" "${files[@]}")
}

# twins_compile KIND PROGRAM ARGUMENT...: whether the program of all twins does. Of nvcc --together its front end alone
# says so, a sixth of the time: an error of our own keeps it from going on to the device's and the host's compilers. It
# stands in a body that is instantiated behind all others, since those that wait when an error is found are left out.
twins_compile() {
  if [ "$1" != nvcc ] || [ -z "$together" ]; then
    compile "$@" >/dev/null 2>&1
    return
  fi
  local end="all twins were read" said
  printf 'template <class T> void ending() { static_assert(sizeof(T) == 0, "%s"); }\n' "$end" >>"$2"
  echo 'inline void end_of_twins() { ending<int>(); }' >>"$2"
  said=$(compile nvcc "$2" 2>&1) || true
  [ "$(grep -c -E "$error_line" <<<"$said")" = 1 ] && grep -E "$error_line" <<<"$said" | grep -q "$end"
}

# check_twins KIND FILE...: the twins compile: all together, and each alone where that fails. Prints a line as
# judge does for each that does not compile.
check_twins() {
  local kind=$1 program="$work/twins-$BASHPID.cpp" said file header broken=""
  shift
  mapfile -t header < <(precompiled "$kind")
  together "$kind" "$@" >"$program"
  if twins_compile "$kind" "$program" ${header[@]+"${header[@]}"}; then return; fi
  for file in "$@"; do
    if ! said=$(compile "$kind" "$file" 2>&1); then
      printf 'failed\t%s\t%s\t0\t0\t\tthe twin does not compile: %s\n' "$(basename "$file" .cpp)" "$kind" \
        "$(grep -m 1 -E "$error_line" <<<"$said" | tr '\t' ' ')"
      broken=1
    fi
  done
  [ -n "$broken" ] || printf 'failed\ttwins\t%s\t0\t0\t\tthe twins compile each alone, not together\n' "$kind"
}
export -f compile precompiled said_file name_program judge check_each together check_together twins_compile check_twins
export here programs="$here/../tests/mistakes"
export LC_ALL=C  # plain quotes in messages

asked=() files=() docs="" precompiled="" together="" twins=1
while [ $# -gt 0 ]; do
  case $1 in
    --gcc | --clang | --nvcc) asked+=("${1#--}") ;;
    --precompiled) precompiled=yes ;;
    --together) together=yes ;;
    --twins)
      [[ ${2:-} =~ ^[1-9][0-9]*$ ]] || { echo "mistakes.sh: --twins takes a number from 1 on" >&2 && exit 2; }
      twins=$2 && shift
      ;;
    --docs | --check-docs) docs=${1#--} ;;
    -*)
      echo "mistakes.sh: unknown flag '$1'; flags: --gcc --clang --nvcc --precompiled --together --twins --docs" \
        "--check-docs" >&2
      exit 2
      ;;
    *) files+=("$1") ;;
  esac
  shift
done
if [ ${#asked[@]} -eq 0 ]; then asked=(gcc clang); fi
if [ "$docs" = docs ]; then asked=(gcc); fi
if [ -n "$docs" ] && [ ${#files[@]} -gt 0 ]; then
  echo "mistakes.sh: --docs and --check-docs go with all files" >&2 && exit 2
fi
if [ ${#files[@]} -eq 0 ]; then
  mapfile -t files <<<"$(find "$programs" -name '*.cpp' 2>/dev/null | sort)"
fi
[ -n "${files[0]}" ] || skip "tests/mistakes is empty"

kinds=()
for kind in "${asked[@]}"; do
  if find_compiler "$kind" >/dev/null; then kinds+=("$kind"); else echo "$kind is not installed: left out"; fi
done
[ ${#kinds[@]} -gt 0 ] || skip "none of these compilers is installed: ${asked[*]}"

work=$(mktemp -d)
export work together
trap 'rm -rf "$work"' EXIT
mkdir "$work/said"
if [ -n "$precompiled" ]; then
  for kind in "${kinds[@]}"; do precompile "$kind"; done
fi

# concerned KIND: the files that are mistakes to that compiler, each on a line.
concerned() {
  for file in "${files[@]}"; do
    if concerns "$1" "$file"; then printf '%s\n' "$file"; fi
  done
}
# spread N: in an order in which neighbours, which may be refused by one instantiation of one template, are not
# among the same N: of that nvcc speaks once.
spread() {
  awk -v size="$1" '
    { file[NR] = $0 }
    END {
      groups = int((NR + size - 1) / size)
      for (i = 1; i <= groups; ++i) for (j = i; j <= NR; j += groups) print file[j]
    }'
}
# joinable KIND: of the files on the lines, those that can be in one program with others. The precompiled header is
# not napkin/cuda.hpp's.
joinable() { if [ "$1" = nvcc ]; then cat; else xargs -d '\n' grep -L '^#include <napkin/cuda.hpp>' || true; fi; }
asked_of=0
for kind in "${kinds[@]}"; do
  concerned "$kind" >"$work/concerned"
  asked_of=$((asked_of + $(wc -l <"$work/concerned")))
  : >"$work/together"
  if [ -n "$together" ]; then joinable "$kind" <"$work/concerned" >"$work/together"; fi
  { grep -v -x -F -f "$work/together" "$work/concerned" || true; } >"$work/alone"
  for size in 60 10; do  # what one program leaves, others of its kind have hidden there
    spread "$size" <"$work/together" |
      xargs -d '\n' -r -n "$size" -P "$(nproc)" bash -c 'check_together "$@"' check_together "$kind" >"$work/judged"
    grep -v '^again' "$work/judged" || true
    sed -n 's/^again\t//p' "$work/judged" | sort >"$work/together"
  done
  cat "$work/alone" "$work/together" |
    xargs -d '\n' -r -n 1 -P "$(nproc)" bash -c 'check_each "$@"' check_each "$kind"
  awk -v every="$twins" '(NR - 1) % every == 0' "$work/concerned" >"$work/twins"
  share=$((($(wc -l <"$work/twins") + $(nproc) - 1) / $(nproc)))  # of a processor; more than 130 take too much memory
  xargs -d '\n' -r -n "$((share < 1 || share > 130 ? 130 : share))" -P "$(nproc)" \
    bash -c 'check_twins "$@"' check_twins "$kind" <"$work/twins"
done >"$work/rows"

sort -t $'\t' -k 2,3 "$work/rows" | awk -F '\t' '
  BEGIN { width = 7 }
  { row[NR] = $0; if (length($2) > width) width = length($2) }
  END {
    printf "%-*s  %-8s  %4s  %5s  %s\n", width, "mistake", "compiler", "line", "lines", "first line"
    for (i = 1; i <= NR; ++i) {
      split(row[i], f, "\t")
      printf "%-*s  %-8s  %4d  %5d  %s\n", width, f[2], f[3], f[4], f[5], f[6]
      if (f[1] == "failed") printf "%-*s  FAILED: %s\n", width, "", f[7]
    }
  }'
for kind in "${kinds[@]}"; do
  awk -F '\t' -v kind="$kind" '
    $3 == kind { if ($4 > position) position = $4; if ($5 > lines) lines = $5 }
    END { printf "%s: the user'\''s line is at most the %d., of at most %d lines\n", kind, position, lines }' "$work/rows"
done

failed=$(grep -c '^failed' "$work/rows" || true)
passed=$(grep -c '^ok' "$work/rows" || true)
if [ $((passed + failed)) -lt "$asked_of" ]; then
  echo "not judged: $((asked_of - passed - failed))"
  failed=$((failed + 1))
fi
if [ -n "$docs" ]; then
  source "$here/mistakes-docs.sh"
  page="$here/../docs/mistakes.md"
  if [[ $(g++ -dumpversion) != 12* ]]; then
    echo "docs/mistakes.md: has what g++ 12 says, and this is g++ $(g++ -dumpversion): left as it is"
  elif [ "$docs" = docs ]; then
    mistakes_page >"$page"
    echo "docs/mistakes.md: written"
  elif ! mistakes_page | diff -u "$page" - >"$work/difference"; then
    head -40 "$work/difference"
    echo "docs/mistakes.md: out of date: scripts/mistakes.sh --docs writes it"
    failed=$((failed + 1))
  else
    echo "docs/mistakes.md: as the compiler says"
  fi
fi
echo "mistakes: $passed as expected, $failed not"
totals "$passed" "$failed" 0
[ "$failed" -eq 0 ]
