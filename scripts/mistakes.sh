#!/usr/bin/env bash
# Wrong programs fail to compile, for the stated reason, in one error. Each tests/mistakes/**/*.cpp holds
#   // expect: words that stand in the compiler's first error line     (one line or several; all must)
#   #ifdef MISTAKE ... the wrong program ... #else ... its twin, which compiles ... #endif
# mistakes.sh [--gcc] [--clang] [--nvcc] [--every N] [FILE...]: by those compilers (gcc and clang where none is
# named), these files (all where none is named); with --every N the first, the N+1st, ... of each folder, so
# that a slow compiler sees some of each. Prints a table: the message as a user sees it, and the lines of the
# whole output. Exits with 77 where no named compiler is there.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/compilers.sh"

# An error's own line, as g++, clang and nvcc write it; not a line that quotes source or a count of errors.
export error_line='(:[0-9]+:|\([0-9]+\):|^[a-z0-9+]+:)( fatal| catastrophic| internal compiler)? error( #[0-9]+(-D)?)?:'

# check_one COMPILER FILE: prints "ok|failed <tab> file <tab> compiler <tab> lines <tab> first line <tab> why".
check_one() {
  local kind=$1 file=$2 compiler output errors first why="" only=(-fsyntax-only) expected
  local twin="$work/twin-$BASHPID"  # in a substitution $BASHPID is another
  source "$here/compilers.sh"
  compiler=$(find_compiler "$kind")
  set_flags "$kind"
  if [ "$kind" = nvcc ]; then only=(-fdevice-syntax-only -c -o "$work/nvcc-$BASHPID.o"); fi

  if ! "$compiler" "${flags[@]}" "${only[@]}" "$file" >"$twin" 2>&1; then
    why="the twin does not compile: $(grep -m 1 -E "$error_line" "$twin" || true)"
  fi
  if output=$("$compiler" "${flags[@]}" "${only[@]}" -DMISTAKE "$file" 2>&1); then
    why="${why:-the mistake compiles}"
  fi
  first=$(grep -m 1 -E "$error_line" <<<"$output" || true)
  errors=$(grep -c -E "$error_line" <<<"$output" || true)
  if [ -z "$why" ] && [ "$errors" -ne 1 ]; then why="$errors errors, expected one"; fi
  grep -q '^// expect: ' "$file" || why="no line '// expect: ...'"
  while IFS= read -r expected; do
    if [ -z "$why" ] && [[ $first != *"$expected"* ]]; then why="the first error line lacks '$expected'"; fi
  done <<<"$(sed -n 's|^// expect: *||p' "$file")"

  first=$(sed -E "s/^.*$error_line *//" <<<"$first")
  printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$([ -z "$why" ] && echo ok || echo failed)" \
    "$(basename "$file" .cpp)" "$kind" "$([ -z "$output" ] && echo 0 || wc -l <<<"$output")" \
    "$(tr '\t' ' ' <<<"$first")" "$(tr '\t' ' ' <<<"$why")"
}
export -f check_one
export here
export LC_ALL=C  # plain quotes in messages

asked=() files=() every=1
while [ $# -gt 0 ]; do
  case $1 in
    --gcc | --clang | --nvcc) asked+=("${1#--}") ;;
    --every)
      every=${2:-}
      [[ $every =~ ^[1-9][0-9]*$ ]] || { echo "mistakes.sh: --every takes a number from 1 on" >&2 && exit 2; }
      shift
      ;;
    -*) echo "mistakes.sh: unknown flag '$1'; flags: --gcc --clang --nvcc --every" >&2 && exit 2 ;;
    *) files+=("$1") ;;
  esac
  shift
done
if [ ${#asked[@]} -eq 0 ]; then asked=(gcc clang); fi
if [ ${#files[@]} -eq 0 ]; then
  mapfile -t files <<<"$(find "$here/../tests/mistakes" -name '*.cpp' 2>/dev/null | sort)"
fi
[ -n "${files[0]}" ] || skip "tests/mistakes is empty"
mapfile -t files <<<"$(printf '%s\n' "${files[@]}" | awk -v every="$every" '
  { folder = $0; sub("[^/]*$", "", folder) }
  seen[folder]++ % every == 0')"

kinds=()
for kind in "${asked[@]}"; do
  if find_compiler "$kind" >/dev/null; then kinds+=("$kind"); else echo "$kind is not installed: left out"; fi
done
[ ${#kinds[@]} -gt 0 ] || skip "none of these compilers is installed: ${asked[*]}"

work=$(mktemp -d)
export work
trap 'rm -rf "$work"' EXIT
for file in "${files[@]}"; do
  for kind in "${kinds[@]}"; do printf '%s\0%s\0' "$kind" "$file"; done
done | xargs -0 -n 2 -P "$(nproc)" bash -c 'check_one "$1" "$2"' check_one >"$work/rows"

sort -t $'\t' -k 2,3 "$work/rows" | awk -F '\t' '
  BEGIN { width = 7 }
  { row[NR] = $0; if (length($2) > width) width = length($2) }
  END {
    printf "%-*s  %-8s  %5s  %s\n", width, "mistake", "compiler", "lines", "first line"
    for (i = 1; i <= NR; ++i) {
      split(row[i], f, "\t")
      printf "%-*s  %-8s  %5d  %s\n", width, f[2], f[3], f[4], f[5]
      if (f[1] == "failed") printf "%-*s  FAILED: %s\n", width, "", f[6]
    }
  }'
passed=$(grep -c '^ok' "$work/rows" || true)
failed=$((${#files[@]} * ${#kinds[@]} - passed))
echo "mistakes: $passed as expected, $failed not"
totals "$passed" "$failed" 0
[ "$failed" -eq 0 ]
