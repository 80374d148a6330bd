#!/usr/bin/env bash
# Every source is as clang-format 14 (Debian 12's) leaves it; other versions break lines differently, so
# the check is skipped without that one. `check-format.sh --fix` formats in place.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/compilers.sh

format=$(command -v clang-format-14 || command -v clang-format) || skip "clang-format is not installed"
version=$("$format" --version)
[[ $version == *"version 14."* ]] || skip "needs clang-format 14, this is $version"

mode=(--dry-run -Werror)
if [ "${1:-}" = --fix ]; then mode=(-i); fi
sources=$(mktemp)
trap 'rm -f "$sources"' EXIT
find include src tests examples bench -name '*.hpp' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' |
  LC_ALL=C sort | tr '\n' '\0' >"$sources"
xargs -0 -r "$format" "${mode[@]}" <"$sources"
# clang-format leaves comments alone: its breaks tear tables and lists.
if LC_ALL=C.UTF-8 xargs -0 -r grep -HnE '^.{111,}$' <"$sources" | grep -E '(^|[^:])//'; then
  echo "format: these comments are longer than 110 columns" >&2
  exit 1
fi
echo "format: as clang-format leaves it"
