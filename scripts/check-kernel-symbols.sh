#!/usr/bin/env bash
# check-kernel-symbols.sh OBJECT...: no name of a user's, no string, expression or constant of class type stands
# in the symbol of a kernel that is compiled with users' files: only programs and geometries, which are integers,
# and enumerators. Such a symbol is the same whatever model, layer or axis the work came from. (The kernels of
# src/cuda are compiled before any user's type exists.)
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/compilers.sh"

[ $# -gt 0 ] || { echo "usage: check-kernel-symbols.sh OBJECT..." >&2 && exit 2; }
command -v c++filt >/dev/null || skip "c++filt (binutils) is not installed"

symbols=$(nm "$@" | awk '$3 ~ /^_ZN6napkin7on_cudaL?12(fused_kernel|tiled_kernel|join_columns)/ && $3 !~ /\.cold/ { print $3 }' | sort -u)
[ -n "$symbols" ] || { echo "no fused kernel in $*" >&2 && exit 1; }

# What is left of a demangled name without these words, numbers and marks is what should not be there.
words='napkin|on_cuda|planning|fused_kernel|program|geometry|dealt|extents'
words+='|strides|fused|tiled_kernel|tile|axis_order|arguments|fused_arguments|void|bool|unsigned|int|long|char|short|true|false|ul|u|l'
words+='|join_columns|columns_to_join|op|dtype|const|std|byte|tuple|tuple_element|type|signed|double|float|f16|bf16|f8e4m3|f8e5m2|c128|c64|b8'
status=0 checked=0
while IFS= read -r name; do
  checked=$((checked + 1))
  rest=$(sed -E "s/\b($words)\b//g; s/[0-9]+(ul|u|l)?//g; s/[][ :,<>(){}*&-]//g" <<<"$name")
  if [ -n "$rest" ]; then
    echo "in a kernel's symbol: '${rest:0:80}', of ${name:0:300}" >&2
    status=1
  fi
done < <(c++filt -r <<<"$symbols")
echo "kernel symbols: $checked, of programs and geometries alone"
totals $((status == 0)) "$status" 0
exit $status
