#!/usr/bin/env bash
# train.sh [--cpu | --gpu] [--vocabulary N] [ARGUMENTS]: installs what is missing, builds the training program for
# the GPU where there are one and nvcc, else for the CPU, or as asked, for a model of N tokens (256), and runs it
# with these arguments (train.sh --help lists them), in the folder where it was called.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

asked=() arguments=() vocabulary=256
while [ $# -gt 0 ]; do
  case $1 in
    --cpu | --gpu) asked=("${1#--}") ;;
    --vocabulary) vocabulary=${2:?train.sh: --vocabulary takes a number of tokens} && shift ;;
    *) arguments+=("$1") ;;
  esac
  shift
done
backend=$("$root/scripts/backend.sh" ${asked[@]+"${asked[@]}"})
echo "train: on the $backend"

"$root/scripts/install.sh" train
case $backend in
  gpu:*) preset=train-gpu program=train_lm_cuda ;;
  *) preset=train program=train_lm ;;
esac
"$root/scripts/build.sh" "$preset" "$program" -DNAPKIN_TRAIN_VOCABULARY="$vocabulary"
echo "train: build/$preset/examples/$program ${arguments[*]-}"
exec "$root/build/$preset/examples/$program" ${arguments[@]+"${arguments[@]}"}
