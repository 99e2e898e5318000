#!/usr/bin/env bash
# Checks that every C++ file is as clang-format writes it.
#   check_format.sh [--self-test]
set -euo pipefail
root="$(cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../.." && pwd)"
format="$(command -v clang-format-16 || command -v clang-format)"

if [ "${1:-}" = --self-test ]; then
  folder="$(mktemp -d)"
  trap 'rm -rf "$folder"' EXIT
  cp "$root/.clang-format" "$folder/"
  printf 'int main() { return 0; }\n' >"$folder/good.cc"
  printf 'int  main( ){return 0 ;}\n' >"$folder/bad.cc"
  "$format" --dry-run -Werror "$folder/good.cc" || { echo "self-test: complains about a good file"; exit 1; }
  if "$format" --dry-run -Werror "$folder/bad.cc" 2>/dev/null; then
    echo "self-test: does not see a bad file"
    exit 1
  fi
  echo "self-test: well"
  exit 0
fi

cd "$root"
find . \( -name .git -o -name 'bazel-*' \) -prune -o \( -name '*.h' -o -name '*.cc' \) -type f -print0 |
  xargs -0 -r -n 40 -P 2 "$format" --dry-run -Werror
echo "check_format.sh: all files are formatted"
