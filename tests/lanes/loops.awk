# Of assembly: the innermost loops that add or multiply vectors, a line each: instructions, those of them that do,
# and those that read vectors from the stack.
/^\.L[A-Za-z0-9_]+:/ {
  sub(/:.*/, "", $1)
  at[$1] = ++n
  line[n] = ""
  next
}
/^\t[a-z]/ {
  line[++n] = $0
  if ($1 !~ /^j/ || !($2 in at)) next
  first = at[$2]
  inner = 1
  computing = reading = count = 0
  for (i = first + 1; i < n; ++i) {
    split(line[i], word, "\t")
    if (word[2] ~ /^j/ && (word[3] in at) && at[word[3]] > first) inner = 0
    if (word[2] != "") ++count
    if (word[2] ~ /^v?(add|sub|mul)p[sd]$/ && line[i] ~ /%[yz]mm/) ++computing
    if (line[i] ~ /\(%rsp[^)]*\),/ && line[i] ~ /%[yz]mm/) ++reading
  }
  if (inner && computing) print count, computing, reading
}
