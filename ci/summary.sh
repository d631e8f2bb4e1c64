#!/usr/bin/env bash
# The last word of a log, as Markdown for the summary of a job; on the terminal where there is no such summary.
#
#   bash ci/summary.sh check.log
set -euo pipefail

log=${1:?expected a log}
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then exec >> "$GITHUB_STEP_SUMMARY"; fi
# Colours are for terminals.
plain=$(sed 's/\x1b\[[0-9;]*m//g' "$log")

printf '### %s\n\n```text\n' "$(basename "$log" .log)"
grep -aE '^(test result:|shapelock: |check\.sh: |gpu\.sh: |failed: |skipped: | +Summary \[| +(FAIL|TIMEOUT) \[|\| )' <<< "$plain" || echo "the log has no result: the run ended before there was one"
printf '```\n'
