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
# mistakes.sh [--gcc] [--clang] [--nvcc] [--precompiled] [--together] [--docs | --check-docs] [FILE...]: by those
# compilers (gcc and clang where none is named), these files (all where none is named). With --precompiled g++
# and clang read the umbrella header once for all programs, a fifth of the time. With --together nvcc, whose
# front end takes no precompiled header, sees many programs as one, each in a namespace of its own, a tenth of
# the time; whatever is not as expected there is seen alone. Prints a table: the message as a user sees it, the
# position of the user's line, the lines of the whole output. With --docs, writes docs/mistakes.md from what g++
# 12 says; with --check-docs, fails where that file says something else. Exits with 77 where no named compiler
# is there.
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
}

# included FILE <OUTPUT: with the line of g++'s "In file included from" that names the program, which is not
# said of a header that was precompiled.
included() {
  sed -E "s|^(In file included from\|  +from) (.*napkin/napkin\.hpp:[0-9]+):\$|\1 \2,\n$(printf '%17s' '')from $1:$(
    grep -n -m 1 '^#include <napkin/napkin.hpp>' "$1" | cut -d: -f1):|"
}

# concerns KIND FILE: whether the program is a mistake to that compiler.
concerns() { ! grep -q '^// only: ' "$2" || grep -q "^// only: .*\b$1\b" "$2"; }

# position_of_user FILE <OUTPUT: the line of the output that first names a line of the wrong branch; 0: none.
position_of_user() {
  awk -v name="$(basename "$1")" '
    NR == FNR {
      if (/^#ifdef MISTAKE/) wrong = 1
      else if (/^#else/ || /^#endif/) wrong = 0
      else if (wrong) inside[FNR] = 1
      next
    }
    {
      rest = $0
      while ((at = index(rest, name)) > 0) {  # FILE:LINE:, FILE(LINE), at line LINE of .../FILE
        before = substr(rest, 1, at - 1)
        rest = substr(rest, at + length(name))
        number = ""
        if (match(rest, /^[:(][0-9]+/)) number = substr(rest, 2, RLENGTH - 1)
        else if (match(before, /line [0-9]+ of [^ ]*$/)) { split(substr(before, RSTART + 5), w, " "); number = w[1] }
        if (number != "" && (number + 0) in inside) { print FNR; found = 1; exit }
      }
    }
    END { if (!found) print 0 }' "$1" -
}

# spelled <OUTPUT: nvcc's {{'s', 'e', 'q', '\000'}} and 8UL as seq and 8.
spelled() { sed -E "s/, '\\\\000'//g; s/'([^'])'(, )?/\1/g; s/([0-9])U?L\b/\1/g"; }

# judge KIND FILE <OUTPUT: prints "ok|failed <tab> file <tab> compiler <tab> position <tab> lines <tab> first line
# <tab> why" of what the compiler said of the mistake, and keeps that.
judge() {
  local kind=$1 file=$2 output errors first why="" expected fact head lines position
  output=$(cat)
  printf '%s\n' "$output" >"$work/said/$kind-$(tr / _ <<<"${file#"$programs"/}")"
  first=$(grep -m 1 -E "$error_line" <<<"$output" || true)
  errors=$(grep -c -E "$error_line" <<<"$output" || true)
  lines=$([ -z "$output" ] && echo 0 || wc -l <<<"$output")
  position=$(position_of_user "$file" <<<"$output")
  head=$(head -n "$facts_line" <<<"$output")
  if [ "$kind" = nvcc ]; then head=$(spelled <<<"$head"); fi
  if [ "$errors" -ne 1 ]; then why="$errors errors, expected one"; fi
  grep -q '^// expect: ' "$file" || why="no line '// expect: ...'"
  while IFS= read -r expected; do
    if [ -z "$why" ] && [[ $first != *"$expected"* ]]; then why="the first error line lacks '$expected'"; fi
  done <<<"$(sed -n 's|^// expect: *||p' "$file")"
  while IFS= read -r fact; do
    if [ -z "$why" ] && [ -n "$fact" ] && [[ $head != *"$fact"* ]]; then
      why="the first $facts_line lines lack '$fact'"
    fi
  done <<<"$(sed -n 's|^// facts: *||p' "$file" | sed 's/ *| */\n/g')"
  if [ -z "$why" ] && { [ "$position" -eq 0 ] || [ "$position" -gt "$users_line" ]; }; then
    why="the user's line is not named in the first $users_line"
  fi
  if [ -z "$why" ] && [ "$lines" -gt "$most_lines" ]; then why="more than $most_lines lines"; fi
  first=$(sed -E "s/^.*$error_line *//" <<<"$first")
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$([ -z "$why" ] && echo ok || echo failed)" \
    "$(basename "$file" .cpp)" "$kind" "$position" "$lines" \
    "$(tr '\t' ' ' <<<"$first")" "$(tr '\t' ' ' <<<"$why")"
}

# check_one KIND FILE: judges what the compiler says of the mistake.
check_one() {
  local kind=$1 file=$2 output header
  mapfile -t header < <(precompiled "$kind")
  if output=$(compile "$kind" ${header[@]+"${header[@]}"} -DMISTAKE "$file" 2>&1); then
    printf 'failed\t%s\t%s\t0\t0\t\tthe mistake compiles\n' "$(basename "$file" .cpp)" "$kind"
    return
  fi
  if [ "$kind" = gcc ] && [ -d "$work/precompiled/gcc" ]; then output=$(included "$file" <<<"$output"); fi
  judge "$kind" "$file" <<<"$output"
}

# together FILE...: prints one program of them all, each in a namespace of its own.
together() {
  local file number=0
  grep -h '^#include <' "$@" | sort -u
  for file in "$@"; do printf 'namespace together_%s {\n#include "%s"\n}\n' "$((++number))" "$(realpath "$file")"; done
}

# said_of FILE <OUTPUT: what nvcc said of the file, one of several in its program, as it ends where it is alone.
said_of() {
  awk -v RS= -v ORS='\n\n' -v name="$(realpath "$1")" 'index($0, name)' | sed 's/together_[0-9]*:://g'
  printf '1 error detected in the compilation of "%s".\n' "$1"
}

# check_together FILE...: as check_one of each, by nvcc, which goes on after an error.
check_together() {
  local all="$work/together-$BASHPID.cpp" said="$work/together-$BASHPID.said" file row
  together "$@" >"$all"
  compile nvcc -DMISTAKE "$all" >"$said" 2>&1 || true
  for file in "$@"; do
    row=$(said_of "$file" <"$said" | judge nvcc "$file")
    if [[ $row == ok* ]]; then printf '%s\n' "$row"; else check_one nvcc "$file"; fi
  done
}

# check_twins KIND FILE...: the twins compile: all together, and each alone where that fails. Prints a line as
# judge does for each that does not compile.
check_twins() {
  local kind=$1 all="$work/twins-$BASHPID.cpp" said file broken=""
  shift
  together "$@" >"$all"
  if compile "$kind" "$all" >/dev/null 2>&1; then return; fi
  for file in "$@"; do
    if ! said=$(compile "$kind" "$file" 2>&1); then
      printf 'failed\t%s\t%s\t0\t0\t\tthe twin does not compile: %s\n' "$(basename "$file" .cpp)" "$kind" \
        "$(grep -m 1 -E "$error_line" <<<"$said" | tr '\t' ' ')"
      broken=1
    fi
  done
  [ -n "$broken" ] || printf 'failed\ttwins\t%s\t0\t0\t\tthe twins compile each alone, not together\n' "$kind"
}
export -f compile precompiled included position_of_user spelled judge check_one together said_of check_together
export -f check_twins
export here programs="$here/../tests/mistakes"
export LC_ALL=C  # plain quotes in messages

asked=() files=() docs="" precompiled="" together=""
while [ $# -gt 0 ]; do
  case $1 in
    --gcc | --clang | --nvcc) asked+=("${1#--}") ;;
    --precompiled) precompiled=yes ;;
    --together) together=yes ;;
    --docs | --check-docs) docs=${1#--} ;;
    -*)
      echo "mistakes.sh: unknown flag '$1'; flags: --gcc --clang --nvcc --precompiled --together --docs --check-docs" >&2
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
export work
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
for kind in "${kinds[@]}"; do
  if [ "$kind" = nvcc ] && [ -n "$together" ]; then
    concerned "$kind" | spread 30 | xargs -d '\n' -r -n 30 -P "$(nproc)" bash -c 'check_together "$@"' check_together
  else
    concerned "$kind" | xargs -d '\n' -r -n 1 -P "$(nproc)" bash -c 'check_one "$@"' check_one "$kind"
  fi
  concerned "$kind" | xargs -d '\n' -r -n 50 -P "$(nproc)" bash -c 'check_twins "$@"' check_twins "$kind"
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
