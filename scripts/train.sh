#!/usr/bin/env bash
# train.sh [ARGUMENTS]: installs what is missing, builds the training program and runs it with these
# arguments (train.sh --help lists them), in the folder where it was called.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

"$root/scripts/install.sh" train
"$root/scripts/build.sh" train train_lm
echo "train: build/train/examples/train_lm $*"
exec "$root/build/train/examples/train_lm" "$@"
