#!/usr/bin/env bash
# gpu.sh [OPTION...] [build] [tests] [sanitize] [bench] [RUNG...]: what needs a GPU, on a machine that has one
# and the CUDA toolkit; all of it where nothing is named. Builds into build/gpu for the device found, with the
# libraries in vendor/ where scripts/vendor.sh has put them (such machines often have no network). Prints a
# row as each part ends, and all of them as one table. A part takes at most eight minutes.
#   build          builds what the parts named beside it need, or all, and runs none of them. Asked again it goes
#                  on where its time was up. A part that is named alone builds what it needs by itself
#   tests          the tests of label gpu: a skipped one counts as failed here
#   sanitize       the same, but for the long one, under memcheck, racecheck, initcheck and synccheck, each of
#                  which can be named alone
#   bench          every rung of bench/gpu/ against its peers
#   RUNG           one of them, by its name there: k1, t4, t5_350m, ...
#   --seconds S    for all rungs that are named, together, each at most a minute over its share; else 420 for
#                  each. NAPKIN_SECONDS is the same
#   --no-compile   without torch.compile among the peers
#   --resume       what a rung measured before, with all of its peers, is kept, and the rest measured
#   --residual-in-bf16  also PyTorch's GPTs in bf16 with a residual stream in bf16, as ours is; else theirs is in f32
#   --start=WHEN   when kernels of our steps begin: in_turn or early; else a trainer chooses by the clock
#   --built DIR    from a build folder made beforehand (tests/test_gpu, bench/gpu/*.so): nothing is built
# What rungs measure goes to NAPKIN_RESULTS (build/gpu/results), a JSON file each and one page of all; what
# each part printed to NAPKIN_LOGS (build/gpu/logs). PYTHON is the Python that has PyTorch (python3); without
# it only our side is measured. NAPKIN_LIMIT: seconds for a part, instead of those below.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# Seconds after which a part is ended. A tool of compute-sanitizer takes 10 to 100 times what tests take.
build_limit=450 tests_limit=300 sanitize_limit=450
seconds_of_a_rung=420 slack=60  # the slack is for a case that runs past its time

# In the ladder's order. M1 is the memory of T4, and T6 is compared with it.
all_rungs=(k1 k2 k3 k4 k5 k6 k7 g1 g2 g3 e1 a1 t1 t2 t3 t4 m1 t5_350m t5_774m t5_1558m t6)
tools=(memcheck racecheck initcheck synccheck)
parts=() rungs=() more=() seconds=${NAPKIN_SECONDS:-} built='' only_builds=0
usage() { echo "gpu.sh: $1" >&2 && exit 2; }
named=0
while [ $# -gt 0 ]; do
  case $1 in
    --seconds | --built)
      [ $# -gt 1 ] || usage "$1 needs a value"
      if [ "$1" = --seconds ]; then seconds=$2; else built=$2; fi
      shift
      ;;
    --no-compile | --resume | --residual-in-bf16 | --start=in_turn | --start=early) more+=("$1") ;;
    build) only_builds=1 ;;
    tests | memcheck | racecheck | initcheck | synccheck) parts+=("$1") named=1 ;;
    sanitize) parts+=("${tools[@]}") named=1 ;;
    bench) rungs=("${all_rungs[@]}") named=1 ;;
    *)
      [[ " ${all_rungs[*]} " == *" $1 "* ]] ||
        usage "unknown part '$1'; parts: build tests sanitize ${tools[*]} bench ${all_rungs[*]}"
      rungs+=("$1") named=1
      ;;
  esac
  shift
done
if [ $named -eq 0 ]; then parts=(tests "${tools[@]}") rungs=("${all_rungs[@]}"); fi
limit=${NAPKIN_LIMIT:-}
[[ $limit =~ ^([1-9][0-9]*)?$ ]] || usage "NAPKIN_LIMIT is a whole number of seconds, not '$limit'"
[[ $seconds =~ ^[0-9]*$ ]] || usage "--seconds takes a whole number, not '$seconds'"
[ -z "$built" ] || [ -d "$built" ] || usage "no folder $built"
[ -z "$built" ] || [ $only_builds -eq 0 ] || usage "with --built nothing is built"

command -v nvidia-smi >/dev/null || usage "no nvidia-smi, so no GPU here"
devices=$(nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv,noheader) || devices=''
device=${devices%%$'\n'*}
[ -n "$device" ] || usage "nvidia-smi names no GPU"
architecture=$(awk -F ', ' '{ gsub(/\./, "", $2); print $2 }' <<<"$device")
echo "gpu: $device"
for tool in nvcc compute-sanitizer; do
  command -v "$tool" >/dev/null || PATH=$PATH:/usr/local/cuda/bin
done

results=${NAPKIN_RESULTS:-$root/build/gpu/results}
logs=${NAPKIN_LOGS:-$root/build/gpu/logs}
mkdir -p "$logs"
rows="$(printf '%-24s %-8s %6s' part result seconds)"$'\n'
status=0
row() {  # NAME RESULT SECONDS
  local line
  line=$(printf '%-24s %-8s %6d' "$1" "$2" "$3")
  rows+="$line"$'\n'
  echo "gpu: $line"
  if [ "$2" != passed ]; then status=1; fi
}

# run NAME LIMIT COMMAND...: passed where it ends well and within its seconds, and nothing was skipped.
run() {
  local name=$1 most=${limit:-$2} log="$logs/${1// /_}.log" result=passed code=0 begun=$SECONDS
  shift 2
  echo "gpu: $name"
  timeout --kill-after=20 "$most" "$@" 2>&1 | tee "$log" || code=$?
  if [ $code -eq 124 ] || [ $code -eq 137 ]; then result=ended; elif [ $code -ne 0 ]; then result=failed; fi
  if [ $result = passed ] && grep -q 'skipped:' "$log"; then result=skipped; fi
  row "$name" $result $((SECONDS - begun))
  [ $result = passed ]
}

# Ends here: the table.
finish() {
  printf '\n%s' "$rows"
  exit $status
}

tree=${built:-$root/build/gpu}
if [ -z "$built" ]; then
  if command -v ninja >/dev/null; then export CMAKE_GENERATOR=${CMAKE_GENERATOR:-Ninja}; fi
  run configure "$build_limit" cmake -S "$root" -B "$tree" -DCMAKE_BUILD_TYPE=Release -DNAPKIN_CUDA=ON \
    -DNAPKIN_WERROR=OFF -DNAPKIN_BUILD_EXAMPLES=OFF -DNAPKIN_TEST_EMULATED=OFF \
    -DCMAKE_CUDA_ARCHITECTURES="$architecture" \
    -DCMAKE_PREFIX_PATH="$root/vendor" || finish
fi

# What the parts need, the tests first. Without PyTorch G1's first product is the GEMM rate.
python=${PYTHON:-python3}
targets=()
if [ ${#parts[@]} -gt 0 ]; then targets+=(test_gpu); fi
for rung in ${rungs[@]+"${rungs[@]}"}; do
  targets+=("bench_gpu_${rung/#m1/t4}")
  if [ "$rung" = t6 ]; then targets+=(bench_gpu_t4); fi
done
if [ ${#rungs[@]} -gt 0 ] && ! "$python" -c 'import torch' 2>/dev/null; then targets+=(bench_gpu_g1); fi
complete=yes
if [ -z "$built" ]; then
  keep_going=(-k)  # past what does not compile
  if [ -f "$tree/build.ninja" ]; then keep_going=(-k 0); fi
  left=$((build_limit - SECONDS))  # after the configuring
  run build $((left > 1 ? left : 1)) cmake --build "$tree" --target "${targets[@]}" --parallel "$(nproc)" -- \
    "${keep_going[@]}" || complete=no
fi
if [ $only_builds -eq 1 ]; then finish; fi

# has NAME FILE TARGET: whether a part's program is there, and no older than its sources; else its row says so.
has() {
  if [ $complete = no ] && ! timeout 20 cmake --build "$tree" --target "$3" >/dev/null 2>&1; then
    echo "gpu: $1 is not run: its build failed or is not done; scripts/gpu.sh build $1 goes on with it"
  elif [ ! -e "$2" ]; then
    echo "gpu: $1 is not run: there is no $2"
  else
    return 0
  fi
  row "$1" unbuilt 0
  return 1
}

test_gpu="$tree/tests/test_gpu"
not_checked='~[slowly_checked]'
theirs='regex=cublas|cutlass|nvjet|xmma|gemmk1|gemmSN|gemv2|gemvx|splitK'  # cuBLAS's kernels

# sanitize TOOL: all kernels count. Where that fails, our kernels alone tell whose fault it is, in the time that
# is left: what cuBLAS's do among themselves is not ours to mend, what they read of ours is. The tests know the
# tool: under initcheck what cuBLASLt's products write is filled first, since it does not see them write (by the
# tensor memory accelerator); under racecheck a plan runs once instead of five times, and fewer attentions do.
sanitize() {
  local -x NAPKIN_CHECKED_BY=$1
  local check=(compute-sanitizer --tool "$1" --error-exitcode 9) begun=$SECONDS
  run "$1" "$sanitize_limit" "${check[@]}" "$test_gpu" "$not_checked" && return
  (compute-sanitizer --help 2>&1 || true) | grep -e --kernel-name-exclude >/dev/null || return 0
  [ $((SECONDS - begun)) -lt "$sanitize_limit" ] || return 0
  check+=(--kernel-name-exclude "$theirs")
  run "$1 of our kernels" $((sanitize_limit - (SECONDS - begun))) "${check[@]}" "$test_gpu" "$not_checked"
}

for part in ${parts[@]+"${parts[@]}"}; do
  has "$part" "$test_gpu" test_gpu || continue
  case $part in
    tests) run tests "$tests_limit" "$test_gpu" --warn NoAssertions || true ;;
    *) sanitize "$part" || true ;;
  esac
done

begun=$SECONDS left=${#rungs[@]}
for rung in ${rungs[@]+"${rungs[@]}"}; do
  each=$seconds_of_a_rung
  if [ -n "$seconds" ]; then each=$(((seconds - (SECONDS - begun)) / left)); fi
  if [ "$each" -lt 1 ]; then each=1; fi
  target=bench_gpu_${rung/#m1/t4}
  if has "$rung" "$tree/bench/gpu/lib$target.so" "$target"; then
    run "$rung" $((each + slack)) "$python" "$root/bench/gpu/run.py" \
      --libraries "$tree/bench/gpu" --out "$results" --seconds "$each" ${more[@]+"${more[@]}"} "$rung" || true
  fi
  left=$((left - 1))
done
if [ ${#rungs[@]} -gt 0 ] && [ -f "$results/README.md" ]; then cat "$results/README.md"; fi
finish
