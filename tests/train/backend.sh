#!/usr/bin/env bash
# backend.sh says where to train, by what the machine has: here a made-up one.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../support/check.sh"
script=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scripts" && pwd)/backend.sh
machine=$(mktemp -d)
trap 'rm -rf "$machine"' EXIT

# says EXPECTED [ARGUMENT]: its exit code and what it says are as this pattern has them.
says() {
  local expected=$1 said
  shift
  if said=$(PATH="$machine:/usr/bin:/bin" "$script" "$@" 2>&1); then said="0 $said"; else said="$? $said"; fi
  [[ $said == $expected ]] || { echo "expected '$expected', it said '$said'" && return 1; }
}
tool() { printf '#!/bin/sh\n%s\n' "$2" >"$machine/$1" && chmod +x "$machine/$1"; }

tool nvidia-smi 'echo "No devices were found"; echo "No devices were found" >&2; exit 6'
check "without a GPU the CPU" says "0 cpu: nvidia-smi names no GPU"
check "without a GPU, asked for one" says "2 *no GPU to train on: nvidia-smi names no GPU" gpu
tool nvidia-smi 'echo "NVIDIA H200"; echo "NVIDIA H200"'
tool nvcc 'exit 0'
check "with a GPU that GPU" says "0 gpu: NVIDIA H200"
check "with a GPU, asked for one" says "0 gpu: NVIDIA H200" gpu
check "with a GPU, asked for the CPU" says "0 cpu: as asked" cpu
check "asked for something else" says "2 usage*" tpu
finish backend
