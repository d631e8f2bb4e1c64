#!/usr/bin/env bash
# The cases on a CUDA device. Nothing passes for want of one: what cannot run is a failure.
#
#   bash ci/gpu.sh               builds the tests with the feature `cuda` and runs the cases
#   bash ci/gpu.sh BINARY...     runs test binaries that were built elsewhere (`cases-0123…` from target/debug/deps)
#
# FILTER=mamba2 runs trials whose names contain that word, LIMIT=540 is how many seconds the cases may take. Snapshots that
# changed are left as *.snap.new. The last lines are a table of checks.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

export RAYON_NUM_THREADS="${RAYON_NUM_THREADS:-1}" RUST_BACKTRACE=0
export SHAPELOCK_REQUIRE=cuda INSTA_UPDATE="${INSTA_UPDATE:-new}"
# A binary that was built elsewhere looks for cases and snapshots here.
export CARGO_MANIFEST_DIR="$PWD" INSTA_WORKSPACE_ROOT="$PWD"
filter="${FILTER:-::cuda}"
limit="${LIMIT:-540}"

main() {
  if ! has_device; then
    echo "gpu.sh: no CUDA device: nvidia-smi lists none" >&2
    return 1
  fi
  local binaries=("$@") log code=0
  if [ ${#binaries[@]} -eq 0 ]; then
    mapfile -t binaries < <(build)
    [ ${#binaries[@]} -gt 0 ] || { echo "gpu.sh: the tests do not build" >&2; return 1; }
  fi
  log=$(mktemp)
  local binary
  for binary in "${binaries[@]}"; do
    timeout "$limit" "$binary" "$filter" < /dev/null 2>&1 | tee -a "$log"
    local status=${PIPESTATUS[0]}
    [ "$status" -ne 124 ] || echo "gpu.sh: $binary took longer than $limit s" | tee -a "$log"
    [ "$status" -eq 0 ] || code=$status
  done
  table "$log"
  if ! grep -aq '^test .*::cuda *\.\.\. ' "$log"; then
    echo "gpu.sh: no trial ran on the device" >&2
    code=1
  fi
  rm -f "$log"
  return "$code"
}

has_device() {
  command -v nvidia-smi > /dev/null && nvidia-smi --list-gpus | grep -a GPU
}

# The path of the test binary.
build() {
  cargo test --locked --features cuda --test cases --no-run --message-format=json |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p'
}

# How many trials of each check passed and failed: a line of the log is `test CASE::CHECK::cuda ... ok`.
table() {
  printf '\n| %-14s | passed | failed |\n|%s|--------|--------|\n' check ----------------
  awk '
    /^test .*::cuda *\.\.\. / {
      parts = split($2, name, "::"); check = name[parts - 1]
      if ($NF == "ok") passed[check]++; else failed[check]++
      all[check]
    }
    END { for (check in all) printf "| %-14s | %6d | %6d |\n", check, passed[check], failed[check] }
  ' "$1" | sort
  printf 'gpu.sh: %d s\n' "$SECONDS"
}

main "$@"
