#!/usr/bin/env bash
# check-readme.sh [PROGRAM]: the README's first program is examples/01, its wrong line is the mistake that
# tests/mistakes keeps with the message shown, and what it says is printed is what PROGRAM (examples/01,
# built) prints. Numbers in that output are not compared: they differ between processors in the last digit.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/compilers.sh

# block LANGUAGE N: the N-th fenced block of that language.
block() {
  awk -v fence="\`\`\`$1" -v wanted="$2" '
    inside && /^```$/ { inside = 0 }
    inside && n == wanted
    $0 == fence { n++; inside = 1 }' README.md
}
status=0
complain() { echo "README.md: $*" && status=1; }
for shown in "cpp 1" "cpp 2" "text 1" "text 2"; do  # what is not there would match anything
  read -r language number <<<"$shown"
  [ -n "$(block "$language" "$number")" ] || complain "it has no block $number of $language"
done

# clang-format may sort and space includes; comments at the top are the file's own.
diff <(block cpp 1) <(sed '/./,$!d; /^\/\//d' examples/01_first_expression.cpp) ||
  complain "its program is not examples/01_first_expression.cpp"

mistake=tests/mistakes/readme_axes_out_of_order.cpp
while IFS= read -r line; do
  sed -n '/^#ifdef MISTAKE/,/^#else/p' "$mistake" | grep -qxF -- "$line" ||
    complain "its wrong line is not in $mistake"
done <<<"$(block cpp 2)"
# Both ways: what the test expects is all of the sentence shown, so that neither changes alone.
said="error: static assertion failed: $(sed -n 's|^// expect: *||p' "$mistake")"
[ "$(block text 1 | head -n 1)" = "$said" ] || complain "its message is not what $mistake expects"
if command -v g++ >/dev/null; then
  set_flags gcc
  output=$(LC_ALL=C g++ "${flags[@]}" -fsyntax-only -DMISTAKE "$mistake" 2>&1 || true)
  while IFS= read -r line; do
    if [[ $line == note:* && $(g++ -dumpversion) != 12* ]]; then continue; fi  # worded so by g++ 12
    grep -qF -- "$line" <<<"$output" || complain "g++ does not say: $line"
  done <<<"$(block text 1)"
fi

if [ $# -gt 0 ]; then
  numbers='s/-?[0-9]+\.[0-9]*/N/g; s/ +/ /g'
  diff <(block text 2 | sed -E "$numbers") <("$1" | sed -E "$numbers") || complain "the program prints something else"
fi
echo "readme: $([ $status = 0 ] && echo "its program, its wrong line and its output are as they are" || echo "see above")"
exit $status
