#!/usr/bin/env bash
# All that has to hold before a change is merged: people and CI run this one script.
#
#   bash ci/check.sh             every step
#   bash ci/check.sh lints test  the steps whose names contain one of these words
#
# A step whose tool is missing is skipped, and the last lines say so. Everything is built in one target folder.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

# Tests run side by side already; threads of candle's own would wait for one another by spinning.
export RAYON_NUM_THREADS="${RAYON_NUM_THREADS:-1}"

wanted=("$@")
passed=0 failed=() skipped=()
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

main() {
  step "format" cargo fmt --all --check
  step "lints" cargo clippy --locked --all-targets -- -D warnings
  step "lints without features" cargo clippy --locked --all-targets --no-default-features -- -D warnings
  step "lints with models alone" cargo clippy --locked --all-targets --no-default-features --features models -- -D warnings
  step "tests" cargo test --locked --no-fail-fast
  step "published models under clippy" cargo clippy --locked --all-targets -p shapelock-candle-transformers -- -D warnings
  step "published models" cargo test --locked -p shapelock-candle-transformers
  step "planted faults" cargo test --locked --features faults --test faults
  step "one planted fault in twelve" cargo run --locked --quiet --features faults -- faults --every 12
  step "documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps
  step "documents" bash ci/docs.sh
  step "shipped cases" cargo run --locked --quiet
  if has cargo nextest; then
    step "tests under nextest" cargo nextest run --locked --no-fail-fast
  else
    skip "tests under nextest" "cargo-nextest is not installed"
  fi
  if has shellcheck; then
    step "scripts" shellcheck --severity=warning ci/check.sh ci/docs.sh ci/gpu.sh ci/part.sh ci/random.sh ci/summary.sh ci/nvcc-stub ci/browser/check.sh .ci/run
  else
    skip "scripts" "shellcheck is not installed"
  fi
  local missing
  if missing=$(bash ci/browser/check.sh --ready); then
    step "page in a browser" bash ci/browser/check.sh
  else
    skip "page in a browser" "$missing"
  fi
  if has cargo deny; then
    step "dependencies" cargo deny --locked check licenses bans sources
  else
    skip "dependencies" "cargo-deny is not installed"
  fi
  # What the stub makes must not end up in the target folder of a machine that builds for CUDA.
  if ! has nvcc && [ -z "${CUDA_HOME:-${CUDA_PATH:-}}" ]; then
    export NVCC="$PWD/ci/nvcc-stub" CUDA_COMPUTE_CAP=90 CUDARC_CUDA_VERSION=12080
  fi
  step "types of the CUDA code" cargo check --locked --features cuda
  summary
}

# step NAME COMMAND...: runs the command without a stdin, and says how long it took.
step() {
  local name=$1
  shift
  is_wanted "$name" || return 0
  printf '\n== %s: %s\n' "$name" "$*"
  local start=$SECONDS
  if "$@" < /dev/null 2>&1 | tee "$scratch/output"; then
    passed=$((passed + 1))
    printf '== %s: passed in %d s\n' "$name" $((SECONDS - start))
  else
    failed+=("$name")
    printf '== %s: FAILED after %d s\n' "$name" $((SECONDS - start))
  fi
  if [ "$name" = tests ]; then grep -a '^test result:' "$scratch/output" > "$scratch/results"; fi
}

# skip NAME REASON
skip() {
  is_wanted "$1" || return 0
  skipped+=("$1: $2")
  printf '\n== %s: SKIPPED, %s\n' "$1" "$2"
}

has() { "$@" --version > /dev/null 2>&1; }

is_wanted() {
  [ ${#wanted[@]} -eq 0 ] && return 0
  local word
  for word in "${wanted[@]}"; do [[ $1 == *"$word"* ]] && return 0; done
  return 1
}

# The last lines: what cargo said of the tests, what was skipped, what failed, the counts.
summary() {
  printf '\n'
  [ ! -f "$scratch/results" ] || cat "$scratch/results"
  local line
  for line in ${skipped[@]+"${skipped[@]}"}; do echo "skipped: $line"; done
  for line in ${failed[@]+"${failed[@]}"}; do echo "failed: $line"; done
  printf 'check.sh: %d steps passed, %d failed, %d skipped in %d s\n' \
    "$passed" ${#failed[@]} ${#skipped[@]} "$SECONDS"
  if [ $((passed + ${#failed[@]} + ${#skipped[@]})) -eq 0 ]; then
    echo "no step has a name with: ${wanted[*]}"
    return 2
  fi
  [ ${#failed[@]} -eq 0 ]
}

main
