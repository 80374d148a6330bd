# Sourced by tests that are shell scripts: counts what passes and what fails, and tells scripts/test.sh.
passed=0 failed=0 skipped=0

# check WHAT COMMAND...: passes if the command does; else shows what it said, and the files it left as stdout
# and stderr.
check() {
  local what=$1 said
  shift
  if said=$("$@" 2>&1); then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $what"
    { printf '%s\n' "$said" && cat stdout stderr 2>/dev/null; } | sed '/^$/d; s/^/  /' | head -20 || true
  fi
}

# finish NAME: the counts, for a reader and for NAPKIN_TOTALS; false if anything failed.
finish() {
  echo "$1: $passed passed, $failed failed, $skipped skipped"
  [ -z "${NAPKIN_TOTALS:-}" ] || echo "$passed $failed $skipped" >"$NAPKIN_TOTALS"
  [ "$failed" -eq 0 ]
}
