#!/usr/bin/env bash
# The page of a run in headless Chromium: installs the driver below target/, has the pages written, opens them.
#
#   bash ci/browser/check.sh            the checks
#   bash ci/browser/check.sh --ready    whether they can run here, and why not
set -euo pipefail
cd "$(dirname "$0")/../.."
work=target/browser

main() {
  if [ "${1:-}" = --ready ]; then
    ready
    return
  fi
  cargo test --locked --quiet --test reports
  cd "$work"
  CHROMIUM=$(browser) PAGES=../tmp/reports SHOTS=${SHOTS:-} node --test page.mjs
}

ready() {
  command -v node > /dev/null && command -v npm > /dev/null || { echo "node or npm is not installed"; return 1; }
  browser > /dev/null || { echo "no Chromium is installed, as by apt-get install chromium"; return 1; }
  mkdir -p "$work"
  cp ci/browser/package.json ci/browser/package-lock.json ci/browser/page.mjs "$work"
  (cd "$work" && { [ -d node_modules/playwright-core ] || npm ci --no-audit --no-fund; }) > "$work/npm.log" 2>&1 ||
    { echo "npm cannot install playwright-core, see $work/npm.log"; return 1; }
}

# `type -P` finds programs alone, and not this function.
browser() { type -P chromium || type -P chromium-browser || type -P google-chrome; }

main "$@"
