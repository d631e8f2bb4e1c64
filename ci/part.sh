#!/usr/bin/env bash
# One part of the tests, so that several machines share them.
#
#   bash ci/part.sh 1/2          the first half; the doc tests, which nextest does not run, are part of it
set -euo pipefail
cd "$(dirname "$0")/.."

part=${1:?expected a part, as in 1/2}
export RAYON_NUM_THREADS="${RAYON_NUM_THREADS:-1}"
cargo nextest run --locked --profile ci --partition "hash:$part"
if [ "${part%%/*}" = 1 ]; then
  cargo test --locked --doc
fi
