#!/usr/bin/env bash
# live_test.sh SIGNPOST: runs live_test.py of the source tree, where the peers lie.
set -euo pipefail
here="$(dirname "$(realpath "${BASH_SOURCE[0]}")")"
exec python3 "$here/live_test.py" "$(realpath "$1")"
