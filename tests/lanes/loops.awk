# Of assembly: the innermost loops that add or multiply vectors, a line each: instructions, those of them that do,
# those that read vectors from the stack, and those that write pieces of vectors there. And of each function called
# joined_...: its name and its instructions.
/^joined_[a-z0-9]+:/ {
  joins = substr($1, 1, length($1) - 1)
  begun = n
}
joins && /cfi_endproc/ {
  count = 0
  for (i = begun + 1; i <= n; ++i) count += line[i] != ""
  print joins, count
  joins = ""
}
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
  computing = reading = pieces = count = 0
  for (i = first + 1; i < n; ++i) {
    split(line[i], word, "\t")
    if (word[2] ~ /^j/ && (word[3] in at) && at[word[3]] > first) inner = 0
    if (word[2] != "") ++count
    if (word[2] ~ /^v?(add|sub|mul)p[sd]$/ && line[i] ~ /%[yz]mm/) ++computing
    if (line[i] ~ /\(%rsp[^)]*\),/ && line[i] ~ /%[yz]mm/) ++reading
    if (line[i] ~ /%xmm[0-9]+, [^,]*\(%[er][sb]p[^)]*\)$/) ++pieces
  }
  if (inner && computing) print count, computing, reading, pieces
}
