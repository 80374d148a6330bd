#!/usr/bin/env bash
# cuda.sh [RUNS]: seconds and memory that nvcc takes, as CMake calls it for one architecture, for
#   #include <napkin/cuda.hpp> over an empty file     bar 4 s
#   GPT-2 124M's training step, bench/gpu/t4.cu       bar 30 s, 2 GB
#   the training example, examples/train_lm.cu
# Medians of RUNS runs (5) of user and system time together; the rounds take turns. Memory is that of the largest
# process. Exits with 1 where a bar is missed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/scripts/compilers.sh"
runs=${1:-5}
[[ $runs =~ ^[1-9][0-9]*$ ]] || { echo "cuda.sh: '$runs' is no number of runs" >&2 && exit 2; }
nvcc=$(find_compiler nvcc) || { echo "cuda.sh: nvcc is not installed" >&2 && exit 2; }
python=$(command -v python3) || { echo "cuda.sh: python3 is not installed" >&2 && exit 2; }
set_flags nvcc
flags+=(-O3 -DNDEBUG "--generate-code=arch=compute_90,code=[compute_90,sm_90]" -fmad=false
  -I "$root/bench/gpu" -I "$root/examples")
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

names=(empty include gpt2 example)
declare -A source=([empty]="$work/empty.cu" [include]="$work/include.cu" [gpt2]="$root/bench/gpu/t4.cu"
  [example]="$root/examples/train_lm.cu")
for ((run = 0; run < runs; ++run)); do
  for name in "${names[@]}"; do measured "${source[$name]}" >>"$work/$name.measured"; done
done

median() {  # NAME COLUMN
  awk -v c="$2" '{ print $c }' "$work/$1.measured" | sort -n |
    awk '{ s[NR] = $1 } END { printf "%.9g", (s[int((NR + 1) / 2)] + s[int(NR / 2) + 1]) / 2 }'
}
missed=0
row() {  # WORDS SECONDS BYTES [BAR [BAR_OF_BYTES]]
  local said=""
  if [ $# -gt 3 ]; then
    said=met
    awk -v s="$2" -v b="$4" -v m="$3" -v g="${5:-1e18}" 'BEGIN { exit !(s <= b && m <= g) }' ||
      { said=missed && missed=1; }
  fi
  printf '%-36s %8.2f s %7.2f GB  %-13s %s\n' "$1" "$2" "$(awk -v m="$3" 'BEGIN { print m / 1e9 }')" \
    "${4:+$4 s${5:+, $(awk -v m="$5" 'BEGIN { print m / 1e9 }') GB}}" "$said"
}
"$nvcc" --version | tail -n 2 | head -n 1
printf '%-36s %10s %10s  %s\n' "medians of $runs" processor memory bar
over=$(awk -v a="$(median include 1)" -v b="$(median empty 1)" 'BEGIN { print a - b }')
row "<napkin/cuda.hpp> over an empty file" "$over" "$(median include 2)" 4
row "GPT-2 124M's step, bench/gpu/t4.cu" "$(median gpt2 1)" "$(median gpt2 2)" 30 2e9
row "examples/train_lm.cu" "$(median example 1)" "$(median example 2)"
exit $missed
