#!/usr/bin/env bash
# ladder.sh COMPILER | --run ARGUMENT...: the test of the ladder's Python (ladder.py), or its run.py, where there is a
# Python.
set -euo pipefail
python=$(command -v python3) || { echo "skipped: python3 is not installed" && exit 77; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "skipped: $("$python" --version) is older than 3.10" && exit 77; }
here=$(dirname "${BASH_SOURCE[0]}")
if [ "$1" = --run ]; then exec "$python" -B "$here/../../bench/gpu/run.py" "${@:2}"; fi
exec "$python" -B "$here/ladder.py" "$1"
