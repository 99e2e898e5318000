#!/usr/bin/env bash
# lint_test.sh CHECK: proves that the check finds what it should, then runs it
# on the source tree.
set -euo pipefail
check="tools/lint/check_$1"
if [ -e "$check.py" ]; then
  python3 "$check.py" --self-test
  python3 "$check.py"
else
  "$check.sh" --self-test
  "$check.sh"
fi
