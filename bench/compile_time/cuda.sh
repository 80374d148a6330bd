#!/usr/bin/env bash
# cuda.sh [RUNS]: seconds and memory that nvcc takes, as CMake calls it for one architecture, for
#   #include <napkin/cuda.hpp> over an empty file     bar 4 s
#   K1, three fused kernels, bench/gpu/k1.cu          bar 8 s
#   GPT-2 124M's training step, bench/gpu/t4.cu       bar 30 s, 2 GB
#   the training example, examples/train_lm.cu
# Medians of RUNS runs (5) of user and system time together; the rounds take turns. Memory is that of the largest
# process. Exits with 1 where a bar is missed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/scripts/compilers.sh"
source "$root/bench/compile_time/measured.sh"
runs=${1:-5}
[[ $runs =~ ^[1-9][0-9]*$ ]] || { echo "cuda.sh: '$runs' is no number of runs" >&2 && exit 2; }
nvcc=$(find_compiler nvcc) || { echo "cuda.sh: nvcc is not installed" >&2 && exit 2; }
python=$(command -v python3) || { echo "cuda.sh: python3 is not installed" >&2 && exit 2; }
set_flags nvcc
flags+=(-O3 -DNDEBUG -fmad=false -I "$root/bench/gpu" -I "$root/examples")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$work/empty.cu"
echo '#include <napkin/cuda.hpp>' >"$work/include.cu"

# measured FILE: seconds of processor time, and bytes of the largest process.
measured() {
  "$python" - "$nvcc" "${flags[@]}" -c "$1" -o "$work/out.o" <<'END'
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)
END
}

names=(empty include k1 gpt2 example)
declare -A source=([empty]="$work/empty.cu" [include]="$work/include.cu" [k1]="$root/bench/gpu/k1.cu"
  [gpt2]="$root/bench/gpu/t4.cu" [example]="$root/examples/train_lm.cu")
for ((run = 0; run < runs; ++run)); do
  for name in "${names[@]}"; do measured "${source[$name]}" >>"$work/$name.measured"; done
done

missed=0
gigabytes() { awk -v m="$1" 'BEGIN { print m / 1e9 }'; }
row() {  # NAME WORDS SECONDS [BAR [BAR_OF_BYTES]]
  local bytes said="" bar=""
  bytes=$(median "$work/$1.measured" 2)
  if [ $# -gt 3 ]; then
    bar="$4 s" said=$(verdict "$3" "$4")
  fi
  if [ $# -gt 4 ]; then
    bar+=", $(gigabytes "$5") GB"
    if [ "$said" = met ]; then said=$(verdict "$bytes" "$5"); fi
  fi
  if [ "$said" = missed ]; then missed=1; fi
  printf '%-36s %8.2f s %7.2f GB  %-13s %s\n' "$2" "$3" "$(gigabytes "$bytes")" "$bar" "$said"
}
seconds() { median "$work/$1.measured"; }
"$nvcc" --version | tail -n 2 | head -n 1
printf '%-36s %10s %10s  %s\n' "medians of $runs" processor memory bar
over=$(awk -v a="$(seconds include)" -v b="$(seconds empty)" 'BEGIN { print a - b }')
row include "<napkin/cuda.hpp> over an empty file" "$over" 4
row k1 "K1's kernels, bench/gpu/k1.cu" "$(seconds k1)" 8
row gpt2 "GPT-2 124M's step, bench/gpu/t4.cu" "$(seconds gpt2)" 30 2e9
row example "examples/train_lm.cu" "$(seconds example)"
exit $missed
