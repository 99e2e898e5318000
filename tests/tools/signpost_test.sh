#!/usr/bin/env bash
# The built command: help, exit codes, and that what a provider registers is found.
set -uo pipefail
signpost="$1"
registry="embedded://$TEST_TMPDIR/registry"
failed=0

# expect CODE COMMAND...: output goes to out and err.
expect() {
  local want="$1" got
  shift
  "$signpost" "$@" >"$TEST_TMPDIR/out" 2>"$TEST_TMPDIR/err"
  got=$?
  if [ "$got" != "$want" ]; then
    echo "signpost $*: exit code $got, expected $want"
    cat "$TEST_TMPDIR/out" "$TEST_TMPDIR/err"
    failed=1
  fi
}

holds() { # FILE TEXT
  grep -qF -- "$2" "$TEST_TMPDIR/$1" || { echo "no '$2' in $1:"; cat "$TEST_TMPDIR/$1"; failed=1; }
}

expect 0 help
for command in apps instances services mapping metadata resolve watch provide serve; do holds out "$command"; done
expect 0 help resolve
holds out resolve
expect 2 nonsense
holds err "signpost: "
expect 2 resolve
expect 2 provide --app=shop --registry="$registry"

"$signpost" provide --app=shop --service=org.example.Greeter --address=192.0.2.1:50051 --protocol=tri \
  --registry="$registry" >"$TEST_TMPDIR/provide" 2>&1 &
provider=$!
for _ in $(seq 300); do
  grep -q registered "$TEST_TMPDIR/provide" && break
  kill -0 "$provider" 2>/dev/null || break
  sleep 0.1
done
grep -q registered "$TEST_TMPDIR/provide" || { echo "provide:"; cat "$TEST_TMPDIR/provide"; failed=1; }
expect 0 apps --json --registry="$registry"
holds out '"shop"'
expect 0 mapping org.example.Greeter --json --registry="$registry"
holds out '"shop"'
expect 1 mapping org.example.Nobody --json --registry="$registry"
kill -TERM "$provider"
wait "$provider"
code=$?
[ "$code" = 0 ] || { echo "provide: exit code $code after SIGTERM"; cat "$TEST_TMPDIR/provide"; failed=1; }
expect 1 instances shop --json --registry="$registry"

# TC-53: no secret of a registry's URL is ever printed.
secret="zookeeper://u:p4ss@127.0.0.1:1?accessKey=ak1&secretKey=sk1&timeout=100"
for words in apps services "instances shop" "mapping a.B" "metadata shop" "resolve a.B" "watch a.B --for=300ms" \
  "diff-metadata shop r1 r2" "provide --app=shop --service=a.B --address=192.0.2.1:1"; do
  for flags in --json --verbose ""; do
    # shellcheck disable=SC2086
    expect 3 $words $flags --timeout=300ms --registry="$secret"
    holds err "signpost: "
    if grep -qE 'p4ss|ak1|sk1' "$TEST_TMPDIR/out" "$TEST_TMPDIR/err"; then
      echo "signpost $words $flags prints a secret:"
      cat "$TEST_TMPDIR/out" "$TEST_TMPDIR/err"
      failed=1
    fi
  done
done
exit "$failed"
