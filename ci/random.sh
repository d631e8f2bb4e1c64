#!/usr/bin/env bash
# Looks for false alarms: random configurations of every shipped subject, and every right twin of the zoo, have to be clean.
#
#   bash ci/random.sh          2,000 configurations, about half an hour on 2 cores
#   bash ci/random.sh 100      as many as that
#
# It is no part of check.sh, which draws a few. A failure is written to cases/regressions as the smallest case that shows it.
set -euo pipefail
cd "$(dirname "$0")/.."

subjects=5
export RAYON_NUM_THREADS="${RAYON_NUM_THREADS:-1}" PROPTEST_CASES=$(((${1:-2000} + subjects - 1) / subjects))
cargo test --locked --test properties -- every_configuration
cargo test --locked --test cases -- zoo
echo "$((PROPTEST_CASES * subjects)) random configurations and every right twin: no false alarm"
