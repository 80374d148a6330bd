# Reads the JUnit file that ctest writes; prints "passed|failed|skipped name" for each entry.
/<testcase / {
  name = status = $0
  sub(/.*<testcase name="/, "", name)
  sub(/".*/, "", name)
  sub(/.* status="/, "", status)
  sub(/".*/, "", status)
  if (status == "run") print "passed", name
  else if (status == "notrun" || status == "disabled") pending = name
  else print "failed", name
}
/<skipped/ && pending != "" {
  # ctest also says "skipped" where it did not find the program.
  print (/SKIP_RETURN_CODE/ ? "skipped" : "failed"), pending
  pending = ""
}
