#!/usr/bin/env bash
# ladder.sh COMPILER: the ladder's Python (ladder.py), where there is one.
set -euo pipefail
python=$(command -v python3) || { echo "skipped: python3 is not installed" && exit 77; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { echo "skipped: $("$python" --version) is older than 3.10" && exit 77; }
exec "$python" -B "$(dirname "${BASH_SOURCE[0]}")/ladder.py" "$1"
