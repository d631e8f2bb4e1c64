#!/usr/bin/env bash
# Runs what the documents say, in order, in a copy of the repository: a command that fails, or prints something else than the
# document shows, fails here.
#
#   bash ci/docs.sh                       the documents below
#   bash ci/docs.sh docs/tutorial.md      these
#
# Of a document, fenced blocks count whose first line is one of
#
#   ```sh              commands that have to succeed
#   ```sh fails        commands that have to fail
#   ```text output     lines of the last commands' output, in order; a line `…` stands for any others
#   ```yaml FILE       the contents of that file (rust, toml too)
#
# Commands run where the last ones ended; each document begins in the copy, which is called `shapelock`. A document must not
# change `src` there: cargo takes the copy for the repository itself, and would keep what it built from the change.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

export RAYON_NUM_THREADS="${RAYON_NUM_THREADS:-1}" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
export CARGO_TERM_QUIET=true CARGO_TERM_COLOR=never NO_COLOR=1
# One place for all runs, so that what was built once is found again.
scratch="${TMPDIR:-/tmp}/shapelock-docs-$(id -u)"

main() {
  local documents=("$@") document failed=0
  [ ${#documents[@]} -gt 0 ] || documents=(README.md docs/tutorial.md docs/how-to.md)
  for document in "${documents[@]}"; do
    if follow "$document"; then echo "docs.sh: $document is so"; else failed=1; fi
  done
  return "$failed"
}

# follow DOCUMENT: runs its blocks in a fresh copy.
follow() {
  rm -rf "$scratch"
  mkdir -p "$scratch/shapelock" "$scratch/blocks"
  # Times of files are kept, so that cargo knows what it has built.
  git ls-files -z --cached --others --exclude-standard | xargs -0 cp -p --parents -t "$scratch/shapelock"
  split "$1" "$scratch/blocks"
  echo "$scratch/shapelock" > "$scratch/place"
  local block
  for block in "$scratch"/blocks/*; do
    [ -e "$block" ] || { echo "docs.sh: $1 has no block to run" >&2; return 1; }
    one "$1" "$block" || return 1
  done
}

# split DOCUMENT FOLDER: one file a block, its first line the info string and the line of the document.
split() {
  awk -v folder="$2" '
    /^ *```/ && inside { inside = 0; next }
    /^ *```/ { info = $0; sub(/^ *```/, "", info); inside = 1
      file = sprintf("%s/%04d", folder, ++count); print info "\t" NR > file; next }
    inside { print > file }
  ' "$1"
}

one() {
  local document=$1 block=$2 info line body place
  IFS=$'\t' read -r info line < "$block"
  place=$(cat "$scratch/place")
  body=$(tail -n +2 "$block")
  case $info in
    "sh" | "sh fails")
      local code=0
      (cd "$place" && bash -euo pipefail -c "$body"$'\n'"pwd > '$scratch/place'") \
        < /dev/null > "$scratch/output" 2>&1 || code=$?
      if { [ "$info" = sh ] && [ "$code" -ne 0 ]; } || { [ "$info" != sh ] && [ "$code" -eq 0 ]; }; then
        printf '%s:%s: the commands exit with %s\n' "$document" "$line" "$code" >&2
        cat "$scratch/output" >&2
        return 1
      fi
      ;;
    "text output") shown "$document" "$line" "$body" ;;
    "rust "* | "toml "* | "yaml "*)
      mkdir -p "$(dirname "$place/${info#* }")"
      printf '%s\n' "$body" > "$place/${info#* }"
      ;;
  esac
}

# shown DOCUMENT LINE TEXT: whether the lines of the text are in the output, in order and without a gap but at `…`.
shown() {
  printf '%s\n' "$3" | awk -v output="$scratch/output" -v where="$1:$2" '
    BEGIN { gap = 1; while ((getline text < output) > 0) { sub(/[ \t]+$/, "", text); printed[++n] = text } at = 1 }
    { sub(/[ \t]+$/, "") }
    $0 == "…" { gap = 1; next }
    {
      from = at
      while (gap && at <= n && printed[at] != $0) at++
      if (at > n || printed[at] != $0) {
        printf "%s: the output has not `%s`; from line %d on it is\n", where, $0, from > "/dev/stderr"
        for (i = from; i <= n; i++) print printed[i] > "/dev/stderr"
        exit 1
      }
      at++; gap = 0
    }'
}

main "$@"
