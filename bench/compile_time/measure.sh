#!/usr/bin/env bash
# measure.sh [RUNS]: seconds that g++ takes, at its plain defaults (-std=c++20 and nothing else), for
#   the umbrella header alone                     bar 1.5 s
#   the training example, examples/train_lm.cpp   bar 20 s
#   the same with 12 layers against 2             bar 1.3 times
#   a training step and all that it costs,
#   asserted, against the training step alone     bar 1.1 times
# and, without a bar, for the training example as CMake builds it and for the training step in seven tenths of
# its memory. Medians of RUNS runs (5) of user and system time together, so that other work on the machine counts
# little; the rounds take turns, so that what still counts falls on all alike. Exits with 1 where a bar is missed.
# CXX names another compiler.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/bench/compile_time/measured.sh"
runs=${1:-5}
[[ $runs =~ ^[1-9][0-9]*$ ]] || { echo "measure.sh: '$runs' is no number of runs" >&2 && exit 2; }
compiler=${CXX:-g++}
command -v "$compiler" >/dev/null || { echo "measure.sh: $compiler is not installed" >&2 && exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The same program with another number of layers.
for layers in 2 12; do
  sed "s/layers = [0-9]*;/layers = $layers;/" "$root/examples/train_lm.cpp" >"$work/train_lm_$layers.cpp"
  grep -q "layers = $layers;" "$work/train_lm_$layers.cpp" ||
    { echo "measure.sh: examples/train_lm.cpp no longer says 'layers = N;'" >&2 && exit 2; }
done

names=(include example layers_2 layers_12 as_built training accounted budget)
plain=(-std=c++20)
as_built=(-std=c++20 -O3 -DNDEBUG -march=native -ffp-contract=off -fno-math-errno)
declare -A source=(
  [include]="$root/bench/compile_time/include.cpp"
  [example]="$root/examples/train_lm.cpp"
  [layers_2]="$work/train_lm_2.cpp"
  [layers_12]="$work/train_lm_12.cpp"
  [as_built]="$root/examples/train_lm.cpp"
  [training]="$root/bench/compile_time/training.cpp"
  [accounted]="$root/bench/compile_time/training.cpp"
  [budget]="$root/bench/compile_time/training.cpp")
declare -A words=(
  [include]="#include <napkin/napkin.hpp>"
  [example]="examples/train_lm.cpp"
  [layers_2]="  with 2 layers"
  [layers_12]="  with 12 layers"
  [as_built]="  as built, -O3 -march=native"
  [training]="a training step alone"
  [accounted]="  and what it costs, asserted"
  [budget]="  in 0.7 of its memory")
declare -A bar=([include]=1.5 [example]=20)

TIMEFORMAT="%U %S"
for ((run = 0; run < runs; ++run)); do
  for name in "${names[@]}"; do
    flags=("${plain[@]}")
    if [ "$name" = as_built ]; then flags=("${as_built[@]}"); fi
    if [ "$name" = accounted ]; then flags+=(-DACCOUNTED); fi
    if [ "$name" = budget ]; then flags+=(-DBUDGET); fi
    { time "$compiler" "${flags[@]}" -I "$root/include" -I "$root/examples" -c "${source[$name]}" \
      -o "$work/out.o" 2>"$work/errors"; } 2>"$work/time" || { cat "$work/errors" >&2 && exit 1; }
    awk '{ printf "%.3f\n", $1 + $2 }' "$work/time" >>"$work/$name.seconds"
  done
done

lowest() { sort -n "$1" | head -n 1; }
highest() { sort -n "$1" | tail -n 1; }

missed=0
"$compiler" --version | head -n 1
printf '%-32s %8s %8s %8s %7s\n' "seconds of processor time" median lowest highest bar
for name in "${names[@]}"; do
  m=$(median "$work/$name.seconds")
  limit=${bar[$name]:-}
  said=""
  if [ -n "$limit" ]; then said=$(verdict "$m" "$limit"); fi
  if [ "$said" = missed ]; then missed=1; fi
  printf '%-32s %8.2f %8.2f %8.2f %7s  %s\n' "${words[$name]}" "$m" "$(lowest "$work/$name.seconds")" \
    "$(highest "$work/$name.seconds")" "$limit" "$said"
done
compare() {  # WORDS NAME AGAINST BAR
  local ratio said
  ratio=$(awk -v a="$(median "$work/$2.seconds")" -v b="$(median "$work/$3.seconds")" 'BEGIN { printf "%.2f", a / b }')
  said=$(verdict "$ratio" "$4")
  if [ "$said" = missed ]; then missed=1; fi
  printf '%-32s %8.2f %8s %8s %7s  %s\n' "$1" "$ratio" "" "" "$4" "$said"
}
compare "12 layers over 2, medians" layers_12 layers_2 1.3
compare "accounting over none, medians" accounted training 1.1
exit $missed
