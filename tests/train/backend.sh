#!/usr/bin/env bash
# backend.sh says where to train, by what the machine has: here a made-up one.
set -euo pipefail
script=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scripts" && pwd)/backend.sh
machine=$(mktemp -d)
trap 'rm -rf "$machine"' EXIT
passed=0 failed=0

# check EXPECTED [ARGUMENT]: of the first line, and whether it ends well.
check() {
  local expected=$1 said
  shift
  if said=$(PATH="$machine:/usr/bin:/bin" "$script" "$@" 2>&1); then said="0 $said"; else said="$? $said"; fi
  if [[ $said == $expected ]]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "backend.sh $*: expected '$expected', it said '$said'"
  fi
}
tool() { printf '#!/bin/sh\n%s\n' "$2" >"$machine/$1" && chmod +x "$machine/$1"; }

tool nvidia-smi 'echo "No devices were found" >&2; exit 6'
check "0 cpu: nvidia-smi names no GPU"
check "2 *no GPU to train on: nvidia-smi names no GPU" gpu
tool nvidia-smi 'echo "NVIDIA H200"; echo "NVIDIA H200"'
tool nvcc 'exit 0'
check "0 gpu: NVIDIA H200"
check "0 gpu: NVIDIA H200" gpu
check "0 cpu: as asked" cpu
check "2 usage*" tpu

echo "backend: $passed as expected, $failed not"
if [ -n "${NAPKIN_TOTALS:-}" ]; then echo "$passed $failed 0" >"$NAPKIN_TOTALS"; fi
[ "$failed" -eq 0 ]
