#!/usr/bin/env bash
# Runs stages_test.py, which GoogleTest is of no use for.
exec python3 "$(dirname "${BASH_SOURCE[0]}")/stages_test.py"
