#!/usr/bin/env bash
# live_test.sh SCRIPT PROGRAM...: runs a script of the source tree, where the peers lie, with built programs.
set -euo pipefail
here="$(dirname "$(realpath "${BASH_SOURCE[0]}")")"
script="$here/$1"
shift
mapfile -t programs < <(realpath "$@")
# Nothing is written beside the modules of the source tree.
exec python3 -B "$script" "${programs[@]}"
