#!/usr/bin/env bash
# compile-with.sh gcc|clang|nvcc SOURCE PROGRAM [LINK...]: one program by one compiler, compiled and linked;
# run where the source's name begins with a number. Exits with 77 where the compiler is absent.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/compilers.sh"

[ $# -ge 3 ] || { echo "usage: compile-with.sh gcc|clang|nvcc SOURCE PROGRAM [LINK...]" >&2 && exit 2; }
kind=$1 file=$2 program=$3
shift 3
compiler=$(find_compiler "$kind") || skip "$kind is not installed"
set_flags "$kind"

rm -f "$program"
echo "$kind: $file"
"$compiler" "${flags[@]}" "${strict[@]}" -O1 -c "$file" -o "$program.o"
if [ "$kind" = nvcc ]; then
  # nvcc takes a path apart at its spaces before it links, so its host compiler links instead.
  g++ "$program.o" -o "$program" "$@" -L "$(dirname "$compiler")/../lib64" -lcudart_static -ldl -lrt
else
  "$compiler" "$program.o" -o "$program" "$@"
fi
if [[ $(basename "$file") =~ ^[0-9] ]]; then "$program"; fi
