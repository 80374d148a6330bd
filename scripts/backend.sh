#!/usr/bin/env bash
# backend.sh [cpu | gpu]: where to train, as two words and why: "gpu: NVIDIA H200" or "cpu: no nvcc". The GPU where
# there are one and nvcc; with an argument that, and exit code 2 where it cannot be.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source "$here/compilers.sh"

case ${1:-} in
  cpu) echo "cpu: as asked" && exit 0 ;;
  "" | gpu) ;;
  *) echo "usage: backend.sh [cpu | gpu]" >&2 && exit 2 ;;
esac
why=""
# Where it fails, what it printed is no name: "NVIDIA-SMI has failed because ..." goes to stdout.
device=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null) || device=''
device=${device%%$'\n'*}
if [ -z "$device" ]; then
  why="nvidia-smi names no GPU"
elif ! find_compiler nvcc >/dev/null; then
  why="there is $device, but no nvcc to compile for it"
fi
if [ -z "$why" ]; then
  echo "gpu: $device"
elif [ "${1:-}" = gpu ]; then
  echo "backend.sh: no GPU to train on: $why" >&2 && exit 2
else
  echo "cpu: $why"
fi
