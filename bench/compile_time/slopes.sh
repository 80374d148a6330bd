#!/usr/bin/env bash
# slopes.sh [RUNS]: what one more distinct expression costs a program that has many already, in milliseconds of
# processor time, from programs of 50, 100 and 200 of them:
#   an einsum, its type alone                      g++
#   an einsum, typed and costed                    g++    bar 10 ms
#   an einsum, typed and costed                    nvcc   bar 25 ms
#   a fused expression lowered for CUDA            nvcc   bar 100 ms, and one kernel
# Every einsum has axes of other names and sizes than every other, so that nothing is shared. The slope is a
# least-squares line through the medians of RUNS runs (5). Exits with 1 where a bar is missed. Rows of nvcc
# are left out where there is none.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/bench/compile_time/measured.sh"
runs=${1:-5}
[[ $runs =~ ^[1-9][0-9]*$ ]] || { echo "slopes.sh: '$runs' is no number of runs" >&2 && exit 2; }
compiler=${CXX:-g++}
command -v "$compiler" >/dev/null || { echo "slopes.sh: $compiler is not installed" >&2 && exit 2; }
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null || true)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sizes=(50 100 200)

axes() {  # N: their declarations
  echo 'namespace nk = napkin;'
  echo 'struct batch : nk::dim<"batch", 8> {};'
  for ((i = 0; i < $1; ++i)); do echo "struct ax$i : nk::dim<\"ax$i\", $((4 * i + 16))> {};"; done
}
# Pairs of 20 axes are enough for 380 products, no two alike.
einsums() {  # N COSTED
  echo '#include <napkin/napkin.hpp>'
  axes 20
  for ((k = 0; k < $1; ++k)); do
    local i=$((k / 19)) j=$(((k / 19 + 1 + k % 19) % 20))
    echo "using e$k = decltype(nk::einsum<\"batch ax$i, ax$i ax$j -> batch ax$j\">("
    echo "    std::declval<nk::tensor<float, batch, ax$i>&>(), std::declval<nk::tensor<float, ax$i, ax$j>&>()));"
    if [ "$2" = costed ]; then
      echo "static_assert(nk::cost<e$k>.flops.matmul == 2ull * 8 * $((4 * i + 16)) * $((4 * j + 16)));"
    fi
  done
}
fused() {  # N
  printf '#include "napkin/%s"\n' cuda/launch.cuh cuda/plan.hpp napkin.hpp
  axes "$1"
  echo 'template <class E> struct plan_of_e : nk::on_cuda::frozen_plan<nk::expression_graph<E>> {};'
  for ((i = 0; i < $1; ++i)); do
    echo "using t$i = nk::tensor<float, batch, ax$i>&; using u$i = nk::tensor<float, ax$i>&;"
    echo "using e$i = decltype(exp(std::declval<t$i>() * std::declval<t$i>()) + std::declval<u$i>());"
    echo "const nk::on_cuda::kernel_entry* k$i() { return nk::on_cuda::kernels_of<plan_of_e<e$i>>.data(); }"
  done
}

TIMEFORMAT="%U %S"
seconds() {  # FILE COMMAND...: appended to the file
  local to=$1
  shift
  { time "$@" 2>"$work/errors" >&2; } 2>"$work/time" || { head -n 20 "$work/errors" >&2 && exit 1; }
  awk '{ printf "%.3f\n", $1 + $2 }' "$work/time" >>"$to"
}

host=("$compiler" -std=c++20 -I "$root/include" -c)
device=("$nvcc" -std=c++20 -arch=sm_90 --expt-relaxed-constexpr -fmad=false -I "$root/include" -c)
rows=(typed costed)
if [ -n "$nvcc" ]; then rows+=(costed_nvcc fused_nvcc); fi
declare -A words=([typed]="einsum, its type alone, $compiler" [costed]="einsum, typed and costed, $compiler"
  [costed_nvcc]="einsum, typed and costed, nvcc" [fused_nvcc]="fused expression for CUDA, nvcc")
declare -A bar=([costed]=10 [costed_nvcc]=25 [fused_nvcc]=100)

for n in "${sizes[@]}"; do
  einsums "$n" typed >"$work/typed_$n.cpp"
  einsums "$n" costed >"$work/costed_$n.cpp"
  einsums "$n" costed >"$work/costed_nvcc_$n.cu"
  fused "$n" >"$work/fused_nvcc_$n.cu"
done
for ((run = 0; run < runs; ++run)); do
  for n in "${sizes[@]}"; do
    for row in "${rows[@]}"; do
      case $row in
        *_nvcc) seconds "$work/${row}_$n" "${device[@]}" "$work/${row}_$n.cu" -o "$work/${row}_$n.o" ;;
        *) seconds "$work/${row}_$n" "${host[@]}" "$work/${row}_$n.cpp" -o "$work/out.o" ;;
      esac
    done
  done
done

missed=0
"$compiler" --version | head -n 1
if [ -n "$nvcc" ]; then "$nvcc" --version | grep release; fi
printf '%-36s %8s %8s %8s %9s %7s\n' "seconds of processor time for" "${sizes[@]}" "ms each" bar
for row in "${rows[@]}"; do
  values=()
  for n in "${sizes[@]}"; do values+=("$(median "$work/${row}_$n")"); done
  slope=$(paste -d' ' <(printf '%s\n' "${sizes[@]}") <(printf '%s\n' "${values[@]}") | awk '
    { n++; x += $1; y += $2; xx += $1 * $1; xy += $1 * $2 }
    END { printf "%.1f", 1000 * (n * xy - x * y) / (n * xx - x * x) }')
  limit=${bar[$row]:-}
  said=""
  if [ -n "$limit" ]; then said=$(verdict "$slope" "$limit"); fi
  if [ "$said" = missed ]; then missed=1; fi
  printf '%-36s %8s %8s %8s %9s %7s  %s\n' "${words[$row]}" "${values[@]}" "$slope" "$limit" "$said"
done
if [ -n "$nvcc" ]; then
  for n in "${sizes[@]}"; do  # a kernel's stub on the host has its name
    kernels=$(nm "$work/fused_nvcc_$n.o" | grep -c ' _ZN6napkin7on_cudaL*12fused_kernel' || true)
    if [ "$kernels" -ne "$n" ]; then
      echo "slopes.sh: $kernels kernels of $n expressions, one each are wanted" && missed=1
    fi
  done
fi
exit $missed
