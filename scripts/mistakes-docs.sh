# docs/mistakes.md from what g++ said of each tests/mistakes/**/*.cpp, which scripts/mistakes.sh, that sources
# this, kept in $work/said.

# excerpt wrong|right FILE: the axes, what stands around the branch that is asked for (wrong only), the branch.
excerpt() {
  awk -v branch="$1" '
    /^#ifdef MISTAKE/ { in_branch = "wrong"; next }
    /^#else/ { in_branch = "right"; next }
    /^#endif/ { in_branch = ""; after = 1; next }
    match($0, /^struct [a-z_]+ : nk::dim<"[^"]*", .*> \{\};$/) && in_branch == "" {
      name = $2; size = $0
      sub(/^.*", */, "", size); sub(/> \{\};$/, "", size)
      axes = axes (axes == "" ? "// " : ", ") name " " size
      next
    }
    /^ *\(void\)[a-z]+[;,]/ || /^void f\(\) \{/ || /^int f\(\) \{/ { next }
    in_branch == "" && (after || /^\/\/ (expect|facts):/ || /^#include/ || /^namespace nk/ || /^$/ || /^int main/) { next }
    in_branch == "" && branch == "wrong" { text = text $0 "\n"; next }
    in_branch == branch { text = text $0 "\n" }
    END {
      if (branch == "wrong" && axes != "") print axes
      printf "%s", text
    }' "$2"
}

# message FILE: the sentence, then the rule with its facts.
message() {
  local said="$work/said/gcc-$(tr / _ <<<"${1#"$programs"/}")"
  grep -m 1 -E "$error_line" "$said" | sed -E "s/^.*$error_line *(static assertion failed: )?//" | fold -s -w 100 | sed 's/ *$//'
  sed -n -E "s/^.*In instantiation of 'struct napkin::rule::(.*)':$/\1/p" "$said" | head -n 1 |
    sed -E 's/napkin:://g; s/fact:://g; s/fixed_string<[0-9]+>\{("[^"]*")\}/\1/g; s/ >/>/g; s/auto:[0-9]+/auto/g' |
    fold -s -w 96 | sed 's/^/    /; s/ *$//'
}

mistakes_page() {
  cat <<'TOP'
# Mistakes, and what the compiler says

Programs that are wrong, each with the sentence that the compiler gives in its first error, the facts that
stand beside it (here g++ 12's; clang 19 and nvcc give the same sentence and the same facts), and the program
that is right. The compiler names your own line within the first 6 lines of at most 15; nvcc, in a generic function
of several lines given to `fn` or `grad`, the line that calls it. Written by `scripts/mistakes.sh --docs` from
`tests/mistakes`, where each program is whole; `nk` is `napkin`.

[Tensors](#tensors) · [Operations by name](#operations-by-name) · [Patterns](#patterns) ·
[Layers, models and training](#layers-models-and-training) · [Gradients](#gradients) · [Costs](#costs) ·
[Writing text](#writing-text) · [On a GPU](#on-a-gpu) · [The README's](#the-readmes)
TOP
  local folder title file
  while IFS=: read -r folder title; do
    printf '\n## %s\n' "$title"
    while IFS= read -r file; do
      concerns gcc "$file" || continue
      printf '\n### %s\n\n```cpp\n' "$(basename "$file" .cpp | tr _ ' ')"
      excerpt wrong "$file"
      printf '```\n\n```text\n'
      message "$file"
      printf '```\n\n```cpp\n'
      excerpt right "$file"
      printf '```\n'
    done <<<"$(find "${programs}${folder:+/$folder}" -maxdepth 1 -name '*.cpp' | sort)"
  done <<'FOLDERS'
tensor:Tensors
ops:Operations by name
pattern:Patterns
nn:Layers, models and training
passes:Gradients
cost:Costs
train:Writing text
cuda:On a GPU
:The README's
FOLDERS
}
