#!/usr/bin/env bash
# train.sh [--cpu | --gpu] [ARGUMENTS]: installs what is missing, builds the training program for the GPU where
# there are one and nvcc, else for the CPU, or as asked, and runs it with these arguments (train.sh --help lists
# them), in the folder where it was called.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

asked=() arguments=()
for argument in "$@"; do
  case $argument in
    --cpu | --gpu) asked=("${argument#--}") ;;
    *) arguments+=("$argument") ;;
  esac
done
backend=$("$root/scripts/backend.sh" ${asked[@]+"${asked[@]}"})
echo "train: on the $backend"

"$root/scripts/install.sh" train
case $backend in
  gpu:*) preset=train-gpu program=train_lm_cuda ;;
  *) preset=train program=train_lm ;;
esac
"$root/scripts/build.sh" "$preset" "$program"
echo "train: build/$preset/examples/$program ${arguments[*]-}"
exec "$root/build/$preset/examples/$program" ${arguments[@]+"${arguments[@]}"}
