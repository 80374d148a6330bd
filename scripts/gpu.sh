#!/usr/bin/env bash
# gpu.sh [tests] [sanitize] [bench]: what needs a GPU, on a machine that has one and the CUDA toolkit; all of it
# where nothing is named. Builds into build/gpu for the device found, with the libraries in vendor/ where
# scripts/vendor.sh has put them (such machines often have no network), and prints one table.
#   tests     the tests of label gpu: a skipped one counts as failed here
#   sanitize  the same under compute-sanitizer: memcheck, racecheck, initcheck, synccheck
#   bench     bench/gpu/, each against its peer
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

parts=()
for part in "$@"; do
  case $part in
    tests | sanitize | bench) parts+=("$part") ;;
    *) echo "gpu.sh: unknown part '$part'; parts: tests sanitize bench" >&2 && exit 2 ;;
  esac
done
if [ ${#parts[@]} -eq 0 ]; then parts=(tests sanitize bench); fi

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
cmake --build "$build" --target test_gpu --parallel "$(nproc)"
rows="$(printf '%-24s %-8s %6s' part result seconds)"$'\n'
status=0
row() {  # NAME RESULT SECONDS
  rows+="$(printf '%-24s %-8s %6d' "$1" "$2" "$3")"$'\n'
  if [ "$2" != passed ]; then status=1; fi
}
row build passed "$SECONDS"

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

test_gpu="$build/tests/test_gpu"
for part in "${parts[@]}"; do
  case $part in
    tests) run tests "$test_gpu" --warn NoAssertions ;;
    sanitize)
      for tool in memcheck racecheck initcheck synccheck; do
        run "$tool" compute-sanitizer --tool "$tool" --error-exitcode 9 "$test_gpu"
      done
      ;;
    bench)
      if compgen -G "$root/bench/gpu/*.sh" >/dev/null; then
        for bench in "$root"/bench/gpu/*.sh; do run "$(basename "$bench" .sh)" "$bench" "$build"; done
      else
        echo "gpu: there are no benches in bench/gpu yet"
      fi
      ;;
  esac
done
printf '\n%s' "$rows"
exit $status
