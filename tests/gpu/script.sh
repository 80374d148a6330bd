#!/usr/bin/env bash
# scripts/gpu.sh on a made-up machine with a GPU: what it builds and runs, the rows of its table, its exit code.
# The compiler, compute-sanitizer, the tests and the ladder are stubs that note how they were called.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../support/check.sh"
script=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scripts" && pwd)/gpu.sh
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
mkdir -p bin tree/scripts tree/bench/gpu elsewhere
cp "$script" tree/scripts/
export scratch

tool() { printf '#!/bin/sh\n%s\n' "$2" >"bin/$1" && chmod +x "bin/$1"; }
# A file of a name in $scratch changes what a stub does: broken_TARGET does not compile, fails_PROGRAM fails,
# slow_PROGRAM takes long, skips_tests, no_torch, old_sanitizer.
tool nvidia-smi 'echo "NVIDIA H200, 9.0, 570.00"; echo "NVIDIA H200, 9.0, 570.00"'
tool nvcc 'exit 0'
tool nproc 'echo 2'
# shellcheck disable=SC2016
tool cmake 'echo "cmake $*" >>"$scratch/calls"
if [ -e "$scratch/slow_cmake" ]; then sleep 60; fi
if [ "$1" != --build ]; then ! [ -e "$scratch/fails_cmake" ]; exit; fi
tree=$2; shift 3; code=0; mkdir -p "$tree/tests" "$tree/bench/gpu"
for target; do
  case $target in --*) break ;; esac
  if [ -e "$scratch/broken_$target" ]; then code=1; continue; fi
  if [ $target = test_gpu ]; then cp "$scratch/bin/test_gpu" "$tree/tests/"; else : >"$tree/bench/gpu/lib$target.so"; fi
done
exit $code'
# shellcheck disable=SC2016
tool test_gpu 'echo "test_gpu $*" >>"$scratch/calls"
if [ -e "$scratch/slow_tests" ]; then sleep 60; fi
if [ -e "$scratch/skips_tests" ]; then echo "skipped: no device"; fi
! [ -e "$scratch/fails_tests" ]'
# shellcheck disable=SC2016
tool compute-sanitizer 'echo "compute-sanitizer $*" >>"$scratch/calls"
echo "checked by $NAPKIN_CHECKED_BY" >>"$scratch/calls"
case $* in
  --help) [ -e "$scratch/old_sanitizer" ] || echo "--kernel-name-exclude" ;;
  *--kernel-name-exclude*) ! [ -e "$scratch/fails_ours" ] ;;
  *) ! [ -e "$scratch/fails_$2" ] ;;
esac'
# shellcheck disable=SC2016
tool python 'if [ "$1" = -c ]; then ! [ -e "$scratch/no_torch" ]; exit; fi
echo "python $*" >>"$scratch/calls"
for rung; do :; done
! [ -e "$scratch/fails_$rung" ]'

gpu() { PATH="$scratch/bin:$(getconf PATH)" PYTHON="$scratch/bin/python" "$scratch/tree/scripts/gpu.sh" "$@"; }
table() {
  awk 'rows { name = substr($0, 1, 24); sub(/ +$/, "", name); gsub(/ /, "_", name); print name ":" $(NF - 1) }
       /^part +result +seconds$/ { rows = 1 }' stdout | paste -sd ' '
}
# gives CODE ROWS ARGUMENT...: the exit code, and all rows of the table, "NAME:RESULT NAME:RESULT ..."
gives() {
  local expected="$1 $2" code=0 found
  shift 2
  rm -f calls
  gpu "$@" >stdout 2>stderr </dev/null || code=$?
  found="$code $(table)"
  [ "$found" = "$expected" ] || { echo "expected '$expected', it gave '$found'" && return 1; }
}
called() { grep -qF -- "$1" calls || { echo "never called: $1" && cat calls && return 1; }; }
not_called() { ! called "$1" >/dev/null; }
says() { cat stdout stderr | grep -qF -- "$1" || { echo "it does not say: $1" && return 1; }; }
# given FILE... -- COMMAND...: with these files in $scratch
given() {
  local files=() code=0
  while [ "$1" != -- ]; do files+=("$1") && shift; done
  shift
  touch "${files[@]}"
  "$@" || code=$?
  rm -f "${files[@]}"
  return $code
}
built="configure:passed build:passed"
tools="memcheck:passed racecheck:passed initcheck:passed synccheck:passed"
rungs=(k1 k2 k3 k4 k5 k6 k7 g1 g2 g3 e1 a1 t1 t2 t3 t4 m1 t5_350m t5_774m t5_1558m t6)

check "an unknown part is refused" gives 2 "" tests k8
check "by its name, with those that there are" says "unknown part 'k8'; parts: build tests"
check "a number that is none is refused" gives 2 "" --seconds soon k1
check "an option without its value is refused" gives 2 "" --seconds
check "a folder that is not there is refused" gives 2 "" --built nowhere tests

check "the tests" gives 0 "$built tests:passed" tests
check "are built for the device found" called "-DCMAKE_CUDA_ARCHITECTURES=90"
check "with the libraries of vendor/" called "-DCMAKE_PREFIX_PATH=$scratch/tree/vendor"
check "and run" called "test_gpu --warn NoAssertions"
check "tests that fail" given fails_tests -- gives 1 "$built tests:failed" tests
check "tests that are skipped count as failed" given skips_tests -- gives 1 "$built tests:skipped" tests
NAPKIN_LIMIT=4 check "tests that do not end are ended" given slow_tests -- gives 1 "$built tests:ended" tests

check "one tool of compute-sanitizer" gives 0 "$built racecheck:passed" racecheck
check "without the long tests" called "compute-sanitizer --tool racecheck --error-exitcode 9 $scratch/tree/build/gpu/tests/test_gpu ~[slowly_checked]"
check "the tests know the tool" called "checked by racecheck"
check "all of them" gives 0 "$built $tools" sanitize
check "where one finds something, our kernels alone are asked" given fails_memcheck -- \
  gives 1 "$built memcheck:failed memcheck_of_our_kernels:passed" memcheck
check "and may be at fault" given fails_memcheck fails_ours -- \
  gives 1 "$built memcheck:failed memcheck_of_our_kernels:failed" memcheck
check "a sanitizer that cannot leave kernels out" given fails_memcheck old_sanitizer -- \
  gives 1 "$built memcheck:failed" memcheck

check "rungs" gives 0 "$built k1:passed m1:passed" k1 m1
check "are built, M1 of T4" called "--target bench_gpu_k1 bench_gpu_t4 --parallel"
check "and run for seven minutes each" called "--seconds 420 m1"
check "T6" gives 0 "$built t6:passed" t6
check "is built with T4, with which it is compared" called "--target bench_gpu_t6 bench_gpu_t4 --parallel"
check "options go on to the ladder" \
  gives 0 "$built k1:passed" --no-compile --resume --residual-in-bf16 --start=early --seconds 9 k1
check "as they are" called "--seconds 9 --no-compile --resume --residual-in-bf16 --start=early k1"
check "a rung that fails, and one that does not" given fails_k1 -- gives 1 "$built k1:failed k2:passed" k1 k2
check "without PyTorch" given no_torch -- gives 0 "$built k1:passed" k1
check "G1 is needed for the GEMM rate" called "--target bench_gpu_k1 bench_gpu_g1 --parallel"
check "everything" gives 0 "$built tests:passed $tools $(printf '%s:passed ' "${rungs[@]}" | sed 's/ $//')"

check "what does not build does not run" given broken_bench_gpu_k1 -- \
  gives 1 "configure:passed build:failed k1:unbuilt k2:passed" k1 k2
check "and is named" says "k1 is not run: its build failed or is not done; scripts/gpu.sh build k1"
check "what was built before and does not build now does not run" given broken_test_gpu -- \
  gives 1 "configure:passed build:failed tests:unbuilt synccheck:unbuilt" tests synccheck
check "what cannot be configured" given fails_cmake -- gives 1 "configure:failed" tests k1
check "the build alone" gives 0 "$built" build
check "is of everything" called "--target test_gpu bench_gpu_k1"
check "and runs nothing" not_called "test_gpu --warn"
check "the build of a part" gives 0 "$built" build k3
check "is of that" called "--target bench_gpu_k3 --parallel"
NAPKIN_LIMIT=4 check "a build whose time is up is ended" given slow_cmake -- gives 1 "configure:ended" build

mkdir -p elsewhere/tests elsewhere/bench/gpu
cp bin/test_gpu elsewhere/tests/
check "a folder that was built" gives 0 "tests:passed" --built "$scratch/elsewhere" tests
check "is not built again" not_called cmake
check "what is missing there" gives 1 "k1:unbuilt" --built "$scratch/elsewhere" k1
check "is named" says "k1 is not run: there is no $scratch/elsewhere/bench/gpu/libbench_gpu_k1.so"
check "it is not to be built" gives 2 "" --built "$scratch/elsewhere" build

tool nvidia-smi 'echo "No devices were found"; exit 6'
check "without a GPU" gives 2 "" tests
check "it says so" says "nvidia-smi names no GPU"
finish gpu_script
