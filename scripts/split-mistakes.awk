# split-mistakes.awk: what a compiler said of several wrong programs as one (scripts/mistakes.sh, together), kept by
# program as if each had been alone. Reads first a file of lines "PATH <tab> FILE <tab> SAID": a program's path, as it
# was asked for, and where to keep what was said of it; then the compiler's output. g++ and clang say between programs
# where one ends, in three lines; nvcc speaks in paragraphs that name the file.
# Of the environment: kind (the compiler), program (the one of all), umbrella (the header that programs include).

function keep(n, line) {
  gsub(/together_[0-9]*::/, "", line)
  kept[n] = kept[n] line "\n"
}

function keep_paragraph(    n) {
  for (n = 1; n <= files; ++n)
    if (index(paragraph, path[n])) keep(n, paragraph)
  paragraph = ""
}

BEGIN {
  FS = "\t"
  kind = ENVIRON["kind"]
  program = ENVIRON["program"]
  umbrella = ENVIRON["umbrella"]
  while ((getline line < umbrella) > 0)
    if (sub(/^#include "/, "", line) && sub(/".*/, "", line)) included[line] = 1
  now = 1
}
NR == FNR {
  path[++files] = $1
  file[files] = $2
  said[files] = $3
  while ((getline line < $1) > 0 && line !~ /^#include <napkin\//) ++above[files]
  close($1)
  next
}
kind == "nvcc" {
  if ($0 == "") keep_paragraph()
  else paragraph = paragraph $0 "\n"
  next
}
left > 0 { --left; next }
index($0, program ":") && /(#pragma message|warning): the next program/ { ++now; left = 2; next }
{
  # g++'s chain of includes goes from the header up to the program of all, clang's down from it. A line of the
  # mistake's own has no chain where it is alone.
  at = file[now] ":" above[now] + 1
  if (chain != "" && /^In file included from /) keep(now, chain)
  chain = ""
  if (index($0, "In file included from " program ":") == 1) {
    if (kind == "clang") chain = "In file included from " at ":"
  } else {
    if (index($0, program ":") && sub(/^  +from [^:]*:[0-9]+/, "", $0)) $0 = sprintf("%21s ", "from") at $0
    # g++ says the chain of a header once, here of one that the umbrella includes. What else lacks a chain, or the end
    # of one, is for a program of its own.
    if (kind == "gcc" && kept[now] == "" && $0 !~ /^In file included from / && index($0, path[now] ":") != 1) {
      header = substr($0, 1, index($0, ":") - 1)
      sub(/.*\/include\//, "", header)
      if (header in included) keep(now, sprintf("In file included from napkin/napkin.hpp,\n%21s %s:", "from", at))
      else lost[now] = 1
    }
    if (kind == "gcc" && /^(In file included from|  +from) [^ ]*:$/ && !/napkin\/napkin\.hpp:[0-9]+:$/ && !index($0, file[now] ":"))
      lost[now] = 1
    keep(now, $0)
  }
}
END {
  if (paragraph != "") keep_paragraph()
  for (n = 1; n <= files; ++n) {
    if (kind == "clang") kept[n] = kept[n] "1 error generated.\n"
    if (kind == "nvcc") kept[n] = kept[n] "1 error detected in the compilation of \"" file[n] "\".\n"
    printf "%s", n in lost ? "" : kept[n] >said[n]
    close(said[n])
  }
}
