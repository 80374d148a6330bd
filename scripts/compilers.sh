# How the checks call each compiler; sourced, not run. The flags are those that the CMake target gives its
# users.

# find_compiler gcc|clang|nvcc: prints the compiler's path, or fails.
find_compiler() {
  case $1 in
    gcc) command -v g++ ;;
    clang) command -v clang++-19 ;;
    nvcc) command -v nvcc || { [ -x /usr/local/cuda/bin/nvcc ] && echo /usr/local/cuda/bin/nvcc; } ;;
    *) echo "unknown compiler '$1': gcc, clang or nvcc" >&2 && return 2 ;;
  esac
}

# set_flags gcc|clang|nvcc: sets the arrays `flags` (needed) and `strict` (warnings, as errors). As CUDA, the
# same source runs on the CPU.
set_flags() {
  local include=${BASH_SOURCE[0]%/*}/../include
  strict=(-Wall -Wextra -Wconversion -Wshadow -Werror)
  flags=(-std=c++20 -I "$include")
  case $1 in
    gcc) flags+=(-ffp-contract=off -fdiagnostics-color=never) ;;
    clang) flags+=(-ffp-contract=off -fconstexpr-steps=100000000 -fno-color-diagnostics) ;;
    nvcc)
      strict=(-Werror all-warnings -diag-suppress 177)  # which it says of what templates alone refer to
      # nvcc 12 would compile for a GPU too old for kernels.
      flags+=(-x cu -arch=sm_90 -ccbin g++ --expt-relaxed-constexpr -Xcudafe --max_cost_constexpr_call=100000000
        -Xcompiler=-ffp-contract=off,--param=ggc-min-heapsize=500000)
      ;;
  esac
}

# skip <reason>: ends the check as skipped, which is how ctest reads 77.
skip() {
  echo "skipped: $*"
  exit 77
}

# totals <passed> <failed> <skipped>: tells scripts/test.sh how many cases this check ran.
totals() {
  if [ -n "${NAPKIN_TOTALS:-}" ]; then echo "$1 $2 $3" >"$NAPKIN_TOTALS"; fi
}
