#!/usr/bin/env bash
# The quick start's main job ends well, twice, and leaves nothing behind.
set -euo pipefail
export TMPDIR="$TEST_TMPDIR/quickstart"
mkdir -p "$TMPDIR"
for _ in 1 2; do
  "$1" >"$TEST_TMPDIR/out"
  [ -s "$TEST_TMPDIR/out" ] || { echo "it says nothing"; exit 1; }
  [ -z "$(ls -A "$TMPDIR")" ] || { echo "left behind: $(ls -A "$TMPDIR")"; exit 1; }
done
