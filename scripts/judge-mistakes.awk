# judge-mistakes.awk: judges what a compiler said of wrong programs (scripts/mistakes.sh has the rules). Reads lines
# "FILE <tab> SAID": a program, and the file that holds what was said of it. Prints for each
#   ok|failed <tab> name <tab> compiler <tab> position <tab> lines <tab> first error line <tab> why
# Of the environment: kind (the compiler), error_line, facts_line, users_line, most_lines.

# lines_of(PATH, INTO): how many lines the file has, blank ones at its end not counted.
function lines_of(path, into,    n, last, line) {
  n = last = 0
  while ((getline line < path) > 0) {
    into[++n] = line
    if (line != "") last = n
  }
  close(path)
  return last
}

# spelled(LINE): nvcc's {{'s', 'e', 'q', '\000'}} and 8UL as seq and 8.
function spelled(line,    done) {
  gsub(/, '\\000'/, "", line)
  done = ""
  while (match(line, /'[^']'(, )?/)) {
    done = done substr(line, 1, RSTART - 1) substr(line, RSTART + 1, 1)
    line = substr(line, RSTART + RLENGTH)
  }
  line = done line
  done = ""
  while (match(line, /[0-9]U?L/)) {
    done = done substr(line, 1, RSTART)
    if (substr(line, RSTART + RLENGTH, 1) ~ /[A-Za-z0-9_]/) done = done substr(line, RSTART + 1, RLENGTH - 1)
    line = substr(line, RSTART + RLENGTH)
  }
  return done line
}

# names_wrong_branch(LINE, NAME): whether FILE:LINE:, FILE(LINE) or "at line LINE of .../FILE" is of `inside`.
function names_wrong_branch(line, name,    at, before, number, w) {
  while ((at = index(line, name)) > 0) {
    before = substr(line, 1, at - 1)
    line = substr(line, at + length(name))
    number = ""
    if (match(line, /^[:(][0-9]+/)) number = substr(line, 2, RLENGTH - 1)
    else if (match(before, /line [0-9]+ of [^ ]*$/)) {
      split(substr(before, RSTART + 5), w, " ")
      number = w[1]
    }
    if (number != "" && (number + 0) in inside) return 1
  }
  return 0
}

BEGIN {
  FS = OFS = "\t"
  kind = ENVIRON["kind"]
  error_line = ENVIRON["error_line"]
  facts_line = ENVIRON["facts_line"] + 0
  users_line = ENVIRON["users_line"] + 0
  most_lines = ENVIRON["most_lines"] + 0
}
{
  file = base = $1
  sub(/.*\//, "", base)
  name = base
  sub(/\.cpp$/, "", name)

  split("", inside)
  split("", expected)
  split("", facts)
  expectations = all_facts = wrong = 0
  n = lines_of(file, program)
  for (i = 1; i <= n; ++i) {
    line = program[i]
    if (line ~ /^#ifdef MISTAKE/) wrong = 1
    else if (line ~ /^#else/ || line ~ /^#endif/) wrong = 0
    else if (wrong) inside[i] = 1
    if (sub(/^\/\/ expect: */, "", line)) expected[++expectations] = line
    else if (sub(/^\/\/ facts: */, "", line)) {
      m = split(line, of_line, / *[|] */)
      for (j = 1; j <= m; ++j) facts[++all_facts] = of_line[j]
    }
  }

  lines = lines_of($2, said)
  errors = position = 0
  first = head = ""
  for (i = 1; i <= lines; ++i) {
    line = said[i]
    if (line ~ error_line && ++errors == 1) first = line
    if (!position && names_wrong_branch(line, base)) position = i
    if (i <= facts_line) head = head (kind == "nvcc" ? spelled(line) : line) "\n"
  }

  why = ""
  if (errors != 1) why = errors " errors, expected one"
  if (expectations == 0) why = "no line '// expect: ...'"
  for (i = 1; why == "" && i <= expectations; ++i)
    if (!index(first, expected[i])) why = "the first error line lacks '" expected[i] "'"
  for (i = 1; why == "" && i <= all_facts; ++i)
    if (facts[i] != "" && !index(head, facts[i])) why = "the first " facts_line " lines lack '" facts[i] "'"
  if (why == "" && (position == 0 || position > users_line))
    why = "the user's line is not named in the first " users_line
  if (why == "" && lines > most_lines) why = "more than " most_lines " lines"

  # What stands before the sentence, to its end: the last place where an error line may begin.
  while (match(first, error_line)) first = substr(first, RSTART + RLENGTH)
  sub(/^ */, "", first)
  gsub(/\t/, " ", first)
  gsub(/\t/, " ", why)
  print why == "" ? "ok" : "failed", name, kind, position, lines, first, why
}
