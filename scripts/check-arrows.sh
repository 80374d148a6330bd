#!/usr/bin/env bash
# The arrows between folders: a folder includes itself and those before it in `order`, with three rules
# more: nn knows ops but neither graph nor passes, cpu and cuda do not know each other, and the umbrella
# does not bring in cuda. Headers directly in include/napkin may include any other, and cuda.hpp has all that
# napkin.hpp has but for files and text. src/<folder> follows its folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/compilers.sh

order="core pattern graph tensor ops passes cost plan cpu cuda nn optim train"

files=$(find include/napkin src -name '*.hpp' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.cu' 2>/dev/null |
  LC_ALL=C sort)
[ -n "$files" ] || { echo "no source under include/napkin or src" >&2 && exit 1; }

status=0
printf '%s\n' "$files" | tr '\n' '\0' | xargs -0 awk -v order="$order" '
  function complain(text) { printf "%s:%d: %s\n", FILENAME, FNR, text; bad++ }
  BEGIN { n = split(order, names, " "); for (i = 1; i <= n; ++i) rank[names[i]] = i }
  FNR == 1 {
    path = FILENAME
    sub(/^(include\/napkin|src)\//, "", path)
    from = ""
    if (path ~ /\//) {
      from = path
      sub(/\/.*/, "", from)
      if (!(from in rank)) complain("folder " from " is not in the order: add it to scripts/check-arrows.sh")
    }
  }
  /^[ \t]*#[ \t]*include/ {
    target = $0
    sub(/^[ \t]*#[ \t]*include[ \t]*["<]/, "", target)
    sub(/[">].*/, "", target)
    if (target ~ /^\.\.?\//) { complain("includes " target ": write napkin/<folder>/<file>"); next }
    if (target !~ /^napkin\//) next
    if (FILENAME ~ /^include\//) {
      if (system("test -e \"include/" target "\"") != 0) complain("includes " target ", which does not exist")
    }
    sub(/^napkin\//, "", target)
    to = target
    if (to ~ /\//) sub(/\/.*/, "", to); else to = ""
    if (path == "napkin.hpp" && (to == "cuda" || target == "cuda.hpp")) complain("the umbrella includes " target)
    if (from == "") next
    if (to == "") { complain(from " includes " target ", which includes everything"); next }
    if (!(to in rank)) { complain(from " includes " target ": folder " to " is not in the order"); next }
    if (from in rank && rank[to] > rank[from]) complain(from " includes " target ": " to " comes later in the order")
    if (from == "nn" && (to == "graph" || to == "passes")) complain("nn includes " target ": nn knows ops, not " to)
    if (from == "cuda" && to == "cpu") complain("cuda includes " target ": backends do not know each other")
  }
  END { exit bad ? 1 : 0 }' || status=1
# What computes stands in both umbrellas: if one included the other, or both a third, a file more would be named
# above the user's line of a mistake.
includes() { grep '^#include' | LC_ALL=C sort -u; }
umbrella=include/napkin/napkin.hpp
files_and_text=$(sed -n '/^\/\/ Files and text/,$p' $umbrella | includes)
for line in $(LC_ALL=C comm -23 <(sed '/^\/\/ Files and text/,$d' $umbrella | includes | cut -d'"' -f2) \
  <({ echo "$files_and_text" && includes <include/napkin/cuda.hpp; } | cut -d'"' -f2 | LC_ALL=C sort -u)); do
  echo "arrows: include/napkin/cuda.hpp: lacks $line, which napkin.hpp has above 'Files and text'"
  status=1
done
[ -n "$files_and_text" ] || { echo "arrows: $umbrella no longer says 'Files and text'" && status=1; }
echo "arrows: $(wc -l <<<"$files") files, $([ $status = 0 ] && echo "all point up" || echo "see above")"
exit $status
