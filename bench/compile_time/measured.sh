# What the scripts beside it say of their measurements; sourced, not run.

# median FILE [COLUMN]: of the numbers in a column of a file, the first if none is said.
median() {
  awk -v c="${2:-1}" '{ print $c }' "$1" | sort -n |
    awk '{ s[NR] = $1 } END { printf "%.9g", (s[int((NR + 1) / 2)] + s[int(NR / 2) + 1]) / 2 }'
}

# verdict VALUE BAR: met or missed.
verdict() { awk -v v="$1" -v b="$2" 'BEGIN { print v <= b ? "met" : "missed" }'; }
