#!/usr/bin/env bash
# gpu.sh [tests] [sanitize] [bench] [RUNG...]: what needs a GPU, on a machine that has one and the CUDA toolkit; all of
# it where nothing is named. Builds into build/gpu for the device found, with the libraries in vendor/ where
# scripts/vendor.sh has put them (such machines often have no network), and prints one table.
#   tests     the tests of label gpu: a skipped one counts as failed here
#   sanitize  the same under compute-sanitizer: memcheck, racecheck, initcheck, synccheck
#   bench     every rung of bench/gpu/ against its peers
#   RUNG      one of them, by its name there: k1, t4, t5_350m, ...
# What rungs measure goes to NAPKIN_RESULTS (build/gpu/results), a JSON file each and one page of all. PYTHON is the
# Python that has PyTorch (python3); without it only our side is measured.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# In the ladder's order. M1 is the memory of T4.
all_rungs=(k1 k2 k3 k4 k5 k6 k7 g1 g2 e1 a1 t1 t2 t3 t4 m1 t5_350m t5_774m t5_1558m)
parts=() rungs=()
for part in "$@"; do
  case $part in
    tests | sanitize) parts+=("$part") ;;
    bench) rungs=("${all_rungs[@]}") ;;
    *)
      [[ " ${all_rungs[*]} " == *" $part "* ]] ||
        { echo "gpu.sh: unknown part '$part'; parts: tests sanitize bench ${all_rungs[*]}" >&2 && exit 2; }
      rungs+=("$part")
      ;;
  esac
done
if [ $# -eq 0 ]; then parts=(tests sanitize) rungs=("${all_rungs[@]}"); fi

command -v nvidia-smi >/dev/null || { echo "gpu.sh: no nvidia-smi, so no GPU here" >&2 && exit 2; }
device=$(nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv,noheader | head -n 1)
[ -n "$device" ] || { echo "gpu.sh: nvidia-smi names no GPU" >&2 && exit 2; }
architecture=$(awk -F ', ' '{ gsub(/\./, "", $2); print $2 }' <<<"$device")
echo "gpu: $device"

if command -v ninja >/dev/null; then export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}; fi
build="$root/build/gpu"
SECONDS=0
cmake -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release -DNAPKIN_CUDA=ON -DNAPKIN_WERROR=OFF \
  -DNAPKIN_BUILD_EXAMPLES=OFF -DCMAKE_CUDA_ARCHITECTURES="$architecture" -DCMAKE_PREFIX_PATH="$root/vendor" >/dev/null
rows="$(printf '%-24s %-8s %6s' part result seconds)"$'\n'
status=0
row() {  # NAME RESULT SECONDS
  rows+="$(printf '%-24s %-8s %6d' "$1" "$2" "$3")"$'\n'
  if [ "$2" != passed ]; then status=1; fi
}
row configure passed "$SECONDS"

# run NAME COMMAND...: passed where it ends well and nothing was skipped.
run() {
  local name=$1 log result=passed
  shift
  log=$(mktemp)
  SECONDS=0
  echo "gpu: $name"
  "$@" >"$log" 2>&1 || result=failed
  if [ "$result" = passed ] && grep -q 'skipped:' "$log"; then result=skipped; fi
  if [ "$result" != passed ]; then cat "$log"; else tail -n 3 "$log"; fi
  row "$name" "$result" "$SECONDS"
  rm -f "$log"
}

# build NAME TARGET...: all of them, past what does not compile.
build() {
  local name=$1 result=passed keep_going=(-k)
  shift
  if [ -f "$build/build.ninja" ]; then keep_going=(-k 0); fi
  SECONDS=0
  cmake --build "$build" --target "$@" --parallel "$(nproc)" -- "${keep_going[@]}" || result=failed
  row "$name" "$result" "$SECONDS"
  [ "$result" = passed ]
}

test_gpu="$build/tests/test_gpu"
if [ ${#parts[@]} -gt 0 ] && ! build "build tests" test_gpu; then parts=(); fi
for part in ${parts[@]+"${parts[@]}"}; do
  case $part in
    tests) run tests "$test_gpu" --warn NoAssertions ;;
    sanitize)
      for tool in memcheck racecheck initcheck synccheck; do
        run "$tool" compute-sanitizer --tool "$tool" --error-exitcode 9 "$test_gpu"
      done
      ;;
  esac
done

if [ ${#rungs[@]} -gt 0 ]; then
  python=${PYTHON:-python3}
  results=${NAPKIN_RESULTS:-$build/results}
  targets=()
  for rung in "${rungs[@]}"; do targets+=("bench_gpu_${rung/#m1/t4}"); done
  "$python" -c 'import torch' 2>/dev/null || targets+=(bench_gpu_g1)  # its first product is then the GEMM rate
  build "build rungs" "${targets[@]}" || true                           # what is missing fails below
  for rung in "${rungs[@]}"; do
    run "$rung" timeout 480 "$python" "$root/bench/gpu/run.py" --libraries "$build/bench/gpu" --out "$results" "$rung"
  done
  if [ -f "$results/README.md" ]; then cat "$results/README.md"; fi
fi
printf '\n%s' "$rows"
exit $status
